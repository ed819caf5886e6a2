"""A session read as a conversation: what was asked in each turn and what came out at its ends.

What nodes told each other on the way is in their messages and in the tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from liman_nb.engine.tree import Executor, Tree, Turn
from liman_nb.views.elements import SMALL, count, join, more, small, tag, text_block
from liman_nb.views.escape import json_text, one_line, value_text, visible
from liman_nb.views.messages import ShownCall, bubble, call_html
from liman_nb.views.moments import clock

TURNS_LIMIT = 20
ENTRIES_LIMIT = 60
CALLS_LIMIT = 20

_TEXT_CAP = 1_000

_CALL_CAP = 2_000
_TO_THE_SECOND = len("2026-11-30T14:49:20")
"""Times are shown to the second; what ended within one is told in the order in which it began."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was said.

    Attributes:
        turn: number of the turn.
        who: the node's name; ``you`` for the caller.
        role: ``user``, ``assistant`` or ``error``.
        at: when, UTC, ISO 8601.
        text: what, cut to what is shown.
        calls: the tool calls it took.
    """

    turn: int
    who: str
    role: str
    at: str
    text: str
    calls: tuple[ShownCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said in the latest turns.

    Attributes:
        entries: oldest first.
        earlier: what was left out, in words; empty when nothing was.
    """

    entries: tuple[Entry, ...]
    earlier: str

    def text(self) -> str:
        """A paragraph per entry."""
        lines = [f"{one_line(e.who)}: {visible(e.text, _TEXT_CAP)}" for e in self.entries]
        return "\n".join([self.earlier, *lines] if self.earlier else lines)

    def html(self) -> Markup:
        """The entries, tool calls folded under what they led to."""
        if not self.entries:
            return tag("div", "Nothing was said yet.", style=SMALL)
        return tag("div", small(self.earlier), *map(_entry_html, self.entries))


def conversation(tree: Tree, turns: int = TURNS_LIMIT) -> Conversation:
    """What was said in the latest turns of a session.

    Args:
        tree: the session.
        turns: how many of its turns at most.
    """
    latest = tree.turns[-turns:]
    entries = tuple(entry for turn in latest for entry in entries_of(tree, turn))
    left_out = [
        count(number, word)
        for number, word in (
            (len(tree.turns) - len(latest), "earlier turn"),
            (len(entries) - ENTRIES_LIMIT, "earlier entry"),
        )
        if number > 0
    ]
    earlier = f"… {' and '.join(left_out)}" if left_out else ""
    return Conversation(entries[-ENTRIES_LIMIT:], earlier)


def entries_of(tree: Tree, turn: Turn) -> Iterator[Entry]:
    """What was asked in a turn, and what came out at its ends so far."""
    first = tree.executors[turn.executor]
    yield Entry(turn.number, "you", "user", first.started_at, value_text(first.input))
    branches = [e for e in _outside_calls(tree, first) if not _led_on(e)]
    for executor in sorted(branches, key=lambda e: e.ended_at[:_TO_THE_SECOND]):
        yield from _end(tree, executor)
    if turn.cancelled:
        yield Entry(turn.number, "cancelled", "error", first.ended_at, visible(turn.cancelled))


def _led_on(executor: Executor) -> bool:
    return any(transition.outcome == "fired" for transition in executor.transitions)


def _end(tree: Tree, executor: Executor) -> Iterator[Entry]:
    """What came out of an executor that led no further."""
    if executor.error is not None:
        text = f"{executor.error.type}: {executor.error.message}"
        yield Entry(executor.turn, executor.node, "error", executor.ended_at, value_text(text))
    elif executor.output is not None:
        calls = tuple(_call(call) for call in _calls(tree, executor))
        text = value_text(executor.output)
        yield Entry(executor.turn, executor.node, "assistant", executor.ended_at, text, calls)


def _outside_calls(tree: Tree, first: Executor) -> Iterator[Executor]:
    """An executor and everything its edges led to, without the branches of tool calls."""
    waiting = deque([first])
    while waiting:
        executor = waiting.popleft()
        yield executor
        children = [tree.executors[child] for child in executor.children]
        waiting += [child for child in children if not child.called]


def _calls(tree: Tree, executor: Executor) -> Iterator[Executor]:
    children = (tree.executors[child] for child in executor.children)
    return (child for child in children if child.called)


def _call(executor: Executor) -> ShownCall:
    error = executor.error
    if error is not None:
        result: str | None = f"{error.type}: {error.message}"
    else:
        result = value_text(executor.output, _CALL_CAP) if executor.runs else None
    return ShownCall(executor.node, json_text(executor.input, _CALL_CAP), result)


def _entry_html(entry: Entry) -> Markup:
    at = clock(entry.at)
    who = f"{one_line(entry.who)}{at and f' · {at}'}"
    calls = entry.calls[:CALLS_LIMIT]
    hidden = more(len(entry.calls) - len(calls), "more tool calls")
    body = join(text_block(entry.text), *map(call_html, calls), hidden)
    return bubble(who, tag("div", body), role=entry.role)
