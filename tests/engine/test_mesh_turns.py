"""Turns of graphs that are written as mesh documents."""

from __future__ import annotations

from liman_nb import Agent, InMemoryStateStorage

REVIEW = """
agents:
  start:
    can_call: [{agent: left, condition: always}, {agent: right}]
  left: {agent_type: programmatic, can_call: [{agent: boss}]}
  right: {agent_type: external, can_call: [{agent: boss}]}
  boss:
    agent_type: human
    human_prompt_template: Publish?
    wait_for: left AND right
    yields: {human_decision: string}
    can_call:
      - agent: publisher
        condition: calling_agent_response.human_decision == 'approved'
  publisher: {agent_type: programmatic}
entry_points:
  - {name: review, target: start}
"""


def left(text):
    """One branch."""
    return f"left of {text}"


def right(text):
    """The other branch."""
    return f"right of {text}"


def publisher(decision):
    """What follows the person's answer."""
    return f"published: {decision['human_decision']}"


async def test_agents_of_all_types_run_in_one_turn():
    """Two functions meet at a person, whose answer decides the edge to a third."""
    agent = Agent(
        specs=REVIEW,
        name="review",
        functions=[left, right, publisher],
        llm=["the draft"],
        state_storage=InMemoryStateStorage(),
    )
    result = await agent.step("Write it.")
    (question,) = result.pending
    assert (result.status, question.node, question.text) == ("suspended", "boss", "Publish?")
    assert question.input == {"left": "left of the draft", "right": "right of the draft"}
    result = await agent.resume({"human_decision": "approved"})
    assert (result.status, result.output) == ("completed", "published: approved")
