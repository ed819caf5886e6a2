"""How much of a history a model is given."""

from hypothesis import given
from hypothesis import strategies as st

from liman_nb import Agent, InMemoryStateStorage
from liman_nb.engine.messages import fitted, size
from liman_nb.models.llm import Reply


@st.composite
def histories(draw):
    """Exchanges, some with a tool call."""
    messages = []
    for number in range(draw(st.integers(0, 6))):
        messages.append({"role": "user", "content": "u" * draw(st.integers(0, 30))})
        if draw(st.booleans()):
            calls = [{"id": f"c{number}", "type": "function", "function": {"name": "f"}}]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "seen"})
        messages.append({"role": "assistant", "content": "a" * draw(st.integers(0, 30))})
    return messages


@given(histories(), st.integers(-50, 2000), st.booleans())
def test_the_latest_exchanges_that_fit_are_given_whole(history, room, in_exchange):
    """It is an end of the history, begins at a user's message, and could not be longer."""
    kept = fitted(history, room, in_exchange=in_exchange)
    left_out = history[: len(history) - len(kept)]
    assert [*left_out, *kept] == history
    assert not kept or kept[0]["role"] == "user"
    exchanges = sum(message["role"] == "user" for message in kept)
    assert size(kept) <= max(room, 0) or (in_exchange and exchanges == 1)
    if left_out:
        earlier = max(i for i, m in enumerate(left_out) if m["role"] == "user")
        assert size(history[earlier:]) > room


async def test_a_model_that_says_its_window_is_given_no_more_than_fits():
    """The oldest exchanges are left out; the node still remembers them."""

    class Small:
        context_tokens = 400

        async def complete(self, request, on_token=None):
            return Reply(text="short")

    agent = Agent("{kind: LLMNode, name: chat}", llm=Small(), state_storage=InMemoryStateStorage())
    for number in range(30):
        await agent.step(f"question {number}")
    given = agent.requests("chat")[-1]["messages"]
    assert 4 < len(given) < 30
    assert given[0]["role"] == "user"
    assert size(given) <= 300 * 3
    assert len(agent.messages("chat")) == 60
