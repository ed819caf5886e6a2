"""Every commit says whether its session's turn is open then: a storage lets no open one expire."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from liman_nb import Agent, DiskCacheStateStorage, InMemoryStateStorage, call
from liman_nb.engine.loading import tree_of
from liman_nb.engine.tree import ENDED
from liman_nb.errors import TurnFailed

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

TOOL_ROUNDS = [[call("add", a=1, b=2), call("fail"), call("unknown")], call("add", a=3, b=4), "7"]


def start(value):
    """Passes on what it gets."""
    return value


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail(value: str = ""):
    """Never succeeds."""
    raise ValueError(value)


async def hang(value):
    """Never ends."""
    await asyncio.sleep(60)


class Recording(InMemoryStateStorage):
    """Knows what commits said, by the number of rows that were stored then."""

    def __init__(self):
        super().__init__()
        self.said = {}

    async def commit(self, commit):
        """Note it."""
        await super().commit(commit)
        self.said[commit.first + len(commit.rows)] = commit.open


@pytest.mark.parametrize(
    ("specs", "replies"),
    [
        (CHAT, ["hello", "again"]),
        (CHAT, [*TOOL_ROUNDS, *TOOL_ROUNDS]),
        (CHAT, [ValueError("no"), *TOOL_ROUNDS]),
        (FAN_OUT, []),
        (HANDLED, []),
        (HANGS, []),
    ],
    ids=["chat", "tools", "failed model", "fan-out", "handled failure", "cancelled"],
)
async def test_a_commit_says_what_its_rows_add_up_to(specs, replies):
    """Open from a turn's first row to the one before its last."""
    storage = Recording()
    functions = [start, hang, add, fail]
    agent = Agent(specs, llm=replies, state_storage=storage, functions=functions, tools=[add, fail])
    for value in ("one", "two"):
        turn = asyncio.create_task(agent.step(value))
        if specs is HANGS:
            await asyncio.wait([turn], timeout=0.1)
            assert agent.stop()
        with suppress(TurnFailed):
            await turn
    (line,) = await storage.list_sessions()
    rows = await storage.load_rows(line.root)
    assert storage.said == {
        length: tree_of(line.root, rows[:length]).status not in ENDED for length in storage.said
    }
    assert storage.said[1] is True
    assert storage.said[len(rows)] is False


async def test_a_turn_that_waits_for_a_person_does_not_expire(tmp_path):
    """It is answered long after an ended turn would have expired; then its time begins."""
    now = [1e9]
    times = {"session_ttl": 100, "clock": lambda: now[0]}
    person = "{kind: HumanNode, name: person, question: Well?}"
    for storage in (InMemoryStateStorage(**times), DiskCacheStateStorage(tmp_path, **times)):
        asked = await Agent(person, state_storage=storage, session_id="s").step("hi")
        assert asked.status == "suspended"
        now[0] += 1e6
        assert await storage.prune() == []
        result = await Agent(person, state_storage=storage, session_id="s").resume("fine")
        assert (result.status, result.output) == ("completed", "fine")
        now[0] += 99
        assert await storage.prune() == []
        now[0] += 1
        assert await storage.prune() == [str(result.execution_id)]
        await storage.close()
