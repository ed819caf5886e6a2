"""Why a node's edges fired, did not, or could not be decided: in words, as a table, as a DataFrame.

What is explained is put together in `engine/explain.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from markupsafe import Markup

from liman_nb.engine.explain import EdgeExplanation, Explanation, JoinExplanation, RunExplanation
from liman_nb.views.bundles import View
from liman_nb.views.dataframes import ColumnKind, data_frame
from liman_nb.views.elements import (
    LINE,
    MONO,
    SMALL,
    WRAPPED,
    caption,
    card,
    header,
    more,
    outcome_chip,
    part,
    scrolling,
    tag,
)
from liman_nb.views.escape import one_line
from liman_nb.views.moments import clock
from liman_nb.views.palette import OUTCOMES

if TYPE_CHECKING:
    import pandas

HTML_LIMIT = 20
TEXT_LIMIT = 100
"""Runs at most, the latest ones."""

_NO_EDGE = "No edge leads on from here."
_EDGES_LIMIT = 30
_TEXT_CAP = 400
_NAMES_CAP = 10
_COLUMNS: dict[str, ColumnKind] = {
    "executor": "object",
    "source": "object",
    "target": "object",
    "outcome": "object",
    "condition": "object",
    "filled": "object",
    "why": "object",
}
_GRID = (
    "display:grid;gap:0 12px;grid-template-columns:"
    "124px minmax(0,2fr) minmax(0,3fr) minmax(0,3fr) minmax(0,3fr)"
)
_ROW = f"{_GRID};padding:6px 0;border-top:{LINE}"
_HEADINGS = ("outcome", "edge", "condition", "with its values", "why")
_CODE = f"{MONO};line-height:20px;{WRAPPED}"


class ExplanationView(View, Sequence[EdgeExplanation]):
    """What became of each edge of a node in one turn. A sequence of the edges, run by run.

    For a node that did not run, these are the edges that lead to it.

    Attributes:
        node: the node's name.
        turn: number of the turn; 0 before the first.
        runs: the node's runs in the turn, oldest first.
        joins: the joins that the node is, or that its edges lead to.
    """

    def __init__(self, explanation: Explanation) -> None:
        """Take what is explained."""
        self._explanation = explanation
        self.node, self.turn = explanation.node, explanation.turn
        self.runs: tuple[RunExplanation, ...] = explanation.runs
        self.joins: tuple[JoinExplanation, ...] = explanation.joins
        of_runs = [(run.executor, edge) for run in self.runs for edge in run.edges]
        self._edges = of_runs or [("", edge) for edge in explanation.towards]

    def __len__(self) -> int:
        return len(self._edges)

    @overload
    def __getitem__(self, index: int) -> EdgeExplanation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[EdgeExplanation, ...]: ...
    def __getitem__(self, index: int | slice) -> EdgeExplanation | tuple[EdgeExplanation, ...]:
        edges = tuple(edge for _, edge in self._edges)
        return edges[index]

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each edge; ``executor`` is the id of the run, empty where the node did not run.

        Raises:
            SetupError: pandas is not installed.
        """
        names = [name for name in _COLUMNS if name != "executor"]
        return data_frame(
            [
                {"executor": executor, **{name: getattr(edge, name) for name in names}}
                for executor, edge in self._edges
            ],
            _COLUMNS,
        )

    # ── in words ─────────────────────────────────────────────────────────────────────────────────

    def text(self) -> str:
        """A sentence for each edge, and under it the condition as written and with its values."""
        return "\n".join([self._title, *self._lines()])

    def _lines(self) -> Iterator[str]:
        hidden = len(self.runs) - TEXT_LIMIT
        if hidden > 0:
            yield f"  … {hidden:,} earlier runs"
        for number, run in self._latest(TEXT_LIMIT):
            yield f"  {_run_title(number, run)}"
            yield from _edge_lines(run.edges) if run.edges else [f"    {_NO_EDGE}"]
        if not self.runs:
            yield f"  {self._idle}"
            yield from _edge_lines(self._explanation.towards)
        for join in self.joins[-TEXT_LIMIT:]:
            yield f"  join: {_sentence(join)}"

    def _latest(self, limit: int) -> list[tuple[int, RunExplanation]]:
        return list(enumerate(self.runs, start=1))[-limit:]

    @property
    def _title(self) -> str:
        session = one_line(self._explanation.session_id)
        where = f"turn {self.turn:,} of session {session}" if self.turn else "no turn yet"
        return f"{one_line(self.node)}: {where}"

    @property
    def _idle(self) -> str:
        """What is said of a node without a run."""
        if not self.turn:
            return "Nothing has run in this session."
        towards = "these edges lead to it" if self._explanation.towards else "no edge leads to it"
        return f"It did not run in this turn; {towards}."

    # ── as a table ───────────────────────────────────────────────────────────────────────────────

    def html(self) -> Markup:
        """A card with a table for each run, and what the joins came to."""
        where = f"turn {self.turn:,} · session {one_line(self._explanation.session_id)}"
        head = header(one_line(self.node), facts=where if self.turn else "no turn yet")
        hidden = more(len(self.runs) - HTML_LIMIT, "earlier runs; print(…) shows more")
        runs = [part(*_run_table(number, run)) for number, run in self._latest(HTML_LIMIT)]
        if not runs:
            idle = tag("div", self._idle, style="padding:0 0 6px")
            runs = [part(idle, *_table(self._explanation.towards))]
        return card(head, part(hidden) if hidden else "", *runs, *self._joins_html())

    def _joins_html(self) -> Iterator[Markup]:
        if self.joins:
            said = [tag("div", _sentence(j), style=WRAPPED) for j in self.joins[-HTML_LIMIT:]]
            yield part(caption("joins"), *said)


