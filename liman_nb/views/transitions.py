"""Why a session went where it went: every edge that was considered, with what decided it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from markupsafe import Markup

from liman_nb.engine.tree import Executor, Tree
from liman_nb.specs.graph import Graph
from liman_nb.state.rows import Outcome, TransitionRecord
from liman_nb.views.bundles import View
from liman_nb.views.elements import (
    SMALL,
    card,
    code,
    header,
    join,
    more,
    outcome_chip,
    part,
    rows,
    tag,
)
from liman_nb.views.escape import json_text, one_line
from liman_nb.views.joins import arrivals
from liman_nb.views.moments import clock
from liman_nb.views.palette import OUTCOMES

HTML_LIMIT = 100
TEXT_LIMIT = 400

_CONDITION_CAP = 300
_VALUE_CAP = 160
_VALUES_LIMIT = 10
_JOIN = "⤷"


@dataclass(frozen=True, slots=True)
class Transition:
    """An edge considered after a node run.

    Attributes:
        turn: number of the turn.
        at: when, UTC, ISO 8601.
        source: the node that ran.
        target: the node the edge leads to.
        condition: as written; empty when the edge has none.
        outcome: ``fired``, ``not fired`` or ``undecided``.
        values: the names the condition read, each with its value as JSON text.
        from_context: the names it read from the context, whose values are never kept.
        reason: why, in words; may be empty.
        join: for an edge that led to a join, what became of the branch there, such as ``waits for
            policy`` or ``came too late: merge had started``; empty for any other edge.
    """

    turn: int
    at: str
    source: str
    target: str
    condition: str
    outcome: Outcome
    values: tuple[tuple[str, str], ...]
    from_context: tuple[str, ...]
    reason: str
    join: str = ""


class TransitionsView(View, Sequence[Transition]):
    """The transitions of a session, oldest first."""

    def __init__(self, tree: Tree, turn: int | None = None, *, graph: Graph | None = None) -> None:
        """Take the transitions as they are now.

        Args:
            tree: the session.
            turn: only those of this turn.
            graph: the graph, which knows the branches that a join still waits for.
        """
        found = [
            (executor, record)
            for executor in tree.executors.values()
            if turn is None or executor.turn == turn
            for record in executor.transitions
        ]
        found.sort(key=lambda pair: pair[0].ended_at)
        joins = arrivals(tree, graph)
        self._transitions = tuple(_transition(*pair, joins) for pair in found)

    def __len__(self) -> int:
        return len(self._transitions)

    @overload
    def __getitem__(self, index: int) -> Transition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Transition, ...]: ...
    def __getitem__(self, index: int | slice) -> Transition | tuple[Transition, ...]:
        return self._transitions[index]

    def text(self) -> str:
        """A line per transition, oldest first, cut at the older end."""
        hidden = len(self) - TEXT_LIMIT
        earlier = [f"… {hidden:,} earlier"] if hidden > 0 else []
        lines = [line for t in self._transitions[-TEXT_LIMIT:] for line in _lines(t)]
        return "\n".join([f"Transitions ({len(self):,})", *earlier, *lines])

    def html(self) -> Markup:
        """A card with the latest transitions first."""
        return card(header("Transitions", facts=f"{len(self):,}"), part(self.body()))

    def body(self) -> Markup:
        """The latest transitions first, to stand in a card."""
        if not self._transitions:
            return tag("div", "No edge was considered yet.", style=SMALL)
        latest = reversed(self._transitions[-HTML_LIMIT:])
        return join(rows(map(_row, latest)), more(len(self) - HTML_LIMIT, "earlier"))


def _transition(
    executor: Executor, record: TransitionRecord, joins: Mapping[tuple[str, str], str]
) -> Transition:
    values = list(record.values.items())[:_VALUES_LIMIT]
    has_come = record.outcome == "fired"
    return Transition(
        turn=executor.turn,
        at=executor.ended_at,
        source=executor.node,
        target=record.target,
        condition=record.condition,
        outcome=record.outcome,
        values=tuple((name, json_text(value, _VALUE_CAP)) for name, value in values),
        from_context=record.from_context,
        reason=record.reason,
        join=joins.get((executor.id, record.target), "") if has_come else "",
    )


def _lines(transition: Transition) -> Iterator[str]:
    icon = OUTCOMES[transition.outcome].icon
    way = f"{one_line(transition.source)} → {one_line(transition.target)}"
    condition = one_line(transition.condition, _CONDITION_CAP) or "always"
    yield f"  {icon} {transition.outcome:<9}  {way}  when {condition}"
    why = " · ".join(_reasons(transition))
    if why:
        yield f"               {why}"
    if transition.join:
        yield f"               {_JOIN} {transition.join}"


def _reasons(transition: Transition) -> Iterator[str]:
    for name, value in transition.values:
        yield f"{one_line(name)} = {one_line(value, 2 * _VALUE_CAP)}"
    for name in transition.from_context:
        yield f"{one_line(name)} from the context"
    if transition.reason:
        yield one_line(transition.reason, _CONDITION_CAP)


def _row(transition: Transition) -> Markup:
    way = f"{one_line(transition.source)} → {one_line(transition.target)} "
    condition = code(one_line(transition.condition, _CONDITION_CAP) or "always")
    head = tag("div", tag("span", way, style="font-weight:600"), condition)
    became = tag("div", f"{_JOIN} {transition.join}") if transition.join else ""
    body = tag("div", head, became, _why(transition), style="min-width:0")
    chip = tag("div", outcome_chip(transition.outcome))
    grid = "display:grid;grid-template-columns:110px minmax(0,1fr);gap:0 10px"
    return tag("div", chip, body, style=grid)


def _why(transition: Transition) -> Markup:
    parts: list[str] = []
    for name, value in transition.values:
        parts += [code(f"{one_line(name)} = {one_line(value, 2 * _VALUE_CAP)}"), " "]
    for name in transition.from_context:
        parts += [code(one_line(name)), " from the context, not kept "]
    if transition.reason:
        parts.append(
            f"— {one_line(transition.reason, _CONDITION_CAP)} " if parts else transition.reason
        )
    at = clock(transition.at)
    return tag("div", *parts, f" · {at}" if at and parts else at, style=f"{SMALL};line-height:1.7")
