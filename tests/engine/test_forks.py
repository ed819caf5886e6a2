"""Forks of an agent's sessions: they go on by themselves, and their parent stays as it is."""

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest
from four_methods import FourMethods

from liman_nb import Agent, DiskCacheStateStorage, InMemoryStateStorage, ScriptedLLM
from liman_nb.engine.sessions import KEPT_OPEN
from liman_nb.engine.tree import Tree
from liman_nb.errors import (
    ContextMissing,
    OpenTurn,
    StorageError,
    TurnFailed,
    UnknownSession,
    UsageError,
)

CHAT = "{kind: LLMNode, name: chat}"


KINDS = {"journal": InMemoryStateStorage, "states": FourMethods}
"""Storages with a journal, and without."""


@pytest.fixture(params=KINDS)
def storage(request):
    """A storage of each kind."""
    return KINDS[request.param]()


def chat(storage, *replies, **options) -> Agent:
    """An agent that says these."""
    return Agent(CHAT, llm=ScriptedLLM([*replies]), state_storage=storage, **options)


def tree_of(agent: Agent, session_id: str | None = None) -> Tree:
    """A session's tree."""
    return agent._read(session_id, lambda tree, running: tree)


def said(agent: Agent, session_id: str | None = None) -> list[str]:
    """The messages of the chat."""
    return [m["content"] for m in agent.messages("chat", session_id=session_id)]


# ── a fork and its parent ────────────────────────────────────────────────────────────────────────


async def test_a_fork_remembers_what_was_said_until_then_and_no_more(storage):
    """It is the opened session, and goes on while the parent does, too."""
    agent = chat(storage, "1", "2", "3", "4", "5", session_id="s")
    for text in "abc":
        await agent.step(text)

    assert agent.fork(at_turn=2, new_session_id="f") == "f" == agent.session_id
    await agent.step("d")
    await agent.step("e", session_id="s")

    assert said(agent, "f") == ["a", "1", "b", "2", "d", "4"]
    assert said(agent, "s") == ["a", "1", "b", "2", "c", "3", "e", "5"]
    assert agent.history("f").lineage == "forked from s after turn 2"
    assert agent.history("s").lineage == ""
    assert "forked from s after turn 2" in repr(agent.history("f")).splitlines()[0]


async def test_a_fork_of_a_fork_names_its_own_parent(storage):
    """And has the messages of both."""
    agent = chat(storage, "1", "2", "3", session_id="s")
    await agent.step("a")
    agent.fork(new_session_id="f")
    await agent.step("b")
    agent.fork(new_session_id="g")
    await agent.step("c")

    assert said(agent, "g") == ["a", "1", "b", "2", "c", "3"]
    assert agent.history("g").lineage == "forked from f after turn 2"
    assert agent.history("f").lineage == "forked from s after turn 1"


async def test_a_fork_without_turns_is_stored_by_its_first_one(storage):
    """Nothing is there before; then its lineage is, also for another agent."""
    agent = chat(storage, "1", "2", session_id="s")
    await agent.step("a")
    agent.fork(at_turn=0, new_session_id="f")

    assert agent.history().lineage == "forked from s before its first turn"
    assert "no turn yet · forked from s" in repr(agent)
    assert chat(storage, session_id="f").history().lineage == ""
    await agent.step("b")
    other = chat(storage, session_id="f")
    assert said(other) == ["b", "2"]
    assert other.history().lineage == "forked from s before its first turn"


async def test_a_fork_without_turns_is_kept_while_many_other_sessions_are_opened():
    """Its lineage is known nowhere else."""
    agent = chat(InMemoryStateStorage(), "1", session_id="s")
    await agent.step("a")
    agent.fork(at_turn=0, new_session_id="f")
    for number in range(KEPT_OPEN + 10):
        await agent.open(f"other {number}")

    assert agent.history("f").lineage == "forked from s before its first turn"


