"""The turns of a session, one by one, and which session it was forked from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from markupsafe import Markup

from liman_nb.engine.tree import ENDED, Tree, Turn
from liman_nb.views.bundles import View
from liman_nb.views.conversation import entries_of, said_text
from liman_nb.views.elements import (
    SMALL,
    card,
    code,
    count,
    header,
    join,
    more,
    part,
    rows,
    small,
    status_chip,
    tag,
    text_block,
)
from liman_nb.views.escape import one_line, visible
from liman_nb.views.moments import date_and_clock
from liman_nb.views.palette import StatusWord
from liman_nb.views.statuses import executor_status

HTML_LIMIT = 100
TEXT_LIMIT = 400

_TEXT_CAP = 300
_ENDS_LIMIT = 10


@dataclass(frozen=True, slots=True)
class TurnInfo:
    """A turn of a session.

    Attributes:
        number: 1-based; ``agent.fork(at_turn=number)`` takes over the turns up to it.
        node: name of the node that it entered at.
        input: what it was given, as text, shortened.
        status: ``completed``, ``failed``, ``cancelled``, ``suspended`` while a person is asked,
            ``idle`` or ``suspended`` where it was interrupted, ``running`` while a node runs.
        outcome: what it came to, as text, shortened: outputs, errors, or the questions that wait.
        node_runs: how many node runs it took.
        tokens: of its models, prompts and replies, as the servers counted them.
        started_at: when it began, UTC, ISO 8601.
        ended_at: when its last node run ended; empty while it is open.
    """

    number: int
    node: str
    input: str
    status: str
    outcome: str
    node_runs: int
    tokens: int
    started_at: str
    ended_at: str


class HistoryView(View, Sequence[TurnInfo]):
    """The turns of a session, oldest first."""

    def __init__(self, tree: Tree, running: Collection[str] = ()) -> None:
        """Take the turns as they are now.

        Args:
            tree: the session.
            running: ids of the executors that run at this moment.
        """
        tokens, ended = Counter[int](), dict[int, str]()
        for e in tree.executors.values():
            if e.id != tree.root:
                tokens[e.turn] += e.input_tokens + e.output_tokens
                ended[e.turn] = max(ended.get(e.turn, ""), e.ended_at)
        runs = {tree.executors[i].turn for i in running if i in tree.executors}
        self._session = one_line(tree.session_id)
        self.lineage = lineage_text(tree)
        self._turns = tuple(
            _info(tree, turn, tokens[turn.number], ended.get(turn.number, ""), turn.number in runs)
            for turn in tree.turns
        )
        self._words: tuple[StatusWord, ...] = tuple(
            "running" if turn.number in runs else executor_status(tree.executors[turn.executor])
            for turn in tree.turns
        )

    def __len__(self) -> int:
        return len(self._turns)

    @overload
    def __getitem__(self, index: int) -> TurnInfo: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TurnInfo, ...]: ...
    def __getitem__(self, index: int | slice) -> TurnInfo | tuple[TurnInfo, ...]:
        return self._turns[index]

    def text(self) -> str:
        """Three lines per turn, oldest first, cut at the older end."""
        hidden = len(self) - TEXT_LIMIT
        earlier = [f"… {hidden:,} earlier"] if hidden > 0 else []
        shown = list(zip(self._turns, self._words, strict=True))[-TEXT_LIMIT:]
        lines = [line for turn, word in shown for line in _lines(turn, word)]
        return "\n".join([" - ".join(filter(None, self._heads())), *earlier, *lines])

    def html(self) -> Markup:
        """A card with the latest turns first."""
        title, lineage = self._heads()
        return card(header(title, facts=lineage), part(self.body()))

    def body(self) -> Markup:
        """The latest turns first, to stand in a card."""
        if not self._turns:
            return tag("div", "No turn yet.", style=SMALL)
        shown = list(zip(self._turns, self._words, strict=True))[-HTML_LIMIT:]
        latest = (_row(turn, word) for turn, word in reversed(shown))
        return join(rows(latest), more(len(self) - HTML_LIMIT, "earlier turns"))

    def _heads(self) -> tuple[str, str]:
        name = f"History of {self._session}" if self._session else "History"
        return f"{name} ({len(self):,})", self.lineage


def lineage_text(tree: Tree) -> str:
    """Which session a session was forked from, in words; empty for one that was not."""
    lineage = tree.lineage
    if lineage is None:
        return ""
    after = f"after turn {lineage.turns:,}" if lineage.turns else "before its first turn"
    return f"forked from {one_line(lineage.session_id)} {after}"


def _info(tree: Tree, turn: Turn, tokens: int, ended_at: str, is_running: bool) -> TurnInfo:
    top = tree.executors[turn.executor]
    return TurnInfo(
        number=turn.number,
        node=top.node,
        input=visible(said_text(top.input), _TEXT_CAP),
        status="running" if is_running else top.status,
        outcome=_outcome(tree, turn),
        node_runs=turn.runs,
        tokens=tokens,
        started_at=top.started_at,
        ended_at=ended_at if top.status in ENDED else "",
    )


def _outcome(tree: Tree, turn: Turn) -> str:
    """What came out at the turn's ends, in the order of a conversation, and what is asked."""
    said = [e.text for e in entries_of(tree, turn) if e.role != "user"]
    asking = [tree.executors[identity] for identity in tree.asking]
    said += [f"asks: {e.question.text}" for e in asking if e.turn == turn.number and e.question]
    hidden = len(said) - _ENDS_LIMIT
    shown = [*said[:_ENDS_LIMIT], *([f"… {hidden:,} more"] if hidden > 0 else [])]
    return visible("\n".join(shown), _TEXT_CAP)


def _facts(turn: TurnInfo) -> str:
    facts = (
        date_and_clock(turn.started_at),
        count(turn.node_runs, "node run"),
        count(turn.tokens, "token"),
    )
    return " · ".join(filter(None, facts))


def _lines(turn: TurnInfo, word: StatusWord) -> Iterator[str]:
    yield f"  {turn.number:,} {one_line(turn.node)} - {word.upper()} ({_facts(turn)})"
    yield f"      in: {one_line(turn.input, 2 * _TEXT_CAP)}"
    if turn.outcome:
        yield f"      out: {one_line(turn.outcome, 2 * _TEXT_CAP)}"


def _row(turn: TurnInfo, word: StatusWord) -> Markup:
    head = tag(
        "div",
        tag("span", f"{turn.number:,}", style="font-weight:600"),
        code(one_line(turn.node)),
        status_chip(word, is_small=True),
        tag("span", _facts(turn), style=SMALL),
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 8px",
    )
    said = [text_block(turn.input), text_block(turn.outcome) if turn.outcome else ""]
    labels = (small(word) for word in ("in", "out"))
    grid = "display:grid;grid-template-columns:32px minmax(0,1fr);gap:2px 8px;padding:4px 0 0"
    cells = [cell for pair in zip(labels, said, strict=True) if pair[1] for cell in pair]
    return join(head, tag("div", *cells, style=grid))
