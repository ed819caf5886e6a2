"""The sessions of a storage as a table, one page of it, the last used first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from markupsafe import Markup

from liman_nb.views.bundles import View
from liman_nb.views.dataframes import ColumnKind, data_frame
from liman_nb.views.elements import (
    LINE,
    SMALL,
    WRAPPED,
    card,
    count,
    header,
    part,
    scrolling,
    status_chip,
    tag,
)
from liman_nb.views.escape import one_line
from liman_nb.views.moments import date_and_clock
from liman_nb.views.palette import StatusWord

if TYPE_CHECKING:
    import pandas

_PROBLEM_CAP = 300
_COLUMNS: dict[str, ColumnKind] = {
    "session_id": "object",
    "turns": "int64",
    "created_at": "time",
    "used_at": "time",
    "is_own": "bool",
    "status": "object",
    "questions": "int64",
    "problem": "object",
    "execution_id": "object",
}
_GRID = "display:grid;grid-template-columns:minmax(0,3fr) 48px 168px 168px minmax(120px,2fr)"
_HEAD = f"{_GRID};gap:0 12px;{SMALL};padding:0 0 4px"
_ROW = f"{_GRID};gap:0 12px;border-top:{LINE};padding:6px 0"
_WIDTHS = "min-width:680px;max-width:1000px"
_NUMBER = "text-align:right"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session of the storage.

    Attributes:
        session_id: its text id.
        execution_id: id of its root executor, as results carry it.
        turns: how many it has.
        created_at: when its first turn began, UTC, ISO 8601 with ``Z``.
        used_at: when its latest turn began.
        is_own: whether it is this agent's; ``agent.session(session_id)`` reads only those.
        status: the latest turn's, as of results, or ``running``; empty for another agent's, and for
            one that cannot be read.
        shown: the status as it is shown; ``None`` likewise.
        questions: how many questions in it wait for a person.
        problem: why it cannot be read; empty when it can.
    """

    session_id: str
    execution_id: str
    turns: int
    created_at: str
    used_at: str
    is_own: bool
    status: str = ""
    shown: StatusWord | None = None
    questions: int = 0
    problem: str = ""


class SessionsView(View, Sequence[SessionRow]):
    """One page of the sessions of a storage: a sequence of rows, the last used first.

    Attributes:
        page: number of the page, 1-based.
        pages: how many there are; at least 1.
        total: sessions in the storage.
    """

    def __init__(self, shown: Sequence[SessionRow], *, page: int, pages: int, total: int) -> None:
        """Take a page.

        Args:
            shown: the sessions of the page.
            page: its number, 1-based.
            pages: how many there are.
            total: sessions in the storage.
        """
        self._rows = tuple(shown)
        self.page, self.pages, self.total = page, pages, total

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> SessionRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SessionRow, ...]: ...
    def __getitem__(self, index: int | slice) -> SessionRow | tuple[SessionRow, ...]:
        return self._rows[index]

    def to_pandas(self) -> pandas.DataFrame:
        """The page as a DataFrame; times are moments, UTC.

        Raises:
            SetupError: pandas is not installed.
        """
        cells = [{name: getattr(row, name) for name in _COLUMNS} for row in self._rows]
        return data_frame(cells, _COLUMNS)

    def text(self) -> str:
        """A line per session."""
        width = max((len(one_line(row.session_id)) for row in self._rows), default=0)
        return "\n".join([f"Sessions ({self._facts})", *(_line(row, width) for row in self._rows)])

    def html(self) -> Markup:
        """A card with a table."""
        if not self._rows:
            said = "No session is stored." if not self.total else "No session on this page."
            return card(header("Sessions", facts=self._facts), part(said))
        names = ["session", "turns", "created", "used", "status"]
        styles = {"turns": _NUMBER}
        head = (tag("span", name, style=styles.get(name, "")) for name in names)
        rows = (tag("div", *_cells(row), style=_ROW) for row in self._rows)
        table = tag("div", tag("div", *head, style=_HEAD), *rows, style=_WIDTHS)
        return card(header("Sessions", facts=self._facts), part(scrolling(table)))

    @property
    def _facts(self) -> str:
        facts = count(self.total, "session")
        paged = self.pages > 1 or self.page > 1
        return f"{facts} · page {self.page:,} of {self.pages:,}" if paged else facts


def _line(row: SessionRow, width: int) -> str:
    used = date_and_clock(row.used_at)
    state = " · ".join(_state(row))
    name = one_line(row.session_id).ljust(width)
    return f"  {name}  {count(row.turns, 'turn'):<9}  used {used}  {state}"


def _state(row: SessionRow) -> Iterator[str]:
    """What there is to say of a session beside its numbers."""
    if row.shown:
        yield row.shown
    if row.questions:
        yield count(row.questions, "question")
    if row.problem:
        yield f"cannot be read: {one_line(row.problem, _PROBLEM_CAP)}"
    if not row.is_own:
        yield "another agent's"


def _cells(row: SessionRow) -> Iterator[Markup]:
    yield tag("span", one_line(row.session_id), style=f"font-weight:600;{WRAPPED}")
    yield tag("span", f"{row.turns:,}", style=_NUMBER)
    yield tag("span", date_and_clock(row.created_at))
    yield tag("span", date_and_clock(row.used_at))
    chip = [status_chip(row.shown, is_small=True)] if row.shown else []
    said = [text for text in _state(row) if text != row.shown]
    remark = tag("span", f" {' · '.join(said)}" if said else "", style=SMALL)
    yield tag("span", *chip, remark, style=WRAPPED)