async def test_a_fork_without_turns_keeps_its_lineage_when_its_first_commit_fails():
    """The turn is not stored, and the next one carries the lineage."""
    storage = FourMethods(fault=StorageError("full"))
    agent = chat(storage, "1", "2", session_id="s")
    await agent.step("a")
    agent.fork(at_turn=0, new_session_id="f")
    storage.left = 0
    with pytest.raises(StorageError, match="full"):
        await agent.step("b")
    await agent.step("c")

    assert said(chat(storage, session_id="f")) == ["c", "2"]
    assert chat(storage, session_id="f").history().lineage == "forked from s before its first turn"


async def test_a_fork_that_cannot_be_stored_is_none():
    """The error is the storage's, and the same id may be used again."""
    storage = FourMethods(fault=StorageError("full"))
    agent = chat(storage, "1", session_id="s")
    await agent.step("a")
    storage.left = 1
    with pytest.raises(StorageError, match="full"):
        agent.fork(new_session_id="f")

    assert agent.session_id == "s"
    assert len(agent.history("f")) == 0
    assert agent.fork(new_session_id="f") == "f"
    assert said(agent) == ["a", "1"]


async def test_what_a_function_remembers_is_forked_as_it_was(storage):
    """Its state is of the turn that the fork begins after."""

    def count(value, state):
        state["n"] = state.get("n", 0) + 1
        return state["n"]

    agent = Agent(
        "{kind: FunctionNode, name: count}",
        functions=[count],
        state_storage=storage,
        session_id="s",
    )
    for _ in range(3):
        await agent.step("go")
    agent.fork(at_turn=1)

    assert (await agent.step("go")).output == 2
    assert (await agent.step("go", session_id="s")).output == 4


async def test_what_may_not_be_forked_is_said(storage):
    """An unknown session, a turn that is not there, an id that is taken, no session at all."""
    agent = chat(storage, "1", "2", session_id="s")
    await agent.step("a")
    await agent.step("b", session_id="t")

    with pytest.raises(UnknownSession, match="no session 'nobody' with turns"):
        agent.fork("nobody")
    for wrong in (3, -1, True, "1", 1.0):
        with pytest.raises(UsageError, match="from 0 to 1"):
            agent.fork("s", at_turn=wrong)
    for turns in (None, 0):
        with pytest.raises(UsageError, match="there is a session 't' already"):
            agent.fork("s", at_turn=turns, new_session_id="t")
    with pytest.raises(UsageError, match="a session_id is a text"):
        agent.fork("s", new_session_id=7)
    assert agent.session_id == "t"
    with pytest.raises(UsageError, match=r"agent\.fork\(session_id=…\)"):
        chat(storage).fork()
    assert said(agent, "t") == ["b", "2"]


