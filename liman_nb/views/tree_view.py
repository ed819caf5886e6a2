"""The executor tree as it is shown: the drawing for terminals, aligned rows for notebooks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import groupby

from markupsafe import Markup

from liman_nb.engine.tree import Tree
from liman_nb.specs.graph import Graph
from liman_nb.views.bundles import View
from liman_nb.views.elements import (
    LINE,
    MONO,
    SMALL,
    WRAPPED,
    card,
    folded,
    header,
    join,
    more,
    part,
    status_chip,
    tag,
    text_block,
)
from liman_nb.views.escape import one_line
from liman_nb.views.tree_rows import TreeRow, TreeSnapshot, snapshot, values_of

TEXT_LIMIT = 1_000
HTML_LIMIT = 150

_ERROR_CAP = 200
_COLUMNS = "grid-template-columns:minmax(0,1fr) 104px 80px 72px 64px;gap:0 8px"
_NUMBER = "text-align:right"
_GUIDE = f"{MONO};white-space:pre;opacity:.8"
_MARKER = 14  # pixels that a browser's triangle takes, about
_ROW = f"display:inline-grid;{_COLUMNS};width:calc(100% - {_MARKER + 4}px);vertical-align:top"
_HEAD = f"display:grid;{_COLUMNS};{SMALL};padding:0 4px 4px {_MARKER}px"


class TreeView(View):
    """The executors of a session."""

    def __init__(
        self,
        tree: Tree,
        running: Collection[str] = (),
        *,
        latest_only: bool = False,
        graph: Graph | None = None,
    ) -> None:
        """Take the tree as it is now.

        Args:
            tree: the session.
            running: ids of the executors that run at this moment.
            latest_only: only the latest turn.
            graph: the graph, which knows the branches that a join still waits for.
        """
        take = partial(snapshot, tree, running, latest_only=latest_only, graph=graph)
        self._taken, self._shown = take(limit=TEXT_LIMIT), take(limit=HTML_LIMIT)
        self._values = values_of(tree, self._shown.rows)

    @property
    def total(self) -> int:
        """Executors in the session, or in its latest turn if only that is shown."""
        return self._taken.total

    def text(self) -> str:
        """The drawing: a line per executor, its children under it."""
        return "\n".join(_drawing(self._taken))

    def html(self) -> Markup:
        """A card with a row per executor, which opens on its input, output and error."""
        if not self._shown.rows:
            return card(header("Executors", facts="no turn yet"))
        root = self._shown.rows[0]
        facts = f"{self._shown.total:,} executors · execution id {root.id}"
        return card(header("Executors", status_chip(root.status), facts), part(self.body()))

    def body(self) -> Markup:
        """The rows, the latest turn open, to stand in a card."""
        taken = self._shown
        turns = [list(rows) for _, rows in groupby(taken.rows[1:], key=lambda row: row.turn)]
        return tag(
            "div",
            _headings(),
            more(taken.earlier_turns, "earlier turns; print(tree) shows more"),
            *(self._turn(rows, is_last=rows is turns[-1]) for rows in turns),
            more(taken.cut, "more executors"),
            style="max-width:860px",
        )

    def _turn(self, rows: list[TreeRow], *, is_last: bool) -> Markup:
        title = tag("span", f"Turn {rows[0].turn} ({len(rows):,})", style="font-weight:600")
        body = (self._row(row) for row in rows)
        return folded(title, *body, is_open=is_last, style="padding:2px 0")

    def _row(self, row: TreeRow) -> Markup:
        columns = tag("span", *_cells(row), style=_ROW)
        details = _details(row, self._values[row.id])
        title = join(columns, *_notes(row))
        return folded(title, details, style=f"border-top:{LINE};padding:2px 0")


# ── the drawing ──────────────────────────────────────────────────────────────────────────────────


def _drawing(taken: TreeSnapshot) -> Iterator[str]:
    if not taken.rows:
        yield "No turn yet"
        return
    root, *rows = taken.rows
    yield f"Root Executor ({one_line(root.id)}) - {root.state.upper()}"
    if taken.earlier_turns:
        yield f"  ├── … {taken.earlier_turns:,} earlier"
    for row in rows:
        yield _line(row)
    if taken.cut:
        yield f"  … {taken.cut:,} more executors"


def _line(row: TreeRow) -> str:
    """A row as in the drawing of Liman's page on state, with the node's name after the number."""
    *levels, is_last = row.branches
    guides = "".join("      " if level else "│     " for level in levels)
    word = "Sub" if levels else "Child"
    name = f": {row.node}" if row.node else ""
    error = f": {row.error.splitlines()[0][:_ERROR_CAP]}" if row.error else ""
    notes = "".join(f", {note}" for note in row.notes)
    return (
        f"  {guides}{'└──' if is_last else '├──'} {word} Executor {row.number}{name} "
        f"({one_line(row.id)}) - {row.state.upper()}{error}{notes}"
    )


# ── the rows ─────────────────────────────────────────────────────────────────────────────────────


def _headings() -> Markup:
    names = [tag("span", name) for name in ("node", "status", "kind")]
    numbers = [tag("span", name, style=_NUMBER) for name in ("tokens", "seconds")]
    return tag("div", *names, *numbers, style=_HEAD)


def _cells(row: TreeRow) -> Iterator[Markup]:
    *levels, is_last = row.branches[1:] or (None,)
    guide = "" if is_last is None else _guides(levels) + ("└─ " if is_last else "├─ ")
    name = join(tag("span", guide, style=_GUIDE), row.node)
    clipped = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
    yield tag("span", name, style=clipped)
    yield tag("span", status_chip(row.status, is_small=True))
    yield tag("span", row.kind)
    yield tag("span", f"{row.tokens:,}" if row.tokens else "", style=_NUMBER)
    yield tag("span", "" if row.seconds is None else f"{row.seconds:.1f}", style=_NUMBER)


def _guides(levels: Sequence[bool | None]) -> str:
    """The lines that lead past a row to what follows it."""
    return "".join("   " if level else "│  " for level in levels)


def _notes(row: TreeRow) -> Iterator[Markup]:
    """What is said of a row, in lines under its name."""
    guide = tag("span", _guides(row.branches[1:]), style=_GUIDE)
    for note in row.notes:
        text = tag("span", note, style=f"{SMALL};{WRAPPED}")
        yield tag("div", guide, text, style=f"display:flex;padding:0 0 2px {_MARKER}px")


def _details(row: TreeRow, values: Sequence[tuple[str, str]]) -> Markup:
    parts = [
        tag("div", tag("span", label, style=SMALL), text_block(text, mono=True))
        for label, text in [*values, ("error", row.error)]
        if text
    ]
    identity = tag("div", f"execution id {row.id}", style=SMALL)
    return tag("div", *parts, identity, style="padding:4px 0 8px 18px")
