"""Turns that did not finish: what each kind of them says to `step`, `resume` and `abandon`.

One table, ``KINDS``; every test goes through all of it. Each kind is left behind by one agent and
found by another one, as after a restart.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from four_methods import FourMethods, Journal, Killed, seen

from liman_nb import Agent, ScriptedLLM, call
from liman_nb.engine.tree import ENDED
from liman_nb.errors import (
    ContextMissing,
    LimanError,
    OpenTurn,
    SpecChanged,
    SpecError,
    TurnFailed,
)

WORK = """
{kind: FunctionNode, name: start, func: echo, edges: [work]}
---
{kind: FunctionNode, name: work, func: once}
"""

ASK = """
{kind: FunctionNode, name: start, func: echo, edges: [ask, work]}
---
{kind: HumanNode, name: ask, question: "Really?"}
---
{kind: FunctionNode, name: work, func: once}
"""

FAIL = """
{kind: FunctionNode, name: start, func: echo, edges: [fail]}
---
{kind: FunctionNode, name: fail, func: boom}
"""

OTHER = WORK.replace("name: work", "name: work, description: other")

EXCHANGE = """
{kind: LLMNode, name: chat, tools: [look]}
---
{kind: ToolNode, name: look, approval: true}
"""


def echo(value):
    """Hands on its input."""
    return value


def boom(value):
    """Fails."""
    raise ValueError("broke")


class Once:
    """A function that counts its calls, over all processes of a test."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, value):
        """Count."""
        self.calls += 1
        return f"{value} done"


@dataclass
class World:
    """What the processes of a test share.

    Attributes:
        storage: their storage.
        once: the function whose calls count.
    """

    storage: FourMethods | Journal
    once: Once = field(default_factory=Once)

    def agent(self, specs: str, **options: Any) -> Agent:
        """A new process."""
        functions = {"echo": echo, "once": self.once, "boom": boom}
        options.setdefault("functions", functions)
        return Agent(specs, state_storage=self.storage, name="n", session_id="s", **options)


async def _died(world: World) -> None:
    def last(value):
        world.storage.left = 0  # the next save ends the process
        return value

    agent = world.agent(WORK, functions={"echo": echo, "once": last})
    with pytest.raises(Killed):
        await agent.step("one")


async def _with_context(world: World) -> None:
    agent = world.agent(ASK)
    await agent.step("one", context={"user": 1, "org": 2})


async def _suspended(world: World) -> None:
    assert (await world.agent(ASK).step("one")).status == "suspended"


async def _failed(world: World) -> None:
    with pytest.raises(TurnFailed):
        await world.agent(FAIL).step("one")


async def _cancelled(world: World) -> None:
    def stop(value):
        agent.stop()
        return value

    functions = {"echo": echo, "once": stop, "boom": boom}
    agent = world.agent(WORK, functions=functions)
    assert (await agent.step("one")).status == "cancelled"


async def _in_an_exchange(world: World) -> None:
    def look() -> str:
        return "seen"

    agent = world.agent(EXCHANGE, llm=ScriptedLLM([call("look")]), tools=[look], functions={})
    assert (await agent.step("one")).status == "suspended"


@dataclass(frozen=True)
class Kind:
    """A kind of turn that did not finish.

    Attributes:
        leave: leaves it behind.
        specs: what the next process loads.
        open: whether it is still open then.
        resume: what `resume()` raises then; ``None`` when it goes on.
        says: what its message says.
        after: the status after `resume()`, or after an answer or context that is missing.
        work: how often the counted function has run in the end, all processes together.
        options: what the next process is made with besides.
        given: what makes `resume` go on where it does not by itself.
    """

    leave: Callable[[World], Awaitable[None]]
    specs: str = WORK
    open: bool = True
    resume: type[LimanError] | None = None
    says: str = ""
    after: str = "completed"
    work: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)


KINDS = {
    # The process ended. What was committed stays; the run that was in flight runs.
    "died": Kind(_died),
    # A person is asked. Without an answer it waits on.
    "suspended": Kind(_suspended, ASK, after="suspended"),
    # It failed: that is an end. The next step just begins another turn.
    "failed": Kind(
        _failed, FAIL, open=False, resume=OpenTurn, says="has no open turn to resume", work=0
    ),
    # It was stopped: that is an end, too.
    "cancelled": Kind(
        _cancelled, open=False, resume=OpenTurn, says="has no open turn to resume", work=0
    ),
    # Its graph is another one now: to go on with it would be guessing.
    "changed graph": Kind(
        _died, OTHER, resume=SpecChanged, says="was begun with other specs", work=0
    ),
    # Context is never stored: its keys are, so that the error can name what is missing.
    "missing context": Kind(
        _with_context,
        ASK,
        resume=ContextMissing,
        says="with the context keys org, user. .* pass org, user again",
        after="suspended",
        given={"context": {"user": 1, "org": 2}},
    ),
    # A function that the specs name is not there in this process.
    "missing function": Kind(
        _died,
        resume=SpecError,
        says="once",
        work=0,
        options={"functions": {"echo": echo}, "strict": False},
    ),
}

OPEN = [name for name, kind in KINDS.items() if kind.open]


@pytest.fixture(params=[FourMethods, Journal])
def world(request) -> World:
    """Both kinds of storage."""
    return World(request.param())


def tree_of(agent: Agent):
    """The session's tree."""
    return agent._read(None, lambda tree, running: tree)