def _run_title(number: int, run: RunExplanation) -> str:
    at = clock(run.at)
    return f"run {number:,}: {one_line(run.state, _TEXT_CAP)}{at and f' · {at}'}"


def _sentence(join: JoinExplanation) -> str:
    return one_line(str(join), _TEXT_CAP)


def _edge_lines(edges: Sequence[EdgeExplanation]) -> Iterator[str]:
    for edge in edges[:_EDGES_LIMIT]:
        way = f"{one_line(edge.source)} → {one_line(edge.target)}"
        said = one_line(str(edge).removeprefix(f"{edge.source} → {edge.target}"), _TEXT_CAP)
        yield f"    {OUTCOMES[edge.outcome].icon} {way}{said}"
        for label, text in _conditions(edge):
            yield f"      {label:<11} {text}"
    if len(edges) > _EDGES_LIMIT:
        yield f"    … {len(edges) - _EDGES_LIMIT:,} more edges"


def _conditions(edge: EdgeExplanation) -> Iterator[tuple[str, str]]:
    """The condition as written, with its values, and what it read that is not kept."""
    if edge.condition:
        yield "condition", one_line(edge.condition, _TEXT_CAP)
    if edge.filled:
        yield "with values", one_line(edge.filled, _TEXT_CAP)
    if edge.from_context:
        yield "not kept", _kept_nowhere(edge)


def _kept_nowhere(edge: EdgeExplanation) -> str:
    names = ", ".join(one_line(name) for name in edge.from_context[:_NAMES_CAP])
    return f"{names} (from the context)"


def _run_table(number: int, run: RunExplanation) -> Iterator[Markup]:
    yield tag("div", _run_title(number, run), style=f"font-weight:600;padding:0 0 6px;{WRAPPED}")
    yield from _table(run.edges)


def _table(edges: Sequence[EdgeExplanation]) -> Iterator[Markup]:
    if not edges:
        yield tag("div", _NO_EDGE, style=SMALL)
        return
    names = (tag("span", name) for name in _HEADINGS)
    head = tag("div", *names, style=f"{_GRID};{SMALL};padding:0 0 4px")
    lines = (tag("div", *_cells(edge), style=_ROW) for edge in edges[:_EDGES_LIMIT])
    yield scrolling(tag("div", head, *lines, style="min-width:720px"))
    yield more(len(edges) - _EDGES_LIMIT, "more edges")


def _cells(edge: EdgeExplanation) -> Iterator[Markup]:
    way = f"{one_line(edge.source)} → {one_line(edge.target)}"
    yield tag("span", outcome_chip(edge.outcome))
    yield tag("span", way, style=f"font-weight:600;{WRAPPED}")
    yield tag("span", one_line(edge.condition, _TEXT_CAP) or "always", style=_CODE)
    yield tag("span", *_values_cell(edge), style="min-width:0")
    yield tag("span", one_line(edge.why, _TEXT_CAP), style=WRAPPED, dir="auto")


def _values_cell(edge: EdgeExplanation) -> Iterator[Markup]:
    if edge.filled:
        yield tag("div", one_line(edge.filled, _TEXT_CAP), style=_CODE)
    if edge.from_context:
        yield tag("div", f"not kept: {_kept_nowhere(edge)}", style=f"{SMALL};{WRAPPED}")
