"""The records of a session, each as a line of text and as a row of HTML.

What a session's records are stands in `engine/records.py`; which of them are shown, and under which
headings, in `session_view.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from liman_nb.engine.conversation import Entry
from liman_nb.engine.records import Analysis, DecisionRecord, MeshCall, YieldsRecord
from liman_nb.views.elements import (
    MONO,
    SMALL,
    WRAPPED,
    code,
    count,
    outcome_chip,
    status_chip,
    tag,
    text_block,
)
from liman_nb.views.escape import json_text, one_line, safe, visible
from liman_nb.views.messages import bubble
from liman_nb.views.moments import clock
from liman_nb.views.palette import OUTCOMES

_CONTENT_CAP = 1_500
_LINE_CAP = 300
_VALUE_CAP = 400
_CONDITION_CAP = 300
_MANY = 10  # fields or conditions of one record
_GRID = "display:grid;grid-template-columns:110px minmax(0,1fr);gap:0 10px"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of records.

    Attributes:
        name: the attribute of a session's records that has them.
        title: its heading.
        line: a record as text; a second line is indented by it.
        row: a record as HTML.
        ruled: whether lines stand between the rows.
    """

    name: str
    title: str
    line: Callable[[Any], str]
    row: Callable[[Any], Markup]
    ruled: bool = True


# ── conversation ─────────────────────────────────────────────────────────────────────────────────


def _entry_line(entry: Entry) -> str:
    content = one_line(entry.content, _LINE_CAP)
    who = f"{one_line(entry.agent_name)}, {one_line(entry.type)}"
    return f"{one_line(entry.role):<9} {who}: {content}"


def _entry_row(entry: Entry) -> Markup:
    at = clock(entry.timestamp)
    facts = [one_line(entry.role), one_line(entry.agent_name), one_line(entry.type), at]
    said = safe(visible(entry.content, _CONTENT_CAP))
    body = text_block(said, mono=entry.role == "system")
    return bubble(" · ".join(filter(None, facts)), body, role=entry.role)


# ── yields ───────────────────────────────────────────────────────────────────────────────────────


def _yields_line(record: YieldsRecord) -> str:
    fields = " · ".join(_fields(record))
    return f"{one_line(record.agent_name)}, turn {record.turn:,}: {fields}"


def _yields_row(record: YieldsRecord) -> Markup:
    head = tag("div", _name(record.agent_name), _when(record.turn, record.timestamp))
    fields = (tag("div", code(field)) for field in _fields(record))
    return tag("div", head, *fields)


def _fields(record: YieldsRecord) -> Iterator[str]:
    for name in list(record.yields)[:_MANY]:
        value = one_line(json_text(record.yields[name], _VALUE_CAP), 2 * _VALUE_CAP)
        yield f"{one_line(name)} = {value}"
    if len(record.yields) > _MANY:
        yield f"… {len(record.yields) - _MANY:,} more fields"


# ── mesh communications ──────────────────────────────────────────────────────────────────────────


def _call_line(record: MeshCall) -> str:
    way = _way(record.from_agent, record.to_agent)
    return f"{way} when {_condition(record.condition)}, turn {record.turn:,}: {_payload(record)}"


def _call_row(record: MeshCall) -> Markup:
    way = _name(_way(record.from_agent, record.to_agent))
    head = tag("div", way, code(_condition(record.condition)), _when(record.turn, record.timestamp))
    payload = tag("div", _payload(record), style=f"{MONO};{WRAPPED}", dir="auto")
    return tag("div", head, payload)


def _payload(record: MeshCall) -> str:
    payload = record.payload
    text = payload if isinstance(payload, str) else json_text(payload, _VALUE_CAP)
    return one_line(text, 2 * _VALUE_CAP)


# ── coordination analyses ────────────────────────────────────────────────────────────────────────


def _analysis_line(record: Analysis) -> str:
    verdict = "valid" if record.valid else "failed"
    said = [f"{one_line(record.agent_name)}, turn {record.turn:,}: {verdict}", *_remarks(record)]
    edges = [
        f"    {OUTCOMES[c.outcome].icon} {c.outcome:<9} → {one_line(c.to_agent)} "
        f"when {_condition(c.condition)}"
        for c in record.conditions[:_MANY]
    ]
    return "\n".join([" · ".join(said), *edges, *_more_conditions(record)])


def _analysis_row(record: Analysis) -> Markup:
    chip = status_chip("done" if record.valid else "failed", is_small=True)
    when = _when(record.turn, record.timestamp)
    remarks = tag("span", "".join(f" · {said}" for said in _remarks(record)), style=SMALL)
    head = tag("div", _name(record.agent_name), when, remarks)
    edges = (
        tag(
            "div",
            tag("span", outcome_chip(c.outcome)),
            tag("span", f"→ {one_line(c.to_agent)} ", code(_condition(c.condition)), style=WRAPPED),
            style=f"{_GRID};padding:2px 0",
        )
        for c in record.conditions[:_MANY]
    )
    body = tag("div", head, *edges, *_more_conditions(record), style="min-width:0")
    return tag("div", tag("div", chip), body, style=_GRID)


def _remarks(record: Analysis) -> Iterator[str]:
    """What there is to say beside the conditions."""
    if record.retries:
        yield count(record.retries, "retry")
    for node, arrival in list(record.joins.items())[:_MANY]:
        yield f"at {one_line(node)}: {one_line(arrival)}"


def _more_conditions(record: Analysis) -> list[str]:
    hidden = len(record.conditions) - _MANY
    return [f"    … {hidden:,} more conditions"] if hidden > 0 else []


# ── coordination decisions ───────────────────────────────────────────────────────────────────────


def _decision_line(record: DecisionRecord) -> str:
    way = _decided(record)
    return f"{record.decision:<8} {way}, turn {record.turn:,}: {one_line(record.why, _LINE_CAP)}"


def _decision_row(record: DecisionRecord) -> Markup:
    word = tag("div", record.decision, style="font-weight:600")
    way = tag("div", _name(_decided(record)), _when(record.turn, record.timestamp))
    why = tag("div", one_line(record.why, _LINE_CAP), style=f"{SMALL};{WRAPPED}", dir="auto")
    return tag("div", word, tag("div", way, why, style="min-width:0"), style=_GRID)


def _decided(record: DecisionRecord) -> str:
    """Which node it is about, and where it leads."""
    if record.target in ("", record.agent_name):
        return one_line(record.agent_name)
    return _way(record.agent_name, record.target)


# ── parts of several ─────────────────────────────────────────────────────────────────────────────


def _way(source: str, target: str) -> str:
    return f"{one_line(source)} → {one_line(target)}"


def _condition(text: str) -> str:
    return one_line(text, _CONDITION_CAP) or "always"


def _name(text: str) -> Markup:
    return tag("span", f"{one_line(text)} ", style="font-weight:600")


def _when(turn: int, at: str) -> Markup:
    facts: Sequence[str] = [f"turn {turn:,}", clock(at)]
    return tag("span", f" {' · '.join(filter(None, facts))}", style=SMALL)


KINDS = (
    Kind("conversation", "Conversation", _entry_line, _entry_row, ruled=False),
    Kind("yields", "Yields", _yields_line, _yields_row),
    Kind("mesh_communications", "Mesh communications", _call_line, _call_row),
    Kind("analyses", "Coordination analyses", _analysis_line, _analysis_row),
    Kind("decisions", "Coordination decisions", _decision_line, _decision_row),
)
"""In the order of LeafMesh's page on sessions."""
