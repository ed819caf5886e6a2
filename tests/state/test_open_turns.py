"""How many node runs a turn still has to come is read off its rows, without the tree."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from liman_nb import Agent, InMemoryStateStorage, call
from liman_nb.engine.loading import tree_of
from liman_nb.errors import TurnFailed
from liman_nb.state.open_turns import RunsToCome, runs_to_come
from liman_nb.state.rows import dump_row

CHAT = "{kind: LLMNode, name: chat, tools: [add, fail]}"

FAN_OUT = """
{kind: FunctionNode, name: start, edges: [one, two, three]}
---
{kind: FunctionNode, name: one, func: start, edges: [four]}
---
{kind: FunctionNode, name: two, func: start, edges: [four]}
---
{kind: FunctionNode, name: three, func: fail}
---
{kind: FunctionNode, name: four, func: start}
"""

LOOP = """
kind: FunctionNode
name: grow
edges: [{target: grow, when: "$len(output) < 4"}]
"""

HANDLED = """
kind: FunctionNode
name: lose
func: fail
edges: [{target: start, when: "$is_error('ValueError')"}]
---
{kind: FunctionNode, name: start}
"""

HANGS = """
{kind: FunctionNode, name: start, edges: [hang, one]}
---
{kind: FunctionNode, name: hang}
---
{kind: FunctionNode, name: one, func: start}
"""


def start(value):
    """Passes on what it gets."""
    return value


def grow(value: str) -> str:
    """One letter more."""
    return f"{value}x"


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail(value: str = ""):
    """Never succeeds."""
    raise ValueError(value)


async def hang(value):
    """Never ends."""
    await asyncio.sleep(60)


TOOL_ROUNDS = [[call("add", a=1, b=2), call("fail"), call("unknown")], call("add", a=3, b=4), "7"]


@pytest.mark.parametrize(
    ("specs", "replies", "inputs"),
    [
        (CHAT, ["hello", "again"], ["hi", "hi"]),
        (CHAT, [*TOOL_ROUNDS, ValueError("no"), *TOOL_ROUNDS], ["hi", "hi", "hi"]),
        (FAN_OUT, [], ["hi", "hi"]),
        (LOOP, [], ["", "xx", "xxxxxxx"]),
        (HANDLED, [], ["hi"]),
        (HANGS, [], ["hi", "hi"]),
    ],
    ids=["chat", "tools", "fan-out", "loop", "handled failure", "cancelled"],
)
async def test_after_every_row_the_number_is_that_of_the_tree(specs, replies, inputs):
    """It is 0 exactly when no turn is open."""
    storage = InMemoryStateStorage()
    agent = Agent(
        specs,
        llm=replies,
        state_storage=storage,
        tools=[add, fail],
        functions=[start, grow, hang],
        session_id="s",
    )
    for value in inputs:
        await _turn(agent, value, stops=specs is HANGS)
    (line,) = await storage.list_sessions()
    rows = await storage.load_rows(line.root)
    number = 0
    for length, row in enumerate(rows, start=1):
        change = runs_to_come([dump_row(row)])
        number = change.runs if change.anew else number + change.runs
        tree = tree_of(line.root, rows[:length])
        waiting = [e for e in tree.executors.values() if e.status == "suspended" and e.calls]
        assert number == len(tree.idle) + len(waiting)
        assert (number > 0) == (tree.status not in {"completed", "failed", "cancelled"})
    assert number == 0
    assert len(rows) > len(inputs)


async def _turn(agent: Agent, value: str, stops: bool) -> None:
    """A turn, whatever it comes to."""
    turn = asyncio.create_task(agent.step(value))
    if stops:
        await asyncio.wait([turn], timeout=0.1)
        assert agent.stop()
    with suppress(TurnFailed):
        await turn


async def test_the_rows_of_one_commit_add_up():
    """A turn's beginning in the middle makes what was before not count."""
    storage = InMemoryStateStorage()
    agent = Agent(FAN_OUT.replace("fail", "start"), state_storage=storage, functions=[start])
    await agent.step("hi")
    (line,) = await storage.list_sessions()
    turn, first, *others = map(dump_row, await storage.load_rows(line.root))
    assert runs_to_come([]) == RunsToCome(anew=False, runs=0)
    assert runs_to_come([turn, first]) == RunsToCome(anew=True, runs=3)
    assert runs_to_come([first]) == RunsToCome(anew=False, runs=2)
    assert runs_to_come([first, turn]) == RunsToCome(anew=True, runs=1)
    assert runs_to_come([turn, first, *others]) == RunsToCome(anew=True, runs=0)
