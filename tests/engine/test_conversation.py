"""A session as conversation and records, read off what is stored."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from four_methods import FourMethods

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, call
from liman_nb.engine.conversation import conversation
from liman_nb.engine.loading import load_tree
from liman_nb.engine.records import records_of
from liman_nb.errors import TurnFailed

SPECS = """
kind: LLMNode
name: solver
memory: session
tools: [add]
yields: {answer: number}
retry: {attempts: 1}
edges:
  - {target: checker, when: answer >= 0}
  - {target: person, when: answer > 100}
---
{kind: ToolNode, name: add}
---
kind: LLMNode
name: checker
memory: session
---
{kind: HumanNode, name: person, question: "Is {answer} right?", yields: {right: boolean}}
"""


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


SCRIPT = {
    "solver": [[call("add", a=2, b=2)], {"answer": 4}, {"answer": 200}, "no json", {"answer": -1}],
    "checker": ["fine", "big"],
}


@pytest.fixture(params=[InMemoryStateStorage, FourMethods])
def storage(request):
    """With a journal, and with only Liman's four methods."""
    return request.param()


async def talked(storage) -> Agent:
    """Three turns: with a tool, with a person, with a second attempt."""
    agent = Agent(
        SPECS,
        llm=ScriptedLLM(SCRIPT),
        functions=[add],
        state_storage=storage,
        name="test",
        session_id="s",
        start_node="solver",
    )
    await agent.step("2 + 2?")
    await agent.step("100 + 100?")
    await agent.resume(True)
    await agent.step("0 - 1?")
    return agent


async def tree_of(agent: Agent, storage):
    """The session, loaded anew."""
    return await load_tree(storage, agent._workshop.sessions.root_of("s"), "s")


async def test_the_conversation_is_in_the_order_of_what_happened(storage):
    """Messages of people, answers, calls of other agents with what they got, tools' results."""
    tree = await tree_of(await talked(storage), storage)
    assert [(e.role, e.agent_name, e.type, e.content) for e in conversation(tree)] == [
        ("user", "solver", "user_message", "2 + 2?"),
        ("system", "add", "tool_result", "4"),
        ("assistant", "solver", "agent_response", '{"answer": 4}'),
        ("system", "solver", "mesh_call", '{"answer": 4}'),
        ("assistant", "checker", "agent_response", "fine"),
        ("user", "solver", "user_message", "100 + 100?"),
        ("assistant", "solver", "agent_response", '{"answer": 200}'),
        ("system", "solver", "mesh_call", '{"answer": 200}'),
        ("system", "solver", "mesh_call", '{"answer": 200}'),
        ("assistant", "checker", "agent_response", "big"),
        ("user", "person", "user_message", '{"right": true}'),
        ("user", "solver", "user_message", "0 - 1?"),
        ("assistant", "solver", "agent_response", '{"answer": -1}'),
    ]


async def test_an_entry_has_the_fields_of_the_page_and_no_other(storage):
    """Times are UTC and end in Z."""
    tree = await tree_of(await talked(storage), storage)
    for entry in conversation(tree):
        assert list(entry.as_dict()) == ["role", "content", "timestamp", "agent_name", "type"]
        assert datetime.fromisoformat(entry.timestamp).tzinfo is not None
        assert entry.timestamp.endswith("Z")


async def test_memory_of_the_session_is_what_was_said_before_as_turns(storage):
    """Other agents' words begin with their names; the parent's are the input and stand once."""
    agent = await talked(storage)
    third = [m for m in agent.requests("solver")[3]["messages"] if m["role"] != "system"]
    assert [(m["role"], m["content"]) for m in third] == [
        ("user", "2 + 2?"),
        ("assistant", '{"answer": 4}'),
        ("assistant", "[checker] fine"),
        ("user", "100 + 100?"),
        ("assistant", '{"answer": 200}'),
        ("assistant", "[checker] big"),
        ("user", '{"right": true}'),
        ("user", "0 - 1?"),
    ]
    checked = agent.requests("checker")[0]["messages"]
    assert [(m["role"], m["content"]) for m in checked] == [
        ("user", "2 + 2?"),
        ("user", '{"answer": 4}'),
    ]


async def test_what_a_person_answered_stands_once_for_the_node_after_it():
    """It is the input; a person that a turn began with was still told something before."""
    specs = """
{kind: HumanNode, name: boss, question: Publish?, yields: {ok: boolean}, edges: [writer]}
---
{kind: LLMNode, name: writer, memory: session}
"""
    agent = Agent(
        specs, llm=["done"], state_storage=InMemoryStateStorage(), name="test", start_node="boss"
    )
    await agent.step("The draft.")
    await agent.resume(True)
    assert [(m["role"], m["content"]) for m in agent.requests("writer")[0]["messages"]] == [
        ("user", "The draft."),
        ("user", '{"message": "The draft.", "ok": true}'),
    ]


async def test_a_join_is_shown_what_the_node_said_at_which_its_branches_parted():
    """Its input is what its sources gave, and not that."""
    specs = """
{kind: LLMNode, name: start, memory: session, edges: [a, b]}
---
{kind: LLMNode, name: a, edges: [sum]}
---
{kind: LLMNode, name: b, edges: [sum]}
---
{kind: LLMNode, name: sum, memory: session, wait_for: a and b}
"""
    agent = Agent(
        specs,
        llm=ScriptedLLM({"start": ["go"], "a": ["1"], "b": ["2"], "sum": ["3"]}),
        state_storage=InMemoryStateStorage(),
        name="test",
        start_node="start",
    )
    await agent.step("hi")
    assert [(m["role"], m["content"]) for m in agent.requests("sum")[0]["messages"]] == [
        ("user", "hi"),
        ("assistant", "[start] go"),
        ("user", '{"a": "1", "b": "2"}'),
    ]


