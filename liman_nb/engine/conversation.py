"""A session's conversation: who said what, in the order of the journal. Pure: read off the tree.

The entries have the fields that LeafMesh's page on sessions prints, and no other. Nothing of this
is stored on its own: every entry follows from a row, so it is written in the same commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from liman_nb.engine.ids import is_join
from liman_nb.engine.messages import Message, as_text, error_text
from liman_nb.engine.starting import handed_on
from liman_nb.engine.tree import Executor, Tree

Role = Literal["user", "assistant", "system"]
EntryType = Literal["user_message", "agent_response", "mesh_call", "tool_result"]

RECENT_TURNS = 20
"""Turns of the session's conversation that an agent with ``memory: session`` is shown."""

_GIVEN, _SAID, _CALLED = range(3)
"""The order within a row: the input of a turn, what a node said, the first call of another one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a conversation.

    Attributes:
        role: ``user`` for people, ``assistant`` for agents, ``system`` for what passes between
            agents and tools.
        content: the text; anything else as JSON.
        timestamp: UTC, ISO 8601 with ``Z``.
        agent_name: the node that it is about: the one that was spoken to, that answered, that
            called another one, or the tool.
        type: a person's message, an agent's answer, a call of another agent with what was handed
            on, or a tool's result.
    """

    role: Role
    content: str
    timestamp: str
    agent_name: str
    type: EntryType

    def as_dict(self) -> dict[str, str]:
        """The entry as a mapping."""
        return asdict(self)


def conversation(tree: Tree) -> list[Entry]:
    """Every entry of a session, in order."""
    placed = [
        placed
        for executor in tree.executors.values()
        if executor.id != tree.root
        for placed in _entries(tree, executor)
    ]
    return [entry for _, entry in sorted(placed, key=lambda one: one[0])]


def _entries(tree: Tree, executor: Executor) -> Iterator[tuple[tuple[int, int], Entry]]:
    """The entries of one executor, each with its place: a row's number, and one within the row."""
    if executor.parent == tree.root:
        asked = Entry(
            "user",
            as_text(executor.input),
            executor.started_at,
            executor.node,
            "user_message",
        )
        yield (executor.started_row, _GIVEN), asked
    if not executor.runs or executor.calls or executor.status == "idle":
        return
    said = _said(executor)
    if said is not None:
        yield (executor.ran_row - 1, _SAID), said
    for position, record in enumerate(executor.transitions):
        if record.outcome == "fired":
            handed = as_text(handed_on(executor))
            call = Entry("system", handed, executor.ended_at, executor.node, "mesh_call")
            yield (executor.ran_row - 1, _CALLED + position), call


def _said(executor: Executor) -> Entry | None:
    """What the executor's node said; nothing when a node that is no tool failed."""
    at, node = executor.ended_at, executor.node
    if executor.called:
        result = as_text(executor.output) if executor.error is None else _failure(executor)
        return Entry("system", result, at, node, "tool_result")
    if executor.error is not None:
        return None
    text = executor.says if executor.says is not None else as_text(executor.output)
    if executor.node_type == "HumanNode":
        return Entry("user", text, at, node, "user_message")
    if executor.node_type == "ToolNode":
        return Entry("system", text, at, node, "tool_result")
    return Entry("assistant", text, at, node, "agent_response")


def _failure(executor: Executor) -> str:
    return error_text(executor.error) if executor.error is not None else ""


# ── what an agent is shown of it ─────────────────────────────────────────────────────────────────


def recent_turns(tree: Tree, executor: Executor) -> list[Message]:
    """The session's recent conversation as user and assistant turns, before an executor's input.

    It is the conversation as of the executor's own beginning, whatever has happened beside it
    since: the turns before this one, and what led from this turn's input to the executor. What its
    parent said, an agent or a person, is its input, and does not stand twice; a join's input is
    what its sources said.
    """
    first = max(1, executor.turn - RECENT_TURNS)
    line = {e.id for e in _ancestors(tree, executor)}
    speaker = None if is_join(executor.via) else executor.parent
    seen = [
        (place, entry)
        for other in tree.executors.values()
        if other.id != tree.root and first <= other.turn
        if other.turn < executor.turn or other.id in line
        for place, entry in _entries(tree, other)
        if entry.type in ("user_message", "agent_response")
        if other.id != speaker or place[1] == _GIVEN
    ]
    return [_message(entry, executor.node) for _, entry in sorted(seen, key=lambda one: one[0])]


def _ancestors(tree: Tree, executor: Executor) -> Iterator[Executor]:
    """The executors above, without the root."""
    parent = tree.executors[executor.parent or tree.root]
    while parent.parent is not None:
        yield parent
        parent = tree.executors[parent.parent]


def _message(entry: Entry, reader: str) -> Message:
    """An entry as a message to an agent; what another agent said begins with its name."""
    own = entry.role == "user" or entry.agent_name == reader
    text = entry.content if own else f"[{entry.agent_name}] {entry.content}"
    return {"role": entry.role, "content": text}


def yields_by_agent(tree: Tree) -> Mapping[str, Any]:
    """The latest structured output of each node of a session."""
    given = [e for e in tree.executors.values() if isinstance(e.output, dict) and not e.called]
    ordered = sorted((e for e in given if e.id != tree.root), key=lambda e: e.ran_row)
    return {e.node: e.output for e in ordered}
