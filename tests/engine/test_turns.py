"""Whole turns through the front door, with scripted models, over every kind of storage."""

import asyncio
import threading
import time

import pytest
from four_methods import FourMethods

from liman_nb import (
    Agent,
    Bounds,
    DiskCacheStateStorage,
    Executor,
    InMemoryStateStorage,
    ScriptedLLM,
    call,
)
from liman_nb.errors import (
    ModelRateLimited,
    ModelRejected,
    NotStorable,
    OpenTurn,
    SetupError,
    SpecError,
    TurnFailed,
    UsageError,
)


@pytest.fixture(params=["memory", "disk", "four methods"])
def storage(request, tmp_path):
    """Every kind of storage."""
    if request.param == "memory":
        return InMemoryStateStorage()
    if request.param == "disk":
        return DiskCacheStateStorage(tmp_path / "store")
    return FourMethods()


def agent_of(specs: str, *, storage=None, **options) -> Agent:
    """An agent in memory."""
    options.setdefault("session_id", "s")
    return Agent(specs, state_storage=storage or InMemoryStateStorage(), **options)


def executors(agent: Agent) -> list[Executor]:
    """The session's executors, the root first."""
    return agent._read(None, lambda tree, running: list(tree.executors.values()))


def statuses(agent: Agent) -> list[tuple[str, str]]:
    """Node and status of every executor below the root, in creation order."""
    return [(executor.node, executor.status) for executor in executors(agent)[1:]]


# ── tools ────────────────────────────────────────────────────────────────────────────────────────

CALCULATOR = """
kind: LLMNode
name: chat
tools: [add, fail]
"""


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail(why: str = "no reason") -> str:
    """Fails."""
    raise RuntimeError(why)


def roles(agent: Agent) -> list[str]:
    """The roles of the chat node's history."""
    return [m["role"] for m in agent.messages("chat")]


async def test_a_tool_loop_of_several_rounds_with_several_calls(storage):
    """Results come back in call order, round after round, until the model answers."""
    script = ScriptedLLM(
        [[call("add", a=1, b=2), call("add", a=3, b=4)], call("add", a=3, b=7), "10"]
    )
    agent = agent_of(CALCULATOR, storage=storage, llm=script, tools=[add, fail])
    assert (await agent.step("1+2+3+4?")).output == "10"
    assert roles(agent) == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert [m["content"] for m in agent.messages("chat") if m["role"] == "tool"] == ["3", "7", "10"]
    assert statuses(agent) == [
        ("chat", "completed"),
        ("add", "completed"),
        ("add", "completed"),
        ("add", "completed"),
    ]


async def test_what_is_wrong_with_a_call_goes_back_to_the_model_and_stays_visible(storage):
    """An unknown tool, bad arguments, broken JSON, and a tool that raises."""
    from liman_nb.models.llm import Reply, ToolCall

    wrong = [
        ToolCall("1", "multiply", "{}"),
        ToolCall("2", "add", '{"a": 1}'),
        ToolCall("3", "add", '{"a": 1,'),
        ToolCall("4", "add", '{"a": "one", "b": 2, "c": 3}'),
        ToolCall("5", "fail", '{"why": "it rains"}'),
        ToolCall("6", "fail", ""),
    ]
    script = ScriptedLLM([lambda _: Reply(tool_calls=wrong), "sorry"])
    agent = agent_of(CALCULATOR, storage=storage, llm=script, tools=[add, fail])
    result = await agent.step("go")

    answers = [m["content"] for m in agent.messages("chat") if m["role"] == "tool"]
    assert answers[0] == "Error: there is no tool 'multiply'; the tools are add, fail"
    assert "'b' is missing" in answers[1]
    assert "Expected arguments: a (integer), b (integer)" in answers[1]
    assert "JSON" in answers[2]
    assert "'a'" in answers[3]
    assert "'c'" in answers[3]
    assert answers[4] == "Error: RuntimeError: it rains"
    assert answers[5] == "Error: RuntimeError: no reason"
    assert result.output == "sorry"
    assert [e.node for e in result.errors] == ["multiply", "add", "add", "add", "fail", "fail"]
    assert all(e.handled for e in result.errors)
    assert statuses(agent).count(("fail", "failed")) == 2


