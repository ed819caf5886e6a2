"""What is stored is nobody's to change: every value that is handed out or taken in is a copy."""

import copy
import pickle

import pytest

from liman_nb import Agent, InMemoryStateStorage, call
from liman_nb.engine.tree import Executor, Tree
from liman_nb.errors import (
    BoundExceeded,
    ConditionSyntaxError,
    LimanError,
    ModelRateLimited,
    NotStorable,
    Problem,
    SpecError,
    TurnFailed,
    YieldsError,
)


def agent_of(specs: str, **options) -> Agent:
    """An agent in memory."""
    return Agent(specs, state_storage=InMemoryStateStorage(), session_id="s", **options)


def tree_of(agent: Agent) -> Tree:
    """The session's tree."""
    return agent._read(None, lambda tree, running: tree)


def executor(agent: Agent, node: str) -> Executor:
    """The last executor of a node."""
    return [e for e in tree_of(agent).executors.values() if e.node == node][-1]


def echo(value):
    """Hands on its input."""
    return value


def spoil(value) -> None:
    """Change a value as deep as it goes."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            spoil(inner)
    if isinstance(value, dict):
        value["spoiled"] = True
    else:
        value.append("spoiled")


def from_elsewhere(value):
    """A value as it arrives in another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - it was just written here


async def test_a_function_may_change_its_input_and_changes_nobody_else_s():
    """Not its sender's output, not its sibling's input, not its own on record."""

    def one(value):
        spoil(value)

    async def other(value: dict):
        spoil(value)

    specs = """
{kind: FunctionNode, name: start, edges: [one, other, last]}
---
{kind: FunctionNode, name: one}
---
{kind: FunctionNode, name: other}
---
{kind: FunctionNode, name: last, func: echo}
"""
    agent = agent_of(specs, functions=[one, other, echo, start])
    result = await agent.step("x")
    assert executor(agent, "start").output == {"a": [{"b": 1}]}
    for node in ("one", "other", "last"):
        assert executor(agent, node).input == {"a": [{"b": 1}]}
    assert dict(result.outputs)["last"] == {"a": [{"b": 1}]}


def start(value):
    """Gives a nested value."""
    return {"a": [{"b": 1}]}


async def test_the_caller_may_change_what_it_gave_and_what_it_got():
    """The input is as it was at the call, also while the call waits; results are copies."""
    agent = agent_of("{kind: FunctionNode, name: echo}", functions=[echo])
    given = {"a": [1]}
    turn = agent.step(given)
    result = await turn
    spoil(given)
    spoil(result.output)
    assert executor(agent, "echo").input == executor(agent, "echo").output == {"a": [1]}

    yielding = agent_of("{kind: FunctionNode, name: start, yields: {a: array}}", functions=[start])
    events = []
    yielding.listen(lambda event: spoil(event.output) if event.output else events.append(event))
    result = await yielding.step("x")
    spoil(result.yields["start"])
    assert executor(yielding, "start").output == {"a": [{"b": 1}]}


async def test_a_function_that_keeps_its_state_changes_nothing_afterwards():
    """What is remembered is what the state was when the run ended."""
    kept = []

    def note(value, state: dict):
        state.setdefault("notes", []).append(value)
        kept.append(state)

    agent = agent_of("{kind: FunctionNode, name: note}", functions=[note])
    await agent.step("one")
    spoil(kept[0])
    await agent.step("two")
    assert tree_of(agent).actors["note"].extras == {"notes": ["one", "two"]}


async def test_an_attempt_begins_without_the_notes_of_the_one_before():
    """What failed has noted nothing."""
    attempts = []

    def note(value, state: dict):
        state["n"] = state.get("n", 0) + 1
        attempts.append(value)
        if len(attempts) < 3:
            raise ValueError("not yet")
        return state["n"]

    specs = (
        "{kind: FunctionNode, name: note, retry: {attempts: 3, backoff: 0, errors: [ValueError]}}"
    )
    assert (await agent_of(specs, functions=[note]).step("x")).output == 1


@pytest.mark.parametrize("values", [(1, True), (1, 1.0), (0, False), ([1], [True])])
async def test_a_state_that_only_python_takes_for_equal_has_changed(values):
    """`1 == True == 1.0` in Python; in the storage they differ."""
    given = iter(values)

    def note(value, state: dict):
        state["kept"] = next(given)

    agent = agent_of("{kind: FunctionNode, name: note}", functions=[note])
    await agent.step("x")
    await agent.step("x")
    assert repr(tree_of(agent).actors["note"].extras) == repr({"kept": values[1]})


