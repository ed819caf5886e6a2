"""A session read as a conversation: what was asked in each turn and what came out at its ends.

What nodes asked a person stands where it was answered; what is still open stands last.

What nodes told each other on the way is in their messages and in the tree.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
_LINE_CAP = 100
_TO_THE_SECOND = len("2026-11-30T14:49:20")
"""Times are shown to the second; what ended within one is told in the order in which it began."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was said.

    Attributes:
        turn: number of the turn.
        who: the node's name; ``you`` for the caller.
        role: ``user``, ``assistant``, ``question`` (to a person), ``fallback`` (in
            place of an answer) or ``error``.
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
        lines = [f"{_speaker(e)}: {visible(e.text, _TEXT_CAP)}" for e in self.entries]
        return "\n".join([self.earlier, *lines] if self.earlier else lines)

    def html(self) -> Markup:
        """The entries, tool calls folded under what they led to."""
        if not self.entries:
            return tag("div", "Nothing was said yet.", style=SMALL)
        return tag("div", small(self.earlier), *map(_entry_html, self.entries))


def conversation(
    tree: Tree, turns: int = TURNS_LIMIT, running: Collection[str] = ()
) -> Conversation:
    """What was said in the latest turns of a session.

    Args:
        tree: the session.
        turns: how many of its turns at most.
        running: ids of the executors that run at this moment, and so ask nobody.
    """
    latest = tree.turns[-turns:]
    asked: dict[int, list[Executor]] = defaultdict(list)
    for executor in tree.executors.values():
        if executor.answers or (executor.question and executor.id not in running):
            asked[executor.turn].append(executor)
    entries = tuple(e for turn in latest for e in entries_of(tree, turn, asked[turn.number]))
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


def entries_of(tree: Tree, turn: Turn, asked: Sequence[Executor] = ()) -> Iterator[Entry]:
    """What was said in a turn.

    Args:
        tree: the session.
        turn: the turn.
        asked: the turn's executors that asked a person.
    """
    first = tree.executors[turn.executor]
    yield Entry(turn.number, "you", "user", first.started_at, said_text(first.input))
    said = [entry for executor in asked for entry in _answered(executor)]
    for executor in _outside_calls(tree, first):
        if not _led_on(executor) and not _is_an_answer(executor):
            said += _end(tree, executor)
    yield from sorted(said, key=lambda entry: entry.at[:_TO_THE_SECOND])
    for executor in asked:
        if executor.question:
            text = value_text(executor.question.text)
            yield Entry(turn.number, executor.node, "question", "", text)
    if turn.cancelled:
        yield Entry(turn.number, "cancelled", "error", first.ended_at, visible(turn.cancelled))


def _led_on(executor: Executor) -> bool:
    return any(transition.outcome == "fired" for transition in executor.transitions)


def _is_an_answer(executor: Executor) -> bool:
    """Whether what came out is a person's answer, which is told as that."""
    return executor.node_type == "HumanNode" and executor.error is None and bool(executor.answers)


def _answered(executor: Executor) -> Iterator[Entry]:
    """The questions that were answered, each with its answer."""
    for answer in executor.answers:
        asked = value_text(answer.question)
        yield Entry(executor.turn, executor.node, "question", answer.at, asked)
        if not answer.late:
            yield Entry(executor.turn, "you", "user", answer.at, said_text(answer.value))
        elif answer.missing:
            text = "The deadline passed, and there was no fallback."
            yield Entry(executor.turn, "no answer", "error", answer.at, text)
        else:
            text = f"The deadline passed. The fallback was used: {said_text(answer.value)}"
            yield Entry(executor.turn, "no answer", "fallback", answer.at, text)


def said_text(value: Any) -> str:
    """What somebody said, or was told: text as it is, anything else on one line where it fits."""
    if isinstance(value, str):
        return value_text(value)
    line = json_text(value, _LINE_CAP)
    return line if len(line) <= _LINE_CAP else value_text(value)


def _end(tree: Tree, executor: Executor) -> Iterator[Entry]:
    """What came out of an executor that led no further."""
    if executor.error is not None:
        text = f"{executor.error.type}: {executor.error.message}"
        yield Entry(executor.turn, executor.node, "error", executor.ended_at, value_text(text))
    elif executor.output is not None:
        calls = tuple(_call(call) for call in _calls(tree, executor))
        text = said_text(executor.output)
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


def _speaker(entry: Entry) -> str:
    asks = " asks" if entry.role == "question" else ""
    return f"{one_line(entry.who)}{asks}"


def _entry_html(entry: Entry) -> Markup:
    at = "" if entry.role == "question" else clock(entry.at)  # when it was asked is not kept
    who = f"{_speaker(entry)}{at and f' · {at}'}"
    calls = entry.calls[:CALLS_LIMIT]
    hidden = more(len(entry.calls) - len(calls), "more tool calls")
    body = join(text_block(entry.text), *map(call_html, calls), hidden)
    return bubble(who, tag("div", body), role=entry.role)
