"""Who may call what, from where: several sessions, loops, threads and agents at once."""

import asyncio
import gc
import os
import sys
import threading
import time
import weakref

import pytest

from liman_nb import (
    Agent,
    DiskCacheStateStorage,
    ExecutorInput,
    InMemoryStateStorage,
    StateStorage,
)
from liman_nb.engine.sessions import KEPT_OPEN
from liman_nb.engine.tree import Tree
from liman_nb.errors import (
    LimanError,
    ModelReplyInvalid,
    OpenTurn,
    SessionConflict,
    StorageError,
    TurnFailed,
    UsageError,
)
from liman_nb.models.llm import Reply, ToolCall

ECHO = "{kind: FunctionNode, name: f}"


def echo(value):
    """Hands on its input."""
    return value


def agent_of(f=echo, **options) -> Agent:
    """An agent in memory whose only node calls `f`."""
    options.setdefault("session_id", "s")
    options.setdefault("state_storage", InMemoryStateStorage())
    return Agent(ECHO, functions={"f": f}, **options)


def node_started(agent: Agent) -> asyncio.Event:
    """Set when a node of the agent runs."""
    event = asyncio.Event()
    agent.listen(lambda told: event.set() if told.kind == "node_started" else None)
    return event


def tree_of(agent: Agent, session_id: str | None = None) -> Tree:
    """A session's tree."""
    return agent._read(session_id, lambda tree, running: tree)


def inputs(agent: Agent, session_id: str | None = None) -> list:
    """The inputs of a session's turns."""
    return [e.input for e in list(tree_of(agent, session_id).executors.values())[1:]]


# ── a turn that would wait for itself ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["step", "resume", "abandon"])
async def test_a_function_cannot_wait_for_a_turn_of_its_own_session(method):
    """That would never end; the sentence says what to do instead."""

    async def f(value):
        await (agent.step("inner") if method == "step" else getattr(agent, method)())

    agent = agent_of(f)
    async with asyncio.timeout(5):
        with pytest.raises(TurnFailed, match="Give it another session_id, or ask after the turn"):
            await agent.step("outer")


@pytest.mark.parametrize("outer", ["on this loop", "on the background loop"])
def test_neither_can_a_synchronous_one(outer):
    """Whichever loop the turn itself runs on."""

    def f(value):
        return agent.run_sync("inner").output

    agent = agent_of(f)
    call = {"on this loop": lambda text: asyncio.run(agent.step(text))}.get(outer, agent.run_sync)
    with pytest.raises(TurnFailed, match="asked for a turn of the same session"):
        call("outer")


async def test_nor_through_another_session():
    """The circle is found whatever its length."""

    async def f(value):
        other = {"a": "b", "b": "c", "c": "a"}[value]
        return (await agent.step(other, session_id=other)).output

    agent = agent_of(f)
    async with asyncio.timeout(5):
        with pytest.raises(TurnFailed, match="session 'a'"):
            await agent.step("a", session_id="a")


async def test_a_function_may_wait_for_another_session_and_leave_a_turn_for_later():
    """Neither waits for itself."""
    later = []

    async def f(value):
        if value == "outer":
            later.append(asyncio.create_task(agent.step("later", session_id="s")))
            return (await agent.step("inner", session_id="other")).output
        return f"{value}!"

    agent = agent_of(f)
    async with asyncio.timeout(5):
        assert (await agent.step("outer", session_id="s")).output == "inner!"
        assert (await later[0]).turn == 2


def test_a_synchronous_call_refuses_to_block_the_loop_that_it_would_wait_for():
    """In a notebook: a turn in a background task, then `run_sync` in the next cell."""

    async def f(value):
        await asyncio.sleep(0.05)
        return value

    async def cells():
        started = node_started(agent)
        turn = asyncio.create_task(agent.step("in the background"))
        await started.wait()
        with pytest.raises(UsageError, match=r"use: await agent\.step"):
            agent.run_sync("x")
        assert agent.run_sync("x", session_id="other").output == "x"
        return (await turn).output

    agent = agent_of(f)
    assert asyncio.run(asyncio.wait_for(cells(), 5)) == "in the background"


