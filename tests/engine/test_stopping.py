"""A turn ends when it is told to, whatever its functions and models do about it."""

import asyncio
import contextlib
import threading

import pytest

from liman_nb import Agent, Bounds, InMemoryStateStorage, call
from liman_nb.engine.tree import ENDED, Tree
from liman_nb.errors import SessionConflict, StorageError, TurnFailed
from liman_nb.models.llm import Reply

ONE = "{kind: FunctionNode, name: f, edges: [echo]}\n---\n{kind: FunctionNode, name: echo}"

BESIDE = """
{kind: FunctionNode, name: start, func: echo, edges: [f, echo]}
---
{kind: FunctionNode, name: f}
---
{kind: FunctionNode, name: echo}
"""

MODELS = """
{kind: FunctionNode, name: start, func: echo, edges: [a, b]}
---
{kind: LLMNode, name: a}
---
{kind: LLMNode, name: b}
"""

TOOLS = """
kind: LLMNode
name: chat
tools: [add]
edges: [f, echo]
---
{kind: ToolNode, name: add}
---
{kind: FunctionNode, name: f}
---
{kind: FunctionNode, name: echo}
"""


def echo(value):
    """Hands on its input."""
    return value


def add(a: int) -> int:
    """Adds nothing."""
    return a


def agent_of(specs: str, f=echo, **options) -> Agent:
    """An agent in memory; `f` is what the node of that name calls."""
    options.setdefault("state_storage", InMemoryStateStorage())
    return Agent(specs, functions={"f": f, "echo": echo, "add": add}, session_id="s", **options)


def tree_of(agent: Agent) -> Tree:
    """The session's tree."""
    return agent._read(None, lambda tree, running: tree)


def statuses(agent: Agent) -> dict[str, str]:
    """Status by node."""
    return {e.node: e.status for e in list(tree_of(agent).executors.values())[1:]}


def node_started(agent: Agent) -> asyncio.Event:
    """Set when a node of the agent runs."""
    event = asyncio.Event()
    agent.listen(lambda told: event.set() if told.kind == "node_started" else None)
    return event


class Odd(BaseException):
    """An exception that is no `Exception`, as some libraries have."""


ODD = [asyncio.CancelledError, SystemExit, GeneratorExit, Odd]


# ── what functions and models raise ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("specs", [ONE, BESIDE])
@pytest.mark.parametrize("error", ODD)
async def test_whatever_a_function_raises_is_its_own_failure(specs, error):
    """Nobody asked the turn to end: not the caller, not the interpreter."""

    async def f(value):
        await asyncio.sleep(0)
        raise error("by itself")

    agent = agent_of(specs, f)
    async with asyncio.timeout(5):
        with pytest.raises(TurnFailed, match="failed at f"):
            await agent.step("x")
    assert statuses(agent)["f"] == "failed"


@pytest.mark.parametrize("error", ODD)
@pytest.mark.parametrize("is_async", [True, False])
async def test_whatever_a_model_raises_is_its_node_s_failure(error, is_async):
    """The other branch finishes."""

    def reply(request):
        if request.node == "a":
            raise error("by itself")
        return "fine"

    async def later(request):
        await asyncio.sleep(0)
        return reply(request)

    agent = agent_of(MODELS, llm=later if is_async else reply)
    async with asyncio.timeout(5):
        with pytest.raises(TurnFailed, match="failed at a"):
            await agent.step("x")
    assert statuses(agent) == {"start": "failed", "a": "failed", "b": "completed"}


@pytest.mark.parametrize("specs", [ONE, BESIDE])
async def test_a_function_that_ends_its_own_task_fails_and_hangs_nothing(specs):
    """As a badly nested cancel scope does."""

    async def f(value):
        asyncio.current_task().cancel()
        await asyncio.sleep(1)

    agent = agent_of(specs, f)
    async with asyncio.timeout(5):
        with pytest.raises(TurnFailed, match="ended the task that it ran in"):
            await agent.step("x")


async def test_an_error_whose_message_cannot_be_made_is_still_the_failure():
    """Neither its text nor the caller's context may raise another one."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("nothing to say")

    async def f(value):
        raise Mute

    with pytest.raises(TurnFailed, match=r"Mute: \(its message cannot be read: RuntimeError\)"):
        await agent_of(ONE, f).step("x")


def test_an_interrupt_within_a_function_ends_the_turn_as_cancelled():
    """`KeyboardInterrupt` on the loop's thread reaches the caller."""

    async def f(value):
        raise KeyboardInterrupt

    agent = agent_of(BESIDE, f)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(agent.step("x"))
    assert tree_of(agent).status == "cancelled"