@pytest.fixture(params=KINDS)
def kind(request) -> Kind:
    """Every kind."""
    return KINDS[request.param]


async def found(world: World, kind: Kind) -> Agent:
    """A turn of this kind, found by a new process, which ran nothing of it by opening it."""
    await kind.leave(world)
    calls = world.once.calls
    agent = world.agent(kind.specs, **kind.options)
    await agent.open("s")
    assert world.once.calls == calls
    assert (tree_of(agent).status not in ENDED) == kind.open
    return agent


@pytest.mark.parametrize("name", OPEN)
async def test_step_is_refused_by_an_open_turn_and_shows_both_ways_on(world, name):
    """Nothing runs, and nothing is stored of what was refused."""
    agent = await found(world, KINDS[name])
    calls, before = world.once.calls, seen(tree_of(agent))
    wanted = SpecError if name == "missing function" else OpenTurn
    with pytest.raises(wanted) as refused:
        await agent.step("two")
    if wanted is OpenTurn:
        assert "await agent.resume(" in str(refused.value)
        assert "await agent.abandon()" in str(refused.value)
    assert world.once.calls == calls
    assert seen(tree_of(agent)) == before


@pytest.mark.parametrize("name", [n for n in KINDS if n not in OPEN])
async def test_step_begins_another_turn_after_one_that_ended_somehow(world, name):
    """What failed or was stopped closes itself."""
    await found(world, KINDS[name])
    result = await world.agent(WORK).step("two")
    assert (result.turn, result.output) == (2, "two done")


async def test_resume_goes_on_or_says_why_not(world, kind):
    """What it refuses stays as it is."""
    agent = await found(world, kind)
    before = seen(tree_of(agent))
    if kind.resume is not None:
        with pytest.raises(kind.resume, match=kind.says):
            await agent.resume()
        assert seen(tree_of(agent)) == before
        if not kind.given:
            return
    result = await agent.resume(**kind.given)
    assert (result.status, world.once.calls) == (kind.after, kind.work)


@pytest.mark.parametrize("name", OPEN)
async def test_abandon_closes_it_whatever_it_lacks(world, name):
    """Another turn may begin; and closing is all that it does."""
    agent = await found(world, KINDS[name])
    calls = world.once.calls
    await agent.abandon()
    assert tree_of(agent).status == "cancelled"
    assert agent.pending() == ()
    assert world.once.calls == calls
    await agent.abandon()
    assert len(tree_of(agent).turns) == 1
    again = world.agent(WORK)
    assert (await again.step("two")).output == "two done"
    assert (await again.step("three")).turn == 3


@pytest.mark.parametrize("name", OPEN)
async def test_an_agent_may_abandon_open_turns_by_itself(world, name):
    """With `on_open_turn="abandon"`, `step` begins another turn at once."""
    kind = KINDS[name]
    await kind.leave(world)
    agent = world.agent(WORK, on_open_turn="abandon")
    assert (await agent.step("two")).output == "two done"
    assert [bool(turn.cancelled) for turn in tree_of(agent).turns] == [True, False]


@pytest.mark.parametrize("name", [n for n in OPEN if n != "missing function"])
async def test_an_agent_may_resume_open_turns_by_itself(world, name):
    """With `on_open_turn="resume"`; a person's question cannot be skipped, so it still refuses."""
    kind = KINDS[name]
    await kind.leave(world)
    agent = world.agent(kind.specs, on_open_turn="resume", **kind.options)
    refusal = kind.resume or (OpenTurn if kind.after == "suspended" else None)
    if refusal is None:
        result = await agent.step("two")
        assert (result.turn, result.output, world.once.calls) == (2, "two done", 2)
        return
    with pytest.raises(refusal):
        await agent.step("two")
    assert len(tree_of(agent).turns) == 1


async def test_an_answer_finishes_a_suspended_turn_and_the_next_step_is_free(world):
    """Also for an agent that resumes by itself."""
    agent = await found(world, KINDS["suspended"])
    assert (await agent.resume("yes")).outputs == (("ask", "yes"), ("work", "one done"))
    assert (await agent.step("two")).status == "suspended"
    assert world.once.calls == 2


async def test_an_abandoned_exchange_leaves_a_history_that_a_model_takes(world):
    """The call that waited for approval is answered as cancelled."""
    await _in_an_exchange(world)

    def look() -> str:
        return "seen"

    agent = world.agent(EXCHANGE, llm=ScriptedLLM(["hello"]), tools=[look], functions={})
    await agent.open("s")
    await agent.abandon()
    assert (await agent.step("two")).output == "hello"
    messages = agent.messages("chat")
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert "cancelled" in messages[2]["content"]


async def test_context_is_needed_for_an_answer_too(world):
    """The question stays open until it is there."""
    agent = await found(world, KINDS["missing context"])
    with pytest.raises(ContextMissing, match="pass org again"):
        await agent.resume("yes", context={"user": 1})
    result = await agent.resume("yes", context={"user": 1, "org": 2})
    assert result.status == "completed"


async def test_specs_that_changed_refuse_an_answer_too(world):
    """The old ones still take it."""
    await _suspended(world)
    changed = world.agent(ASK.replace("Really?", "Sure?"))
    await changed.open("s")
    with pytest.raises(SpecChanged):
        await changed.resume("yes")
    assert (await world.agent(ASK).resume("yes")).status == "completed"