async def test_a_condition_may_change_what_it_looks_at_and_decides_only():
    """Output, input, state and context are as they were."""

    def tempting(view) -> bool:
        for value in (view.output, view.yields, view.input, view.state, view.context):
            spoil(value)
        return True

    def note(value, state: dict):
        state["n"] = 1
        return {"out": [1]}

    specs = """
{kind: FunctionNode, name: note, edges: [{target: echo, when: tempting}]}
---
{kind: FunctionNode, name: echo}
"""
    agent = agent_of(specs, functions=[note, echo, tempting])
    context = {"who": ["me"]}
    await agent.step({"in": [1]}, context=context)
    assert executor(agent, "note").input == {"in": [1]}
    assert executor(agent, "note").output == executor(agent, "echo").input == {"out": [1]}
    assert tree_of(agent).actors["note"].extras == {"n": 1}
    assert context == {"who": ["me"]}


async def test_a_function_may_change_its_slice_of_the_context():
    """The caller's own lists and dictionaries stay as they are; other objects are passed on."""

    class Connection:
        """Something open."""

    seen = []

    def look(value, context: dict):
        its_own = context["circle"]
        seen.append((context["connection"], its_own[0] is its_own))
        its_own.append("spoiled")
        spoil(context["user"])

    specs = """
kind: FunctionNode
name: look
auth: {service_account: {context: {inject: [user, connection, circle]}}}
"""
    connection, circle = Connection(), []
    circle.append(circle)
    context = {"user": {"roles": ["reader"]}, "connection": connection, "circle": circle}
    agent = agent_of(specs, functions=[look])
    await agent.step("x", context=context)
    assert context["user"] == {"roles": ["reader"]}
    assert len(circle) == 1
    assert seen == [(connection, True)]


async def test_a_model_may_change_its_request():
    """History, and what `requests` shows, are what was sent."""

    def model(request):
        for message in request.messages:
            message["content"] = "spoiled"
            for asked in message.get("tool_calls", ()):
                asked["function"]["arguments"] = "spoiled"
        request.messages.append({"role": "user", "content": "spoiled"})
        return [call("add", a=1)] if len(request.messages) == 2 else "ok"

    def add(a: int) -> int:
        """Adds."""
        return a

    agent = agent_of("{kind: LLMNode, name: chat, tools: [add]}", llm=model, tools=[add])
    await agent.step("one")
    await agent.step("two")
    agent.messages("chat")[0]["content"] = "spoiled"
    agent.requests("chat")[0]["messages"][0]["content"] = "spoiled"
    shown = [m["content"] for m in agent.requests("chat")[-1]["messages"]]
    assert shown == ["one", None, "1", "ok", "two"]
    assert [m["content"] for m in agent.messages("chat")] == [*shown, "ok"]
    assert agent.messages("chat")[1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


async def test_a_result_can_be_copied_and_sent_to_another_process():
    """With everything that it shows."""
    specs = """
{kind: FunctionNode, name: start, yields: {a: array}, edges: [{target: echo, when: $len(a) > 0}]}
---
{kind: FunctionNode, name: echo}
"""
    result = await agent_of(specs, functions=[start, echo]).step("x")
    for again in (from_elsewhere(result), copy.deepcopy(result), copy.copy(result)):
        assert again.output == result.output
        assert again["a"] == [{"b": 1}]
        assert str(again) == str(result)
        assert again._repr_mimebundle_() == result._repr_mimebundle_()


@pytest.mark.parametrize(
    "error",
    [
        NotStorable("cannot", "input.a"),
        BoundExceeded("too many", "depth", 3),
        YieldsError("unfit", "{}", ["a is missing"]),
        SpecError([Problem("wrong", hint="right")]),
        ConditionSyntaxError("odd", "a >", 3),
        ModelRateLimited("429", 7),
    ],
)
def test_an_error_comes_back_from_another_process_with_all_it_carries(error: LimanError):
    """Message and attributes."""
    for again in (from_elsewhere(error), copy.copy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


async def test_the_error_of_a_turn_comes_back_with_its_result():
    """Which node failed, and why."""

    def boom(value):
        raise ValueError("broke")

    agent = agent_of("{kind: FunctionNode, name: boom}", functions=[boom])
    with pytest.raises(TurnFailed) as caught:
        await agent.step("x")
    again = from_elsewhere(caught.value)
    assert str(again) == str(caught.value)
    assert [str(e) for e in again.result.errors] == [str(e) for e in caught.value.result.errors]


async def test_the_turn_failed_where_nobody_reacted():
    """A reaction that fails itself is the failure, not what it reacted to."""

    def boom(value):
        raise ValueError("first")

    def mend(value):
        raise KeyError("second")

    specs = """
{kind: FunctionNode, name: boom, edges: [{target: mend, when: "$is_error('ValueError')"}]}
---
{kind: FunctionNode, name: mend}
"""
    with pytest.raises(TurnFailed, match="failed at mend: KeyError") as caught:
        await agent_of(specs, functions=[boom, mend]).step("x")
    assert [(e.node, e.handled) for e in caught.value.result.errors] == [
        ("boom", True),
        ("mend", False),
    ]
