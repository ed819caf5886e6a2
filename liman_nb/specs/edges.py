"""Edges as specs write them, in every accepted spelling, as one form.

Fields ``nodes``, ``llm_nodes``, ``to``, ``edges``, ``can_call``; a list or a single item; an item
is ``Name``, ``Kind/Name``, or a mapping ``{target, when, id, depends}``, ``{ref, when}``,
``{agent, condition, max_visits}``, where ``target`` may be a list. Whether a target exists is the
graph's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from liman_nb.errors import ConditionSyntaxError, Place
from liman_nb.specs.conditions import Condition, parse_condition
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.located import Located, in_words
from liman_nb.specs.references import Reference, parse_reference

EDGE_FIELDS: Mapping[str, str] = {
    "nodes": "",
    "llm_nodes": "LLMNode",
    "to": "",
    "edges": "",
    "can_call": "",
}
"""The fields that hold edges, and the kind that their targets have; empty for any."""

_WORDS: Mapping[str, str] = {
    "target": "target",
    "ref": "target",
    "agent": "target",
    "when": "when",
    "condition": "when",
    "id": "id",
    "depends": "depends",
    "max_visits": "max_visits",
}
"""The keys of an item, and what each says."""


@dataclass(frozen=True, slots=True)
class WrittenEdge:
    """One edge of a document.

    Attributes:
        id: the id it was given, or ``source>target#position`` by its position in the document.
        target: what it leads to.
        condition: when it is followed; ``None`` for always.
        depends: ids of the edges that are considered before it.
        place: where it stands.
        position: 0-based, among all edges of the document.
        max_visits: how often it is followed in one turn; ``None`` for as often as it fires.
    """

    id: str
    target: Reference
    condition: Condition | None
    depends: tuple[str, ...]
    place: Place
    position: int
    max_visits: int | None = None


def read_edges(
    document: Located, name: str, subject: str, findings: Findings
) -> tuple[WrittenEdge, ...]:
    """The edges of a document, in order.

    Args:
        document: the document.
        name: its name.
        subject: kind and name, for problems.
        findings: told of every edge that cannot be read.
    """
    edges: list[WrittenEdge] = []
    reader = _Reader(name, subject, findings)
    for field, value in document.fields.items():
        if field in EDGE_FIELDS:
            edges += reader.read(field, value)
    _check_ids(edges, subject, findings)
    return tuple(edges)


@dataclass(slots=True)
class _Reader:
    source: str
    subject: str
    findings: Findings
    position: int = 0

    def read(self, field: str, value: Located) -> Iterator[WrittenEdge]:
        if value.value is None:
            return
        for item in value.items if value.is_list else (value,):
            parts = self._parts(field, item)
            targets = self._targets(field, parts["target"]) if "target" in parts else ()
            condition, readable = self._condition(parts.get("when"))
            for target in targets:
                edge = self._edge(target, condition, parts, item, single=len(targets) == 1)
                self.position += 1
                if readable:
                    yield edge

    def _parts(self, field: str, item: Located) -> dict[str, Located]:
        """What the item says, by the words of :data:`_WORDS`' right side."""
        if item.text is not None:
            return {"target": item}
        if not item.is_mapping:
            self._error(
                f"{field}: a node's name or {{target, when}} is expected, "
                f"this is {in_words(item.plain())}",
                item.place,
            )
            return {}
        parts: dict[str, Located] = {}
        for key, value in item.fields.items():
            part = _WORDS.get(key)
            if part is None:
                hint = did_you_mean(key, _WORDS)
                place = value.key or value.place
                self.findings.refuse(f"unknown key {key!r} in an edge", place, self.subject, hint)
            elif part in parts:
                self._error(f"{key!r} says once more what the edge's {part!r} is", value.place)
            else:
                parts[part] = value
        if "target" not in parts:
            self._error(f"{field}: an edge has no target", item.place, "write 'target: name'")
        return parts

    def _targets(self, field: str, value: Located) -> tuple[Reference, ...]:
        targets = []
        for item in value.items if value.is_list else (value,):
            if item.text is None or not parse_reference(item.text).name:
                found = in_words(item.plain())
                self._error(f"{field}: a node's name is expected, this is {found}", item.place)
                continue
            reference = parse_reference(item.text)
            targets.append(Reference(reference.name, reference.kind or EDGE_FIELDS[field]))
        return tuple(targets)

    def _condition(self, value: Located | None) -> tuple[Condition | None, bool]:
        """The condition, and whether it could be read."""
        if value is None:
            return None, True
        text = str(value.value).lower() if isinstance(value.value, bool) else value.text
        if text is None or not text.strip():
            self._error(
                f"a condition is a text, this is {in_words(value.plain())}",
                value.place,
                "leave 'when' out for an edge that is always followed",
            )
            return None, False
        try:
            return parse_condition(text, value.place), True
        except ConditionSyntaxError as error:
            self._unreadable(error)
            return None, False

    def _unreadable(self, error: ConditionSyntaxError) -> None:
        for problem in error.problems:
            self.findings.refuse(problem.message, problem.place, self.subject, problem.hint)

    def _edge(
        self,
        target: Reference,
        condition: Condition | None,
        parts: Mapping[str, Located],
        item: Located,
        *,
        single: bool,
    ) -> WrittenEdge:
        identity = self._id(parts.get("id"))
        if identity and not single:
            self._error(
                f"the id {identity!r} stands for several targets",
                parts["id"].place,
                "write one edge for each target",
            )
            identity = ""
        return WrittenEdge(
            identity or f"{self.source}>{target.name}#{self.position}",
            target,
            condition,
            self._depends(parts.get("depends")),
            item.place,
            self.position,
            self._max_visits(parts.get("max_visits")),
        )

    def _id(self, value: Located | None) -> str:
        if value is None:
            return ""
        if isinstance(value.value, str | int) and not isinstance(value.value, bool):
            return str(value.value)
        found = in_words(value.plain())
        self._error(f"an edge's id is a text or a number, this is {found}", value.place)
        return ""

    def _depends(self, value: Located | None) -> tuple[str, ...]:
        if value is None or value.value is None:
            return ()
        ids = (self._id(v) for v in (value.items if value.is_list else (value,)))
        return tuple(dict.fromkeys(i for i in ids if i))

    def _max_visits(self, value: Located | None) -> int | None:
        if value is None or value.value is None:
            return None
        if isinstance(value.value, int) and not isinstance(value.value, bool) and value.value > 0:
            return value.value
        found = in_words(value.plain())
        self._error(
            f"max_visits: a whole number of at least 1 is expected, this is {found}", value.place
        )
        return None

    def _error(self, message: str, place: Place, hint: str = "") -> None:
        self.findings.error(message, place, self.subject, hint)


def _check_ids(edges: list[WrittenEdge], subject: str, findings: Findings) -> None:
    by_id: dict[str, WrittenEdge] = {}
    for edge in edges:
        first = by_id.setdefault(edge.id, edge)
        if first is not edge:
            message = f"two edges have the id {edge.id!r}; the first is at {first.place}"
            findings.error(message, edge.place, subject)
    for edge in by_id.values():
        for needed in edge.depends:
            if needed not in by_id:
                hint = did_you_mean(needed, by_id) or f"the ids are {listed(by_id)}"
                message = f"depends: this node has no edge {needed!r}"
                findings.error(message, edge.place, subject, hint)
    try:
        TopologicalSorter({edge.id: edge.depends for edge in edges}).prepare()
    except CycleError as error:
        circle = [i for i in error.args[1] if i in by_id]
        message = f"depends: these edges wait for each other: {' > '.join(circle)}"
        findings.error(message, by_id[circle[0]].place, subject)