def test_a_listener_on_the_background_loop_may_read_other_sessions():
    """The loop cannot wait for itself, so the reading is done on another one."""
    agent = agent_of()
    seen = []
    agent.listen(lambda event: seen.append(agent.tree(session_id="other").total))
    agent.run_sync("x")
    assert seen == [0] * 4


# ── which session ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("session_id", ["", " ", "a/b", "ünï", "\0", "x" * 5000])
async def test_any_text_is_a_session_id(session_id):
    """An empty one, too, is an id and not the absence of one."""
    agent = agent_of(session_id=session_id)
    assert (await agent.step("one")).session_id == session_id
    again = agent_of(state_storage=agent.state_storage, session_id=None)
    assert (await again.step("two", session_id=session_id)).turn == 2
    assert (await again.step("three")).turn == 3


async def test_names_that_cannot_be_stored_are_refused_before_anything_is():
    """Half a surrogate pair has no form in UTF-8."""
    with pytest.raises(LimanError, match="session_id cannot be stored"):
        agent_of(session_id="\ud800")
    agent = agent_of()
    with pytest.raises(LimanError, match="the keys of context"):
        await agent.step("x", context={"\ud800": 1})
    assert not agent.tree().total


@pytest.mark.parametrize("value", [None, 5, True, ["x"], b"x", object()])
async def test_an_input_is_text_or_a_mapping(value):
    """Anything else is one sentence."""
    with pytest.raises(UsageError, match="the input of a turn is text, a mapping"):
        await agent_of().step(value)


async def test_a_stream_stays_with_its_session_and_its_turn():
    """Whatever else is called meanwhile, on this session or another."""

    async def f(value):
        await asyncio.sleep(0.01)
        return value

    agent = agent_of(f, session_id=None)

    async def listen(text: str) -> set:
        return {(e.session_id, e.turn) async for e in agent.stream(text)}

    mine = agent.new_session("mine")
    first = asyncio.create_task(agent.step("first"))
    await asyncio.sleep(0)
    stream = asyncio.create_task(listen("streamed"))
    await asyncio.sleep(0)
    await agent.step("elsewhere", session_id="other")
    assert await stream == {("mine", 2)}
    await first
    assert inputs(agent, mine) == ["first", "streamed"]
    assert inputs(agent, "other") == ["elsewhere"]


async def test_a_session_of_another_agent_stays_the_opened_one():
    """After an input by ids, the next text belongs to that session, and is shown with it."""
    storage = InMemoryStateStorage()
    first = await agent_of(state_storage=storage, name="one").step("one")
    agent = agent_of(state_storage=storage, name="two", session_id=None)
    await agent.step(ExecutorInput(execution_id=first.execution_id, node_input="two"))
    assert (await agent.step("three")).turn == 3
    assert agent.tree().total == 4
    assert agent.session_id == "s"