async def test_a_session_may_be_forked_in_the_middle_of_its_turn(storage):
    """On the very thread whose loop runs it: the fork has what is stored, and is open."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def wait(value):
        started.set()
        await go_on.wait()
        return value

    agent = Agent(
        "{kind: FunctionNode, name: wait}",
        functions=[wait],
        state_storage=storage,
        session_id="s",
    )
    work = asyncio.create_task(agent.step("a"))
    await started.wait()
    agent.fork("s", new_session_id="f")
    with pytest.raises(UsageError, match="there is a session 's' already"):
        agent.fork("f", new_session_id="s")
    go_on.set()

    assert (await work).output == "a"
    with pytest.raises(OpenTurn):
        await agent.step("b", session_id="f")
    assert (await agent.retry_turn("f")).output == "a"
    assert (await agent.resume(session_id="f")).output == "a"


async def test_a_function_may_fork_the_session_that_it_runs_in(storage):
    """From its own thread, and from the loop."""

    def plain(value):
        return agent.fork("s", new_session_id="plain")

    async def loop(value):
        return agent.fork("s", new_session_id="loop")

    agent = Agent(
        "{kind: FunctionNode, name: plain, edges: [loop]}\n---\n{kind: FunctionNode, name: loop}",
        functions=[plain, loop],
        state_storage=storage,
        session_id="s",
    )
    async with asyncio.timeout(10):
        assert (await agent.step("a")).output == "loop"
    assert [turn.node_runs for turn in agent.history("plain")] == [0]
    assert [turn.node_runs for turn in agent.history("loop")] == [1]


async def test_a_graph_that_changed_can_be_forked_and_goes_on():
    """Ended turns are ended, and a node keeps its messages."""
    storage = InMemoryStateStorage()
    await chat(storage, "1", session_id="s", name="a").step("a")
    specs = "{kind: LLMNode, name: chat, prompts: {system: Hi}, edges: [end]}\n---\n"
    changed = Agent(
        specs + "{kind: FunctionNode, name: end, func: f}",
        llm=["2"],
        functions={"f": lambda v: v.upper()},
        state_storage=storage,
        name="a",
    )
    changed.fork("s")

    assert (await changed.step("b")).output == "2"
    assert said(changed) == ["a", "1", "b", "2"]


# ── questions ────────────────────────────────────────────────────────────────────────────────────

ASKS = """
{kind: HumanNode, name: person, question: Pay?, yields: {ok: boolean}, edges: [pay]}
---
{kind: FunctionNode, name: pay, func: f}
"""


async def test_a_pending_question_is_answered_in_each_by_itself(storage):
    """One answer in the parent, another one in the fork."""
    agent = Agent(
        ASKS, functions={"f": lambda v: v["ok"]}, state_storage=storage, session_id="s", name="a"
    )
    await agent.step("100 EUR")
    (asked,) = agent.pending()
    agent.fork(new_session_id="f")
    (again,) = agent.pending()

    assert (again.text, again.node) == (asked.text, asked.node)
    assert again.id != asked.id
    with pytest.raises(UsageError, match="no open question"):
        await agent.resume(True, question=asked, session_id="f")
    assert (await agent.resume(False, question=again, session_id="f")).output is False
    assert len(agent.pending(session_id="s")) == 1
    reopened = Agent(ASKS, functions={"f": lambda v: v["ok"]}, state_storage=storage, name="a")
    assert (await reopened.resume(True, question=asked, session_id="s")).output is True


# ── the last turn again ──────────────────────────────────────────────────────────────────────────


async def test_a_failed_turn_is_tried_again_in_a_fork(storage):
    """With the same node and input; the failed one stays."""
    agent = chat(storage, "1", ValueError("down"), "2", session_id="s")
    await agent.step("a")
    with pytest.raises(TurnFailed):
        await agent.step("b")
    result = await agent.retry_turn()

    assert (result.output, result.turn, result.status) == ("2", 2, "completed")
    assert result.session_id == agent.session_id != "s"
    assert said(agent) == ["a", "1", "b", "2"]
    assert [turn.status for turn in agent.history("s")] == ["completed", "failed"]
    assert agent.history().lineage == "forked from s after turn 1"


@pytest.mark.parametrize("ending", ["completed", "cancelled", "asking"])
async def test_a_turn_is_tried_again_however_it_ended(storage, ending):
    """Also the first one, with a mapping as its input, at the node that it entered at."""
    agent = Agent(ASKS, functions={"f": lambda v: "paid"}, state_storage=storage, session_id="s")
    await agent.mesh_call("pay" if ending == "completed" else "person", {"eur": 100})
    if ending == "cancelled":
        await agent.abandon()
    before = agent.history("s")[0]
    again = await agent.retry_turn("s")

    assert again.session_id != "s"
    assert again.status == ("completed" if ending == "completed" else "suspended")
    assert agent.history("s")[0] == before
    (turn,) = agent.history()
    assert (turn.node, json.loads(turn.input)) == (before.node, {"eur": 100})


async def test_what_another_agent_added_is_seen_by_opening_and_trying_again(storage):
    """A view shows what its own kernel knows; opening anew, and another try, what is stored."""
    here, there = (
        Agent("{kind: HumanNode, name: boss}", name="a", session_id="s", state_storage=storage)
        for _ in range(2)
    )
    await here.step("one")
    await here.resume("yes")
    await there.step("two")
    assert len(here.history()) == 1
    assert len((await here.open("s")).history()) == 2
    assert [question.node for question in here.pending()] == ["boss"]
    await there.resume("no")
    await there.step("three")
    await here.retry_turn("s")
    assert [turn.input for turn in here.history()] == ["one", "two", "three"]


async def test_context_is_needed_again():
    """Only its keys were stored; nothing is forked before it is there."""
    seen = []
    agent = Agent(
        "{kind: FunctionNode, name: f, auth: {service_account: {context: {inject: [user]}}}}",
        functions={"f": lambda value, context: seen.append(context["user"])},
        state_storage=InMemoryStateStorage(),
        session_id="s",
    )
    await agent.step("a", context={"user": "u-1"})
    with pytest.raises(ContextMissing, match=r"pass user again: await agent\.retry_turn"):
        await agent.retry_turn()
    assert agent.session_id == "s"
    await agent.retry_turn(context={"user": "u-2"})
    assert seen == ["u-1", "u-2"]


async def test_there_must_be_a_turn_to_try_again():
    """And its node must still be there."""
    agent = chat(InMemoryStateStorage(), "1", session_id="s", name="a")
    with pytest.raises(UsageError, match="no turn that could be tried again"):
        await agent.retry_turn()
    with pytest.raises(UsageError, match="no session is opened yet"):
        await chat(InMemoryStateStorage()).retry_turn()
    await agent.step("a")
    other = Agent(
        "{kind: LLMNode, name: talk}", llm=[], state_storage=agent.state_storage, name="a"
    )
    with pytest.raises(UsageError, match="there is no node 'chat'"):
        await other.retry_turn("s")
    assert other.session_id is None


# ── another process ──────────────────────────────────────────────────────────────────────────────


def test_a_fork_is_there_in_another_process(tmp_path):
    """With its lineage and its messages."""
    agent = chat(DiskCacheStateStorage(tmp_path), "1", "2", session_id="s", name="a")
    agent.run_sync("a")
    agent.run_sync("b")
    agent.fork(at_turn=1, new_session_id="f")
    script = f"""
        from liman_nb import Agent, DiskCacheStateStorage
        agent = Agent({CHAT!r}, llm=["3"], name="a", session_id="f",
                      state_storage=DiskCacheStateStorage({str(tmp_path)!r}))
        agent.run_sync("c")
        print(agent.history().lineage)
        print([m["content"] for m in agent.messages("chat")])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["forked from s after turn 1", "['a', '1', 'c', '3']"]


# ── reading runs nothing ─────────────────────────────────────────────────────────────────────────


async def test_reading_and_forking_call_no_model_and_no_function():
    """With a model and a function that fail when they are called."""

    def never(*args, **kwargs):
        raise AssertionError("called")

    storage = InMemoryStateStorage()
    specs = "{kind: LLMNode, name: chat, edges: [end]}\n---\n{kind: FunctionNode, name: end}"
    first = Agent(
        specs, llm=["1", "2"], functions={"end": lambda v: v}, state_storage=storage, name="a"
    )
    await first.step("a", session_id="s")
    await first.step("b", session_id="s")
    agent = Agent(
        specs, llm=never, functions={"end": never}, state_storage=storage, session_id="s", name="a"
    )
    history = agent.history()
    agent.fork(at_turn=1)

    assert [(t.input, t.outcome) for t in history] == [("a", "1"), ("b", "2")]
    assert [t.node_runs for t in agent.history()] == [2]
    assert agent.load(first.dump("s")) == "s"