# ── what does not want to end ────────────────────────────────────────────────────────────────────


async def test_a_function_that_swallows_the_cancellation_does_not_keep_the_turn():
    """What it returns is discarded, and no other node runs after it."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def f(value):
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(0.8)
        ended.set()
        return "too late"

    agent = agent_of(ONE, f)
    turn = asyncio.create_task(agent.step("x"))
    await begun.wait()
    agent.stop()
    result = await turn
    assert not ended.is_set()
    assert (result.status, statuses(agent)) == ("cancelled", {"f": "cancelled"})
    await ended.wait()
    assert (await agent_of(ONE, state_storage=agent.state_storage).step("y")).output == "y"


async def test_a_model_left_behind_tells_no_listener_any_more():
    """The turn's end is the last event of it."""
    begun, events = asyncio.Event(), []

    class Stubborn:
        async def complete(self, request, on_token=None) -> Reply:
            begun.set()
            for _ in range(40):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.02)
                on_token("word ")
            return Reply(text="done")

    agent = agent_of("{kind: LLMNode, name: chat}", llm=Stubborn())
    agent.listen(lambda event: events.append(event.kind))
    turn = asyncio.create_task(agent.step("x"))
    await begun.wait()
    agent.stop()
    await turn
    await asyncio.sleep(0.4)
    assert events[-1] == "turn_ended"


async def test_a_cancelled_turn_is_told_like_any_other():
    """Whoever shows it must not show it running for ever."""
    events = []
    agent = agent_of(ONE, lambda value: threading.Event().wait(1))
    agent.listen(lambda event: events.append((event.kind, event.status)))
    started = node_started(agent)
    turn = asyncio.create_task(agent.step("x"))
    await started.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert events[-1] == ("turn_ended", "cancelled")


async def test_stopping_needs_no_task_that_was_never_cancelled():
    """A caller that ignored an earlier cancellation gets its result all the same."""

    async def f(value):
        await asyncio.sleep(60)

    agent, begun = agent_of(ONE, f), asyncio.Event()
    started = node_started(agent)

    async def caller():
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return await agent.step("x")

    task = asyncio.create_task(caller())
    await begun.wait()
    task.cancel()
    await started.wait()
    assert agent.stop()
    assert (await task).status == "cancelled"


