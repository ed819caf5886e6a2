"""A session's complete picture: its records in a cell, as plain data, and as DataFrames.

The words (session, conversation entry, yields, mesh communication, coordination analysis and
decision, and the five fields of an entry) are those of LeafMesh's page on sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from liman_nb.engine.conversation import Entry
from liman_nb.engine.records import (
    Analysis,
    DecisionRecord,
    MeshCall,
    SessionRecords,
    YieldsRecord,
)
from liman_nb.views.bundles import View
from liman_nb.views.dataframes import ColumnKind, data_frame
from liman_nb.views.elements import (
    SMALL,
    card,
    count,
    header,
    join,
    more,
    part,
    rows,
    section,
    status_chip,
    tag,
)
from liman_nb.views.escape import one_line
from liman_nb.views.moments import stamp
from liman_nb.views.palette import StatusWord
from liman_nb.views.record_rows import KINDS, Kind

if TYPE_CHECKING:
    import pandas

HTML_LIMIT = 50
TEXT_LIMIT = 100

_RECORDS: Mapping[str, type] = {
    "conversation": Entry,
    "yields": YieldsRecord,
    "mesh_communications": MeshCall,
    "analyses": Analysis,
    "decisions": DecisionRecord,
}
_COLUMNS: Mapping[str, ColumnKind] = {
    "timestamp": "time",
    "turn": "int64",
    "retries": "int64",
    "valid": "bool",
}
"""The fields that are neither text nor nested."""


class SessionView(View):
    """The records of a session, oldest first.

    Attributes:
        session_id: the session's text id; empty when none is opened.
        execution_id: id of its root executor, as results carry it; empty likewise.
        turns: how many it has.
        usage: tokens of all its turns, as the servers counted them.
        conversation: who said what. Lives as long as the session.
        yields: every structured output.
        mesh_communications: the calls of nodes by nodes.
        analyses: what was considered after each node run.
        decisions: what was decided, and why.
        expired: how many records of each kind are older than `record_ttl`, by the attribute's name.
        record_ttl: how old yields, mesh communications, analyses and decisions may be, in seconds;
            ``None`` for any age. It is the storage's.
    """

    def __init__(
        self,
        records: SessionRecords,
        agent: str = "",
        status: StatusWord = "waiting",
        *,
        recorded: datetime | None = None,
    ) -> None:
        """Take the records.

        Args:
            records: of the session.
            agent: the agent's name.
            status: of the latest turn.
            recorded: now; shown, since a saved picture may be read much later.
        """
        self.session_id = records.session_id
        self.execution_id = records.root
        self.turns = records.turns
        self.usage = records.usage
        self.conversation: tuple[Entry, ...] = records.conversation
        self.yields: tuple[YieldsRecord, ...] = records.yields
        self.mesh_communications: tuple[MeshCall, ...] = records.mesh_communications
        self.analyses: tuple[Analysis, ...] = records.analyses
        self.decisions: tuple[DecisionRecord, ...] = records.decisions
        self.expired: Mapping[str, int] = dict(records.expired)
        self.record_ttl = records.record_ttl
        self._agent, self._status, self._recorded = agent, status, recorded

    # ── as data ──────────────────────────────────────────────────────────────────────────────────

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values, under the names of the attributes.

        A conversation entry has the five fields of LeafMesh's page, and no other: ``role``,
        ``content``, ``timestamp``, ``agent_name``, ``type``.
        """
        return {
            "session_id": self.session_id,
            "execution_id": self.execution_id,
            "turns": self.turns,
            "usage": asdict(self.usage),
            "record_ttl": self.record_ttl,
            "expired": dict(self.expired),
            **{name: [_plain(record) for record in self._of(name)] for name in _RECORDS},
        }

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """A DataFrame for each kind of records, by the attribute's name; a column for each field.

        Timestamps are moments, UTC. Yields, payloads, conditions and joins stay dictionaries and
        lists.

        Raises:
            SetupError: pandas is not installed.
        """
        return {name: self._frame(name, kind) for name, kind in _RECORDS.items()}

    def _frame(self, name: str, kind: type) -> pandas.DataFrame:
        columns = {field.name: _COLUMNS.get(field.name, "object") for field in fields(kind)}
        return data_frame([_plain(record) for record in self._of(name)], columns)

    def _of(self, name: str) -> Sequence[Any]:
        records: Sequence[Any] = getattr(self, name)
        return records

    # ── shown ────────────────────────────────────────────────────────────────────────────────────

    def text(self) -> str:
        """The records by kind, a line each, cut at the older end."""
        head = f"{self._title} - {self._status.upper()} ({self._facts})"
        kinds = [line for kind in KINDS for line in self._kind_text(kind)]
        return "\n".join([head, *filter(None, [self._gone]), *kinds])

    def html(self) -> Markup:
        """A card with a part for each kind that opens; the conversation is open."""
        head = header(self._title, status_chip(self._status), self._facts)
        gone = [part(tag("div", self._gone, style=SMALL))] if self._gone else []
        return card(head, *gone, *map(self._kind_html, KINDS))

    @property
    def _title(self) -> str:
        if not self.session_id and not self.turns:
            return f"{one_line(self._agent)} - no session is opened".removeprefix(" - ")
        return "/".join(filter(None, [one_line(self._agent), one_line(self.session_id)]))

    @property
    def _facts(self) -> str:
        turns = count(self.turns, "turn") if self.turns else "no turn yet"
        used = self.usage.input_tokens + self.usage.output_tokens
        tokens = count(used, "token") if self.turns else ""
        recorded = f"recorded {stamp(self._recorded)}" if self._recorded else ""
        return " · ".join(filter(None, [turns, tokens, recorded]))

    @property
    def _gone(self) -> str:
        """What has expired, and why; empty when nothing has."""
        if not self.expired:
            return ""
        kinds = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in self.expired.items())
        return (
            f"Expired: {kinds} older than {self.record_ttl:,g} seconds, which is how long the "
            f"storage keeps such records (record_ttl)"
        )

    def _kind_text(self, kind: Kind) -> Iterator[str]:
        records = self._of(kind.name)
        yield self._heading(kind)
        if len(records) > TEXT_LIMIT:
            yield f"  … {len(records) - TEXT_LIMIT:,} earlier"
        for record in records[-TEXT_LIMIT:]:
            yield f"  {kind.line(record)}"

    def _kind_html(self, kind: Kind) -> Markup:
        records = self._of(kind.name)
        shown = [kind.row(record) for record in records[-HTML_LIMIT:]]
        body = rows(shown) if kind.ruled else join(*shown)
        if not records:
            body = tag("div", "Nothing on record.", style=SMALL)
        hidden = more(len(records) - len(shown), f"earlier; .{kind.name} has all")
        return section(self._heading(kind), hidden, body, is_open=kind.name == "conversation")

    def _heading(self, kind: Kind) -> str:
        gone = self.expired.get(kind.name, 0)
        expired = f", {gone:,} expired" if gone else ""
        return f"{kind.title} ({len(self._of(kind.name)):,}{expired})"


def _plain(record: Any) -> dict[str, Any]:
    """A record as JSON values: tuples become lists."""
    return {name: _listed(value) for name, value in asdict(record).items()}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