async def test_calls_of_one_reply_run_at_the_same_time():
    """Each waits for the others to have begun: one after the other would never end."""
    begun = threading.Barrier(3, timeout=10)

    def meet(n: int) -> int:
        """Waits for two others."""
        begun.wait()
        return n

    specs = "kind: LLMNode\nname: chat\ntools: [meet]"
    script = ScriptedLLM([[call("meet", n=i) for i in range(3)], "met"])
    agent = agent_of(specs, llm=script, tools=[meet])
    assert (await agent.step("go")).output == "met"
    assert [m["content"] for m in agent.messages("chat") if m["role"] == "tool"] == ["0", "1", "2"]


async def test_a_synchronous_tool_never_blocks_the_loop():
    """Other work goes on while it sleeps."""
    ticks = 0

    def slow() -> str:
        """Takes a while."""
        time.sleep(0.3)
        return "slept"

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    specs = "kind: LLMNode\nname: chat\ntools: [slow]"
    await agent_of(specs, llm=[call("slow"), "ok"], tools=[slow]).step("go")
    ticking.cancel()
    assert ticks > 5


async def test_a_tool_node_takes_its_function_by_the_import_rule(tmp_path, monkeypatch):
    """A dotted path is followed only into modules that the caller named."""
    (tmp_path / "my_weather.py").write_text(
        "def now(city: str) -> str:\n    return city + ': snow'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    specs = """
kind: LLMNode
name: chat
tools: [weather]
---
kind: ToolNode
name: weather
func: my_weather.now
description: The weather.
arguments: [{name: city, type: string}]
"""
    agent = agent_of(specs, llm=[call("weather", city="Oslo"), "ok"], allow_imports=["my_weather"])
    await agent.step("go")
    assert agent.messages("chat")[2]["content"] == "Oslo: snow"
    (tool,) = agent.requests("chat")[0]["tools"]
    assert (tool.name, tool.description) == ("weather", "The weather.")

    refused = agent_of(specs, llm=["never asked"])
    with pytest.raises(SpecError, match="'my_weather' is not in allow_imports"):
        await refused.step("go")
    assert not refused.tree().total


async def test_a_call_id_is_the_executor_s_and_stays_the_same_key():
    """A tool that asks for `call_id` gets an id that no other call has."""
    seen = []

    def pay(amount: int, call_id: str) -> str:
        """Pays."""
        seen.append(call_id)
        return "paid"

    specs = "kind: LLMNode\nname: chat\ntools: [pay]"
    agent = agent_of(specs, llm=[[call("pay", amount=1), call("pay", amount=1)], "ok"], tools=[pay])
    await agent.step("go")
    assert seen == [e.id for e in executors(agent) if e.node == "pay"]
    assert len(set(seen)) == 2
    assert "call_id" not in agent.requests("chat")[0]["tools"][0].parameters["properties"]


async def test_a_model_that_never_stops_calling_ends_at_its_bound():
    """The error names the bound; the history stays valid and the session usable."""
    replies = [call("add", a=1, b=1)] * 5 + ["at last"]
    agent = agent_of(
        CALCULATOR, llm=replies, tools=[add, fail], bounds=Bounds(llm_calls_per_node=3)
    )
    with pytest.raises(TurnFailed, match=r"llm_calls_per_node=3") as caught:
        await agent.step("go")
    assert [e.error.type for e in caught.value.result.errors] == ["BoundExceeded"]
    assert roles(agent) == ["user", *["assistant", "tool"] * 3]
    await_again = agent_of(CALCULATOR, storage=agent.state_storage, llm=["fine"], tools=[add, fail])
    assert (await await_again.step("again")).output == "fine"


# ── edges ────────────────────────────────────────────────────────────────────────────────────────

FAN = """
kind: FunctionNode
name: start
yields: {n: integer}
edges:
  - {target: small, when: n < 10}
  - {target: even, when: n % 2 == 0}
  - {target: big, when: n > 10}
  - {target: unknown, when: missing == 1}
  - always_there
---
{kind: FunctionNode, name: small, func: echo}
---
{kind: FunctionNode, name: even, func: echo}
---
{kind: FunctionNode, name: big, func: echo}
---
{kind: FunctionNode, name: unknown, func: echo}
---
{kind: FunctionNode, name: always_there, func: echo}
"""


def start(value):
    """Hands on its input."""
    return value


def echo(value):
    """Hands on its input."""
    return value


async def test_every_edge_that_fires_starts_its_node_and_the_reasons_are_on_record(storage):
    """Fired, not fired, undecided: each with the values read."""
    agent = agent_of(FAN, storage=storage, functions=[start, echo])
    result = await agent.step({"n": 4})
    assert [node for node, _ in result.outputs] == ["small", "even", "always_there"]
    assert result.output == [{"n": 4}] * 3
    assert result["n"] == 4
    assert {t.target: t.outcome for t in agent.transitions()} == {
        "small": "fired",
        "even": "fired",
        "big": "not fired",
        "unknown": "undecided",
        "always_there": "fired",
    }
    reasons = {t.target: t.reason for t in agent.transitions()}
    assert "missing" in reasons["unknown"]
    records = executors(agent)[1].transitions
    assert {t.target: t.values for t in records}["small"] == {"n": 4}


async def test_a_function_is_a_condition_when_its_name_stands_alone():
    """It gets the same view as a written condition; an exception leaves the edge undecided."""

    def is_vip(view) -> bool:
        return view.context["tier"] == "gold"

    def broken(view) -> bool:
        raise KeyError(view.context["tier"])

    specs = """
kind: FunctionNode
name: start
edges: [{target: echo, when: is_vip}, {target: other, when: broken}]
---
{kind: FunctionNode, name: echo}
---
{kind: FunctionNode, name: other, func: echo}
"""
    agent = agent_of(specs, functions=[start, echo, is_vip, broken])
    await agent.step("x", context={"tier": "gold"})
    assert [(t.outcome, t.reason) for t in agent.transitions()] == [
        ("fired", "is_vip returned true"),
        ("undecided", "broken raised KeyError: '⟨redacted⟩'"),
    ]


async def test_a_failure_without_reaction_fails_the_turn_and_siblings_finish(storage):
    """The error names node, cause and place; the next turn works."""
    specs = """
kind: FunctionNode
name: start
edges: [boom, echo]
---
{kind: FunctionNode, name: boom}
---
{kind: FunctionNode, name: echo}
"""
    broken = True

    def boom(value) -> str:
        if broken:
            raise ValueError("it broke")
        return "fine"

    agent = agent_of(specs, storage=storage, functions=[start, boom, echo])
    with pytest.raises(TurnFailed) as caught:
        await agent.step("x")
    message = str(caught.value)
    assert "turn 1 of session 's' failed at boom: ValueError: it broke" in message
    assert "test_turns.py:" in message
    assert statuses(agent) == [("start", "failed"), ("boom", "failed"), ("echo", "completed")]
    assert caught.value.result.status == "failed"
    with pytest.raises(TurnFailed):
        _ = caught.value.result.output
    broken = False
    assert (await agent.step("y")).output == ["fine", "y"]


async def test_an_edge_may_react_to_a_failure(storage):
    """`$is_error` sees the class and its bases; other edges are not considered then."""
    specs = """
kind: FunctionNode
name: boom
edges:
  - {target: mend, when: "$is_error('LookupError')"}
  - {target: other, when: "$is_error('ValueError')"}
  - echo
---
{kind: FunctionNode, name: mend}
---
{kind: FunctionNode, name: other, func: mend}
---
{kind: FunctionNode, name: echo}
"""

    def boom(value) -> str:
        raise KeyError("lost")

    def mend(error: dict) -> str:
        return f"mended {error['type']}"

    agent = agent_of(specs, storage=storage, functions=[boom, mend, echo])
    result = await agent.step("x")
    assert result.output == "mended KeyError"
    assert [(e.node, e.handled) for e in result.errors] == [("boom", True)]
    assert [t.target for t in agent.transitions()] == ["mend", "other"]


async def test_a_loop_ends_at_the_bound_of_node_runs():
    """The error names the bound and the way to raise it."""
    specs = "{kind: FunctionNode, name: echo, edges: [echo]}"
    agent = agent_of(specs, functions=[echo], bounds=Bounds(node_runs=7, depth=100))
    with pytest.raises(TurnFailed, match=r"Bounds\(node_runs=…\)"):
        await agent.step("x")
    assert agent.tree().total == 1 + 8


async def test_a_turn_that_takes_too_long_fails_with_the_bound_s_name():
    """What runs is cancelled, what would follow fails, and the session stays usable."""
    specs = "{kind: FunctionNode, name: slow, edges: [echo]}\n---\n{kind: FunctionNode, name: echo}"
    patient = False

    async def slow(value) -> str:
        await asyncio.sleep(0 if patient else 30)
        return "done"

    agent = agent_of(specs, functions=[slow, echo], bounds=Bounds(seconds=0.2))
    with pytest.raises(TurnFailed, match=r"the bound seconds=0\.2 is reached"):
        await agent.step("x")
    patient = True
    assert (await agent.step("x")).output == "done"


# ── models ───────────────────────────────────────────────────────────────────────────────────────

YIELDING = """
kind: LLMNode
name: chat
retry: {attempts: 3, backoff: 0}
yields: {answer: number, steps: [string]}
"""


async def test_a_reply_that_does_not_fit_goes_back_once_with_what_is_wrong(storage):
    """The correction is on record and leaves no trace in the history."""
    script = ScriptedLLM(['{"answer": "four"}', {"answer": 4, "steps": ["2+2"]}])
    agent = agent_of(YIELDING, storage=storage, llm=script)
    result = await agent.step("2+2?")
    assert result["answer"] == 4
    assert result.yields["chat"] == {"answer": 4, "steps": ["2+2"]}
    with pytest.raises(KeyError, match="chat yields no 'reply'"):
        _ = result["reply"]

    correction = script.requests[1].messages[-2:]
    assert correction[0] == {"role": "assistant", "content": '{"answer": "four"}'}
    assert "answer" in correction[1]["content"]
    assert "steps" in correction[1]["content"]
    assert roles(agent) == ["user", "assistant"]
    (attempt,) = executors(agent)[1].attempts
    assert (attempt.error.type, attempt.reply) == ("YieldsError", '{"answer": "four"}')
    assert "tried before" in agent.tree()._repr_mimebundle_()["text/html"]


async def test_a_second_reply_that_does_not_fit_fails_with_the_reply_and_the_errors():
    """Nothing is filled in silently."""
    agent = agent_of(YIELDING, llm=["not JSON", '{"answer": 1}'])
    with pytest.raises(TurnFailed, match="YieldsError") as caught:
        await agent.step("2+2?")
    assert "steps" in str(caught.value)


async def test_a_model_error_that_may_pass_is_tried_again_on_record():
    """Every attempt is in the tree."""
    agent = agent_of(YIELDING, llm=[ModelRateLimited("429", 0), {"answer": 1, "steps": []}])
    assert (await agent.step("x"))["answer"] == 1
    (attempt,) = executors(agent)[1].attempts
    assert (attempt.error.type, attempt.reply) == ("ModelRateLimited", None)


async def test_a_model_error_that_will_not_pass_fails_the_turn_and_the_session_goes_on(storage):
    """What the user said is kept; there is no empty answer."""
    agent = agent_of(
        CALCULATOR, storage=storage, llm=[ModelRejected("401"), "hi"], tools=[add, fail]
    )
    with pytest.raises(TurnFailed, match="ModelRejected: 401"):
        await agent.step("one")
    assert (await agent.step("two")).output == "hi"
    assert [m["content"] for m in agent.messages("chat")] == ["one", "two", "hi"]


async def test_without_a_model_nothing_is_stored_and_one_sentence_says_what_to_do(monkeypatch):
    """A graph without LLM nodes needs none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", "/nonexistent")
    agent = agent_of("{kind: LLMNode, name: chat}")
    with pytest.raises(SetupError, match="liman-nb model fetch"):
        await agent.step("x")
    assert not agent.tree().total
    silent = agent_of("{kind: FunctionNode, name: echo}", functions=[echo])
    assert (await silent.step("x")).output == "x"


async def test_a_model_that_lacks_its_key_says_so_before_anything_is_stored(monkeypatch):
    """A turn that cannot work is not begun."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    agent = agent_of("{kind: LLMNode, name: chat}", llm="gpt-4o-mini")
    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        await agent.step("x")
    assert not agent.tree().total


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": add}, r"tools= takes a list of functions, such as tools=\[get_weather\]"),
        ({"functions": add}, "functions= takes a list of functions"),
        ({"llms": ["x"]}, "llms= gives single nodes their models"),
    ],
)
def test_what_is_given_in_the_wrong_form_is_said_at_once(options, message):
    """One sentence that shows the right form."""
    with pytest.raises(UsageError, match=message):
        agent_of("{kind: LLMNode, name: chat}", **options)


async def test_models_by_node_win_over_the_agent_s():
    """`llms` names single nodes; an unknown one is refused."""
    specs = "{kind: LLMNode, name: a, edges: [b]}\n---\n{kind: LLMNode, name: b}"
    agent = agent_of(specs, llm=["from the agent's"], llms={"b": ["from b's own"]})
    assert (await agent.step("x")).output == "from b's own"
    with pytest.raises(UsageError, match="there is no node 'c'"):
        agent_of(specs, llm=["x"], llms={"c": ["y"]})


@pytest.mark.parametrize("reply", ["half a pair: \ud800", [call("add", a="\ud800")]])
async def test_a_reply_that_cannot_be_stored_fails_its_run_and_nothing_else(storage, reply):
    """Half a surrogate pair has no form in UTF-8: the turn fails with a sentence."""
    agent = agent_of(CALCULATOR, storage=storage, llm=[reply, "fine"], tools=[add, fail])
    with pytest.raises(TurnFailed, match="surrogate"):
        await agent.step("one")
    assert (await agent.step("two")).output == "fine"


async def test_memory_none_shows_the_model_its_input_alone():
    """The history is kept and not sent."""
    script = ScriptedLLM(["one", "two"])
    agent = agent_of("{kind: LLMNode, name: chat, memory: none}", llm=script)
    await agent.step("first")
    await agent.step("second")
    assert [m["content"] for m in script.requests[1].messages] == ["second"]
    assert len(agent.messages("chat")) == 4


async def test_a_history_limit_never_splits_a_tool_exchange():
    """What is sent begins at a message of the user."""
    script = ScriptedLLM([call("add", a=1, b=1), "2", "hello"])
    specs = "{kind: LLMNode, name: chat, tools: [add], history_limit: 2}"
    agent = agent_of(specs, llm=script, tools=[add])
    await agent.step("1+1?")
    await agent.step("hi")
    assert [m["role"] for m in script.requests[2].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_a_prompt_that_names_something_missing_says_so():
    """The node fails with a sentence, and no model is asked."""
    agent = agent_of(
        "kind: LLMNode\nname: chat\nprompts: {system: 'You serve {context.org_id}.'}", llm=["never"]
    )
    with pytest.raises(TurnFailed, match=r"the system prompt names \{context.org_id\}"):
        await agent.step("x")
    assert len(agent.requests("chat")) == 0


# ── stopping ─────────────────────────────────────────────────────────────────────────────────────


async def test_stop_ends_a_turn_with_what_was_committed(storage):
    """From another thread, in under a second, with a tool that hangs in its thread."""
    released, hanging = threading.Event(), threading.Event()

    def hang() -> str:
        """Hangs."""
        hanging.set()
        released.wait(20)
        return "too late"

    script = ScriptedLLM([[call("add", a=1, b=2), call("hang")], "next turn"])
    specs = "{kind: LLMNode, name: chat, tools: [add, hang]}"
    agent = agent_of(specs, storage=storage, llm=script, tools=[add, hang])

    def stop() -> None:
        hanging.wait(10)
        time.sleep(0.1)
        agent.stop()

    threading.Thread(target=stop).start()
    began = time.monotonic()
    result = await agent.step("go")
    assert time.monotonic() - began < 3
    assert result.status == "cancelled"
    assert result.cancelled == (
        "stopped by the caller; hang may still run in a thread, and what it returns is discarded"
    )
    assert statuses(agent) == [("chat", "cancelled"), ("add", "completed"), ("hang", "cancelled")]
    released.set()
    assert (await agent.step("again")).output == "next turn"
    contents = [m["content"] for m in agent.messages("chat")]
    assert contents[2:4] == ["3", "Error: the call was cancelled before it gave a result."]
    assert not agent.stop()


async def test_cancelling_the_task_stores_the_turn_as_cancelled(storage):
    """The cancellation goes on to the caller."""

    async def forever(value) -> None:
        await asyncio.sleep(60)

    agent = agent_of("{kind: FunctionNode, name: forever}", storage=storage, functions=[forever])
    task = asyncio.create_task(agent.step("x"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert statuses(agent) == [("forever", "cancelled")]


async def test_leaving_a_stream_early_stops_the_turn():
    """Nobody listens: nothing runs on."""

    async def forever(value) -> None:
        await asyncio.sleep(60)

    agent = agent_of("{kind: FunctionNode, name: forever}", functions=[forever])
    events = agent.stream("x")
    assert (await anext(events)).kind == "turn_started"
    await events.aclose()
    assert statuses(agent) == [("forever", "cancelled")]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────


async def test_calls_on_one_session_queue_and_sessions_run_side_by_side():
    """Turns of a session never mix; two sessions do not wait for each other."""
    order = []

    async def note(value: str) -> str:
        order.append(f"{value} begins")
        await asyncio.sleep(0.01)
        order.append(f"{value} ends")
        return value

    agent = agent_of("{kind: FunctionNode, name: note}", functions=[note])
    await asyncio.gather(*(agent.step(str(i), session_id="same") for i in range(3)))
    assert order == [f"{i} {what}" for i in range(3) for what in ("begins", "ends")]
    order.clear()
    await asyncio.gather(*(agent.step(str(i), session_id=f"own {i}") for i in range(3)))
    assert order[:3] == ["0 begins", "1 begins", "2 begins"]


async def test_a_session_read_in_a_storage_is_what_was_written(storage):
    """A second agent over the same storage shows the same tree and goes on with it."""
    script = ScriptedLLM([[call("add", a=1, b=2), call("nope")], "3"])
    first = agent_of(CALCULATOR, storage=storage, llm=script, tools=[add, fail])
    await first.step("1+2?")
    second = agent_of(CALCULATOR, storage=storage, llm=["and on"], tools=[add, fail])
    await second.open("s")
    assert str(second.tree()) == str(first.tree())
    assert list(second.messages("chat")) == list(first.messages("chat"))
    assert (await second.step("more")).turn == 2


async def test_a_turn_that_died_is_refused_resumed_or_given_up(tmp_path):
    """The error shows both ways on; a resumed turn repeats nothing that was committed."""
    specs = "{kind: FunctionNode, name: one, edges: [two]}\n---\n{kind: FunctionNode, name: two}"
    calls = []

    def one(value: str) -> str:
        calls.append("one")
        return value

    class Killed(BaseException):
        """Ends a process in the middle of a run, as far as the storage can see."""

    class Crashing(InMemoryStateStorage):
        async def commit(self, commit):
            if calls[-1:] == ["two"]:
                raise Killed
            await super().commit(commit)

    def two(value: str) -> str:
        calls.append("two")
        return f"{value}!"

    storage = Crashing()
    dying = agent_of(specs, storage=storage, functions=[one, two])
    with pytest.raises(Killed):
        await dying.step("x", context={"user": "u"})
    calls.append("restart")

    agent = agent_of(specs, storage=storage, functions=[one, two])
    with pytest.raises(OpenTurn, match=r"two still to run.*agent.resume\(\).*agent.abandon\(\)"):
        await agent.step("y")
    from liman_nb.errors import ContextMissing

    with pytest.raises(ContextMissing, match="pass user again"):
        await agent.resume()
    type(storage).commit = InMemoryStateStorage.commit
    assert (await agent.resume(context={"user": "u"})).output == "x!"
    assert calls == ["one", "two", "restart", "two"]
    with pytest.raises(OpenTurn, match="no open turn"):
        await agent.resume()


async def test_an_agent_may_be_told_what_to_do_with_turns_that_died():
    """`on_open_turn` decides: resume first, or give up."""
    specs = "{kind: FunctionNode, name: echo}"
    for how, turns in (
        ("resume", ["completed", "completed"]),
        ("abandon", ["cancelled", "completed"]),
    ):
        storage = InMemoryStateStorage()
        dead = agent_of(specs, storage=storage, functions=[echo])
        await _begin_and_die(dead, storage)
        agent = agent_of(specs, storage=storage, functions=[echo], on_open_turn=how)
        assert (await agent.step("second")).output == "second"
        assert [status for _, status in statuses(agent)] == turns


async def _begin_and_die(agent: Agent, storage: InMemoryStateStorage) -> None:
    """Store a turn's input and nothing more."""
    from liman_nb.engine.decide import turn_row
    from liman_nb.state.storage import Commit, Touched

    agent._workshop.prepare()
    session = await agent._workshop.sessions.open("s")
    row = turn_row(agent._workshop.graph, session.tree, "echo", "first", "2026-01-01T00:00:00Z")
    await storage.commit(Commit(session.tree.root, 0, (row,), Touched, open=True))


async def test_an_input_that_json_cannot_hold_is_refused_before_anything_is_stored(storage):
    """The path of the value is named."""
    agent = agent_of("{kind: FunctionNode, name: echo}", storage=storage, functions=[echo])
    with pytest.raises(NotStorable, match=r"input\.a\[1\]"):
        await agent.step({"a": [1, float("nan")]})
    assert not agent.tree().total
    assert (await agent.step("fine")).output == "fine"


def test_the_synchronous_call_works_with_and_without_a_running_loop():
    """No loop is patched; a notebook's own loop may run."""
    agent = agent_of("{kind: FunctionNode, name: echo}", functions=[echo])
    assert agent.run_sync("one").output == "one"

    async def inside() -> str:
        return agent.run_sync("two").output

    assert asyncio.run(inside()) == "two"


async def test_reload_reads_the_specs_again_and_keeps_the_session(tmp_path):
    """An edited file takes effect; a broken one leaves the old graph."""
    file = tmp_path / "chat.yaml"
    file.write_text("{kind: LLMNode, name: chat, prompts: {system: One.}}")
    script = ScriptedLLM(["a", "b", "c"])
    agent = agent_of(file, llm=script)
    await agent.step("x")
    file.write_text("{kind: LLMNode, name: chat, prompts: {system: Two.}}")
    agent.reload()
    await agent.step("y")
    assert [r.messages[0]["content"] for r in script.requests] == ["One.", "Two."]
    assert len(agent.messages("chat")) == 4
    file.write_text("{kind: LLMNode, name: chat, prompt: Three.}")
    with pytest.raises(SpecError, match="prompts"):
        agent.reload()
    assert len(agent.check().errors) == 1
    assert (await agent.step("z")).output == "c"


async def test_events_tell_a_turn_from_its_start_to_its_end():
    """Tokens arrive between the start and the end of their node's run."""
    script = ScriptedLLM([call("add", a=1, b=2), "it is three"])
    agent = agent_of(CALCULATOR, llm=script, tools=[add, fail])
    events = [event async for event in agent.stream("1+2?")]
    told = [(e.kind, e.node) for e in events if e.kind != "token"]
    assert told == [
        ("turn_started", ""),
        ("node_started", "chat"),
        ("node_ended", "chat"),
        ("node_started", "add"),
        ("node_ended", "add"),
        ("node_started", "chat"),
        ("node_ended", "chat"),
        ("turn_ended", ""),
    ]
    assert "".join(e.text for e in events if e.kind == "token") == "it is three"
    assert events[-1].status == "completed"
    assert events[-1].output == agent.last_result.output == "it is three"


async def test_a_listener_that_fails_is_a_warning_and_no_failure_of_the_turn():
    """Nothing depends on who listens."""
    agent = agent_of("{kind: FunctionNode, name: echo}", functions=[echo])

    def broken(event) -> None:
        if event.kind == "node_started":
            raise RuntimeError("deaf")

    ended = agent.listen(broken)
    with pytest.warns(UserWarning, match="a listener failed on node_started: RuntimeError: deaf"):
        assert (await agent.step("x")).output == "x"
    ended()
    assert (await agent.step("y")).output == "y"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": ["user_id"]}, "context must be a mapping"),
        ({"context": {1: "x"}}, "context must be a mapping with text keys"),
        ({"session_id": 7}, "a session_id is a text, not a int"),
    ],
)
async def test_a_wrong_argument_is_one_sentence(options, message):
    """Nothing is stored."""
    agent = agent_of("{kind: FunctionNode, name: echo}", functions=[echo])
    with pytest.raises(UsageError, match=message):
        await agent.step("x", **options)
    assert not agent.tree().total


async def test_mesh_call_enters_at_any_node():
    """Its input may be LeafMesh's message mapping."""
    specs = "{kind: FunctionNode, name: a, edges: [b]}\n---\n{kind: FunctionNode, name: b}"
    agent = agent_of(specs, functions={"a": echo, "b": echo})
    result = await agent.mesh_call("b", input_data={"message": "hi"}, session_id="user_123")
    assert (result.entry, result.output, result.session_id) == ("b", "hi", "user_123")
    with pytest.raises(UsageError, match="there is no node 'c'"):
        await agent.mesh_call("c", {}, "user_123")