async def test_many_threads_that_stop_at_once_stop_one_turn():
    """And leave nothing behind that would stop the next one."""

    async def f(value):
        await asyncio.sleep(60 if value == "long" else 0)
        return value

    agent = agent_of(ONE, f)
    started = node_started(agent)
    turn = asyncio.create_task(agent.step("long"))
    await started.wait()
    threads = [threading.Thread(target=lambda: [agent.stop() for _ in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert (await turn).status == "cancelled"
    for thread in threads:
        thread.join()
    assert (await agent.step("short")).output == "short"


async def test_stopping_a_call_that_still_resumes_begins_no_other_turn():
    """The interrupted turn is cancelled; what was said with this call is not."""
    storage = InMemoryStateStorage()
    seen = []

    async def f(value):
        seen.append(value)
        await asyncio.sleep(60)

    dying = agent_of(ONE, f, state_storage=storage)
    started = node_started(dying)
    turn = asyncio.create_task(dying.step("first"))
    await started.wait()
    storage.commit = _fails
    turn.cancel()
    with pytest.raises(OSError, match="gone"):
        await turn
    del storage.commit

    agent = agent_of(ONE, f, state_storage=storage, on_open_turn="resume")
    started = node_started(agent)
    turn = asyncio.create_task(agent.step("second"))
    await started.wait()
    agent.stop()
    result = await turn
    assert (result.turn, result.status, seen) == (1, "cancelled", ["first", "first"])


async def _fails(commit) -> None:
    raise OSError("gone")


# ── at any moment ────────────────────────────────────────────────────────────────────────────────


def model(request):
    """One tool call, then an answer."""
    return [call("add", a=1)] if request.messages[-1]["role"] == "user" else "ok"


async def _model(request):
    return model(request)


@pytest.mark.parametrize("how", ["cancel", "cancel again and again", "stop"])
async def test_a_turn_may_be_ended_at_any_moment(how):
    """At each step of the loop: nothing stays open, every call is answered, the next turn works."""
    outcomes, moment = set(), 0
    while "completed" not in outcomes or moment < 8:
        agent = agent_of(TOOLS, llm=_model)
        turn = asyncio.create_task(agent.step("x"))
        for _ in range(moment):
            await asyncio.sleep(0)
        if how == "stop":
            outcomes.add("cancelled" if agent.stop() else "completed" if moment else "not begun")
        for _ in range({"stop": 0, "cancel": 1}.get(how, 3)):
            turn.cancel()
            await asyncio.sleep(0)
        try:
            outcomes.add((await turn).status)
        except asyncio.CancelledError:
            outcomes.add("cancelled")
        _check_whole(tree_of(agent))
        assert (await agent.step("again")).status == "completed"
        moment += 1
    assert "cancelled" in outcomes


def _check_whole(tree: Tree) -> None:
    assert all(e.status in ENDED for e in tree.executors.values())
    assert not tree.idle
    assert not tree.held
    for actor in tree.actors.values():
        asked = [c["id"] for m in actor.messages for c in m.get("tool_calls", ())]
        assert asked == [m["tool_call_id"] for m in actor.messages if m["role"] == "tool"]


# ── faults of the storage ────────────────────────────────────────────────────────────────────────


class Faulty(InMemoryStateStorage):
    """Its second commit fails."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error, self.commits = error, 0

    async def commit(self, commit):
        """Fail once."""
        self.commits += 1
        if self.commits == 2:
            raise self.error
        await super().commit(commit)


@pytest.mark.parametrize("error", [OSError("disk"), TimeoutError("slow"), StorageError("full")])
@pytest.mark.parametrize("seconds", [None, 60])
async def test_a_fault_of_the_storage_is_its_own_and_the_session_is_loaded_again(error, seconds):
    """A time-out of the storage is no bound of the turn; what is shown is what is stored."""
    agent = agent_of(ONE, state_storage=Faulty(error), bounds=Bounds(seconds=seconds))
    with pytest.raises(type(error), match=str(error)):
        await agent.step("x")
    assert statuses(agent) == {"f": "idle"}
    assert (await agent.resume()).output == "x"


async def test_a_storage_that_cancels_its_own_commit_has_failed():
    """The caller is not cancelled, and it is no conflict with anybody."""
    agent = agent_of(ONE, state_storage=Faulty(asyncio.CancelledError()))
    with pytest.raises(StorageError, match="gave up a commit by itself") as caught:
        await agent.step("x")
    assert not isinstance(caught.value, SessionConflict)
    assert (await agent.resume()).output == "x"


async def test_an_input_that_cannot_be_stored_changes_nothing():
    """The interrupted turn, which another input would have closed, stays open."""
    agent = agent_of(ONE, state_storage=Faulty(OSError("disk")), on_open_turn="abandon")
    with pytest.raises(OSError, match="disk"):
        await agent.step("x")
    with pytest.raises(StorageError, match=r"input\.a"):
        await agent.step({"a": float("nan")})
    assert statuses(agent) == {"f": "idle"}


async def test_a_warning_that_is_an_error_does_not_let_a_listener_break_a_turn():
    """Pytest and `python -W error` make one of it; the turn does not care."""
    agent = agent_of(ONE)
    agent.listen(lambda event: 1 / 0)
    assert (await agent.step("x")).output == "x"


async def test_a_turn_that_is_stopped_while_the_storage_fails_leaves_its_task_as_it_was():
    """The fault is raised; the task of the caller is not left half cancelled."""
    committing = asyncio.Event()

    class Slow(Faulty):
        async def commit(self, commit):
            if self.commits == 1:
                committing.set()
                await asyncio.sleep(0.02)
            await super().commit(commit)

    agent = agent_of(ONE, state_storage=Slow(OSError("disk")))
    turn = asyncio.create_task(agent.step("x"))
    await committing.wait()
    agent.stop()
    with pytest.raises(OSError, match="disk"):
        await turn
    assert turn.cancelling() == 0
    assert statuses(agent) == {"f": "idle"}