def test_calls_from_many_threads_reach_the_sessions_that_they_name():
    """No call is put into the session that another thread has just opened."""
    agent, switch = agent_of(session_id=None), sys.getswitchinterval()

    async def talk(name: str) -> None:
        for _ in range(20):
            assert (await agent.step(name, session_id=name)).session_id == name

    threads = [threading.Thread(target=asyncio.run, args=(talk(f"s{n}"),)) for n in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    for n in range(6):
        assert inputs(agent, f"s{n}") == [f"s{n}"] * 20


def test_turns_of_one_session_from_several_loops_are_one_after_the_other():
    """Each gets a number of its own."""
    agent, turns = agent_of(), []

    async def talk() -> None:
        results = await asyncio.gather(*(agent.step("x") for _ in range(5)))
        turns.extend(result.turn for result in results)

    threads = [threading.Thread(target=asyncio.run, args=(talk(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turns) == list(range(1, 21))


# ── two agents ───────────────────────────────────────────────────────────────────────────────────


async def test_two_agents_that_write_in_turn_each_go_on_from_what_is_stored():
    """Neither has to open the session again, and nothing of either is lost."""
    storage = InMemoryStateStorage()
    one, two = agent_of(state_storage=storage), agent_of(state_storage=storage)
    await one.step("one")
    await two.step("two")
    assert inputs(one) == ["one"]
    assert (await one.step("three")).turn == 3
    assert inputs(one) == ["one", "two", "three"]
    assert inputs(agent_of(state_storage=storage)) == ["one", "two", "three"]


async def test_a_turn_can_be_read_and_given_up_without_the_model_it_needs(monkeypatch):
    """As on a machine that has none."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", "/nonexistent")

    async def never(request):
        await asyncio.sleep(60)

    async def gone(commit):
        raise OSError("gone")

    storage, specs = InMemoryStateStorage(), "{kind: LLMNode, name: c}"
    dying = Agent(specs, llm=never, state_storage=storage, session_id="s")
    started = node_started(dying)
    turn = asyncio.create_task(dying.step("x"))
    await started.wait()
    storage.commit = gone
    turn.cancel()
    with pytest.raises(OSError, match="gone"):
        await turn
    del storage.commit
    agent = await Agent(specs, state_storage=storage).open("s")
    await agent.abandon()
    assert tree_of(agent).status == "cancelled"


@pytest.mark.parametrize("ask", ["step", "resume", "abandon"])
async def test_while_one_agent_has_a_turn_another_one_is_refused_before_it_runs_anything(ask):
    """It is told by whom, and what to do; the turn under way is not disturbed."""
    storage, go, ran = InMemoryStateStorage(), asyncio.Event(), []

    async def wait(value):
        await go.wait()
        return value

    def run(value):
        ran.append(value)

    one, two = agent_of(wait, state_storage=storage), agent_of(run, state_storage=storage)
    started = node_started(one)
    turn = asyncio.create_task(one.step("one"))
    await started.wait()
    await two.open("s")
    calls = {"step": lambda: two.step("two"), "resume": two.resume, "abandon": two.abandon}
    with pytest.raises(SessionConflict) as caught:
        await calls[ask]()
    told = str(caught.value)
    assert told.startswith(
        f"session 's': another Agent object of this very process, {os.getpid()}, is writing to it"
    )
    assert "nothing of this call was stored. Wait until that turn has ended, stop it" in told
    assert (await two.step("beside", session_id="another")).turn == 1
    go.set()
    assert (await turn).output == "one"
    assert (await two.step("two")).turn == 2
    assert ran == ["beside", "two"]


async def test_a_turn_that_lost_its_lease_ends_as_a_conflict():
    """Its input is stored, what its node made is not; the session goes on."""
    storage, go = InMemoryStateStorage(), asyncio.Event()

    async def wait(value):
        await go.wait()

    one, two = agent_of(wait, state_storage=storage), agent_of(state_storage=storage)
    started = node_started(one)
    turn = asyncio.create_task(one.step("one"))
    await started.wait()
    storage._leases.clear()  # as a server does when the lease's time is over
    with pytest.raises(OpenTurn):
        await two.step("two")
    await two.abandon()
    go.set()
    with pytest.raises(SessionConflict, match=r"lease of this turn passed on.* input .* is stored"):
        await turn
    assert tree_of(one).status == "cancelled"
    assert (await one.step("again")).turn == 2


@pytest.mark.parametrize("end", ["completed", "failed", "stopped", "cancelled", "refused"])
async def test_however_a_call_ends_another_agent_can_go_on(end):
    """The lease is given back with the call."""
    storage, started = InMemoryStateStorage(), asyncio.Event()

    async def run(value):
        started.set()
        if end == "failed":
            raise ValueError(value)
        if end in ("stopped", "cancelled"):
            await asyncio.sleep(60)
        return value

    agent = agent_of(run, state_storage=storage)
    if end == "refused":
        with pytest.raises(OpenTurn):
            await agent.resume()
    else:
        turn = asyncio.create_task(agent.step("x"))
        await started.wait()
        if end == "stopped":
            agent.stop()
        elif end == "cancelled":
            turn.cancel()
        await asyncio.wait({turn})
        assert tree_of(agent).status == {"stopped": "cancelled"}.get(end, end)
        assert turn.cancelled() == (end == "cancelled")
        assert isinstance(None if turn.cancelled() else turn.exception(), TurnFailed) == (
            end == "failed"
        )
    assert not storage._leases
    assert (await agent_of(state_storage=storage).step("y")).output == "y"


@pytest.mark.parametrize("kept", [True, False], ids=["turn kept", "turn forgotten"])
@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_turn_whose_loop_was_closed_keeps_nobody_out(store, kept, tmp_path):
    """Neither another agent, nor its own; it is an open turn for both."""
    storage = InMemoryStateStorage() if store == "memory" else DiskCacheStateStorage(tmp_path / "s")

    async def wait(value):
        await asyncio.Event().wait()

    one, two = agent_of(wait, state_storage=storage), agent_of(state_storage=storage)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # "task was destroyed", which it was
    turn = loop.create_task(one.step("x"))
    loop.run_until_complete(asyncio.wait_for(_begun(one), 10))
    loop.close()
    if not kept:
        del turn
        gc.collect()
    for agent in (two, one):
        with pytest.raises(OpenTurn):
            asyncio.run(agent.step("y"))
    asyncio.run(two.abandon())
    assert asyncio.run(two.step("z")).turn == 2
    asyncio.run(storage.close())


async def _begun(agent):
    started = node_started(agent)
    await started.wait()


# ── what is kept, and for how long ───────────────────────────────────────────────────────────────


async def test_a_session_that_is_used_is_never_opened_twice():
    """Not even when so many others were opened meanwhile that it would be closed."""
    go = asyncio.Event()

    async def f(value):
        if value == "wait":
            await go.wait()
        return value

    agent = agent_of(f)
    turns = [asyncio.create_task(agent.step(t, session_id="w")) for t in ("wait", "next")]
    await asyncio.sleep(0.01)
    for n in range(KEPT_OPEN + 5):
        await agent.step("x", session_id=f"other {n}")
    turns.append(asyncio.create_task(agent.step("last", session_id="w")))
    await asyncio.sleep(0.01)
    go.set()
    assert [(await turn).turn for turn in turns] == [1, 2, 3]


async def test_sessions_and_requests_are_not_kept_for_ever():
    """Memory does not grow with the number of sessions that were held."""
    agent = Agent("{kind: LLMNode, name: c}", llm=_ok, state_storage=InMemoryStateStorage())
    await agent.step("x", session_id="first")
    tree = weakref.ref(agent._workshop.sessions.opened(agent._reception.opened.root))
    for n in range(KEPT_OPEN + 5):
        await agent.step("x", session_id=f"s{n}")
    gc.collect()
    assert tree() is None
    assert len(agent.requests("c", session_id="first")) == 0
    assert len(agent.requests("c")) == 1
    assert (await agent.step("x", session_id="first")).turn == 2


async def _ok(request) -> str:
    return "ok"


def test_an_agent_that_is_gone_leaves_no_thread_behind():
    """Running a cell again and again starts no more loops than are used."""
    before = threading.active_count()
    for _ in range(5):
        agent_of().run_sync("x")
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    assert threading.active_count() <= before


@pytest.mark.skipif("fork" not in dir(os), reason="the system cannot fork")
def test_a_forked_process_has_a_loop_of_its_own():
    """The parent's thread is not in it."""
    agent = agent_of()
    agent.run_sync("x")
    child = os.fork()
    if child == 0:
        os._exit(agent.run_sync("y", session_id="other").output != "y")
    assert os.waitpid(child, 0)[1] == 0


def test_a_session_outlives_a_loop_that_was_closed_under_its_turn():
    """Whoever comes next does not wait for one that can never leave."""
    agent = agent_of()
    agent.run_sync("x")
    session = agent._workshop.sessions.opened(agent._reception.opened.root)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(session.queue.__aenter__())
    loop.close()
    assert asyncio.run(asyncio.wait_for(agent.step("y"), 5)).turn == 2


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


async def test_what_runs_is_shown_as_running():
    """In the tree, the graph and the record; stored it is idle."""
    go = asyncio.Event()

    async def f(value):
        await go.wait()

    agent = agent_of(f)
    started = node_started(agent)
    turn = asyncio.create_task(agent.step("x"))
    await started.wait()
    for view in (agent, agent.graph, agent.tree()):
        assert "running" in str(view).lower()
    go.set()
    await turn
    for view in (agent, agent.graph, agent.tree()):
        assert "running" not in str(view).lower()


def test_showing_a_session_while_another_thread_changes_it_never_fails():
    """A view is made of one moment."""

    async def f(value, state: dict):
        state["n"] = state.get("n", 0) + 1
        return {"n": state["n"]}

    specs = """
kind: FunctionNode
name: f
yields: {n: integer}
edges: [{target: f, when: n % 40 != 0}]
"""
    agent = Agent(specs, functions=[f], state_storage=InMemoryStateStorage(), session_id="s")

    async def talk() -> None:
        for _ in range(5):
            await agent.step("x")

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=asyncio.run, args=(talk(),))
    try:
        thread.start()
        while thread.is_alive():
            for view in (agent, agent.tree(), agent.graph, agent.transitions(), agent.yields()):
                assert view._repr_mimebundle_()["text/html"]
    finally:
        thread.join()
        sys.setswitchinterval(switch)
    assert agent.tree().total == 1 + 5 * 40


def test_a_storage_that_cannot_be_read_does_not_break_a_cell():
    """The agent shows its graph and what is wrong."""

    class Damaged(InMemoryStateStorage):
        async def load_rows(self, root):
            raise StorageError("the journal is <damaged>")

    shown = agent_of(state_storage=Damaged())._repr_mimebundle_()
    assert "session not readable: StorageError: the journal is <damaged>" in shown["text/plain"]
    assert "&lt;damaged&gt;" in shown["text/html"]
    assert "f (function" in shown["text/plain"]


# ── seams of the user's ──────────────────────────────────────────────────────────────────────────


async def test_the_four_methods_may_be_plain_functions():
    """And keep the very dictionaries that they are given."""

    class Plain(StateStorage):
        def __init__(self):
            self.kept = {}

        def save_actor_state(self, execution_id, actor_id, state):
            self.kept[execution_id, actor_id] = state

        def load_actor_state(self, execution_id, actor_id):
            return self.kept.get((execution_id, actor_id))

        def save_executor_state(self, execution_id, state):
            self.kept[execution_id] = state

        def load_executor_state(self, execution_id):
            return self.kept.get(execution_id)

    storage = Plain()
    for turn in range(3):
        agent = agent_of(state_storage=storage)
        assert (await agent.step({"a": [turn]})).turn == turn + 1
    assert inputs(agent) == [{"a": [0]}, {"a": [1]}, {"a": [2]}]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        "text",
        {"text": "x"},
        Reply(text=5),
        Reply(text="x", usage=None),
        Reply(tool_calls=[ToolCall("c", "f", {"a": 1})]),
        Reply(tool_calls=[ToolCall("c", None)]),
    ],
)
async def test_a_model_object_that_returns_no_reply_is_a_named_error(junk):
    """Whoever wrote it reads what is wrong with it."""

    class Own:
        async def complete(self, request, on_token=None):
            return junk

    agent = Agent("{kind: LLMNode, name: c}", llm=Own(), state_storage=InMemoryStateStorage())
    with pytest.raises(TurnFailed, match=ModelReplyInvalid.__name__):
        await agent.step("x")