async def test_a_model_with_the_session_s_memory_sees_its_own_calls_of_this_turn():
    """An exchange is never split."""
    agent = await talked(InMemoryStateStorage())
    second = [m["role"] for m in agent.requests("solver")[1]["messages"]]
    assert second == ["system", "user", "assistant", "tool"]


async def test_memory_of_the_session_ends_twenty_turns_back():
    """A long session costs no more than that."""
    agent = Agent(
        "{kind: LLMNode, name: chat, memory: session}",
        llm=ScriptedLLM([f"reply {i}" for i in range(30)]),
        state_storage=InMemoryStateStorage(),
        name="test",
    )
    for i in range(30):
        await agent.step(f"question {i}")
    last = agent.requests("chat")[-1]["messages"]
    assert len(last) == 41
    assert last[0]["content"] == "question 9"


# ── records ──────────────────────────────────────────────────────────────────────────────────────


async def test_yields_and_calls_are_kept_with_their_history(storage):
    """Every one of them, oldest first."""
    tree = await tree_of(await talked(storage), storage)
    records = records_of(tree, datetime.now(UTC))
    assert [(y.agent_name, y.yields, y.turn) for y in records.yields] == [
        ("solver", {"answer": 4}, 1),
        ("solver", {"answer": 200}, 2),
        ("person", {"right": True}, 2),
        ("solver", {"answer": -1}, 3),
    ]
    assert [(m.from_agent, m.to_agent, m.condition) for m in records.mesh_communications] == [
        ("solver", "checker", "answer >= 0"),
        ("solver", "checker", "answer >= 0"),
        ("solver", "person", "answer > 100"),
    ]


async def test_what_was_considered_and_decided_is_on_record_with_the_reason(storage):
    """One analysis for each node run; one decision for each edge, retry and question."""
    tree = await tree_of(await talked(storage), storage)
    records = records_of(tree, datetime.now(UTC))
    assert len(records.analyses) == 7
    last = records.analyses[-1]
    assert (last.agent_name, last.valid, last.retries) == ("solver", True, 1)
    assert [(c.to_agent, c.outcome) for c in last.conditions] == [
        ("checker", "not fired"),
        ("person", "not fired"),
    ]
    third = [d for d in records.decisions if d.turn == 3]
    assert [(d.decision, d.target) for d in third] == [
        ("retry", ""),
        ("skip", "checker"),
        ("skip", "person"),
    ]
    assert "YieldsError" in third[0].why
    assert "-1" in third[1].why
    second = [(d.decision, d.agent_name) for d in records.decisions if d.turn == 2]
    assert ("escalate", "person") in second


async def test_joins_are_decisions():
    """What a join waits for, what it starts with, and that it can start no more."""
    specs = """
{kind: LLMNode, name: start, edges: [a, b]}
---
{kind: LLMNode, name: a, edges: [sum]}
---
{kind: LLMNode, name: b, edges: [{target: sum, when: "output == 'go'"}]}
---
{kind: LLMNode, name: sum, wait_for: [a, b]}
"""
    script = {"start": ["x", "y"], "a": ["1", "1"], "b": ["go", "stop"], "sum": ["2"]}
    agent = Agent(
        specs,
        llm=ScriptedLLM(script),
        state_storage=InMemoryStateStorage(),
        name="test",
        session_id="s",
        start_node="start",
    )
    await agent.step("one")
    await agent.step("two")
    tree = await tree_of(agent, agent.state_storage)
    decisions = records_of(tree, datetime.now(UTC)).decisions
    joins = [(d.decision, d.why) for d in decisions if d.agent_name == "sum"]
    assert joins == [
        ("start", "arrived: a, b"),
        ("halt", "arrived: a; b can no longer arrive"),
    ]


async def test_records_that_are_too_old_are_counted_and_not_shown():
    """The conversation stays: it lives as long as the session."""
    agent = await talked(InMemoryStateStorage())
    tree = await tree_of(agent, agent.state_storage)
    later = datetime.now(UTC) + timedelta(hours=2)
    records = records_of(tree, later, seconds=3600)
    assert (records.yields, records.decisions) == ((), ())
    assert records.expired["yields"] == 4
    assert len(records.conversation) == 13


async def test_nothing_about_seconds_or_tokens_a_second_is_recorded():
    """Persistence is not observability."""
    agent = await talked(InMemoryStateStorage())
    tree = await tree_of(agent, agent.state_storage)
    said = str(asdict(records_of(tree, datetime.now(UTC)))).lower()
    assert not [word for word in ("latency", "duration", "seconds", "per_second") if word in said]


async def test_a_failed_agent_says_nothing():
    """Its failure is in the analyses."""
    agent = Agent(
        "{kind: LLMNode, name: chat, retry: {attempts: 1}}",
        llm=ScriptedLLM([ValueError("boom")]),
        state_storage=InMemoryStateStorage(),
        name="test",
        session_id="s",
    )
    with pytest.raises(TurnFailed):
        await agent.step("hi")
    tree = await tree_of(agent, agent.state_storage)
    assert [e.type for e in conversation(tree)] == ["user_message"]
    assert records_of(tree, datetime.now(UTC)).analyses[0].valid is False
