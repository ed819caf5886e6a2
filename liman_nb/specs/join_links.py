"""Whether what nodes wait for can come: every source exists, leads to the join, and is named there.

A source arrives at a join through its edge to it, so an edge and a mention belong together. What is
wrong here is an error, strict or not: a join that is not waited for is another graph.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from liman_nb.errors import Problem
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.specs.join_notation import FIELD, Mention, WrittenJoin
from liman_nb.specs.joins import Join, source_names, verdict
from liman_nb.specs.reading import Documents
from liman_nb.specs.references import a_kind
from liman_nb.specs.ways import ways_from


def linked_joins(
    nodes: Mapping[str, Node], documents: Documents, findings: Findings
) -> dict[str, Node]:
    """The nodes, those that wait for others with their joins.

    Args:
        nodes: all nodes of the graph, with their edges.
        documents: what they were made of.
        findings: told of every source that cannot arrive, and every arrival that does not count.
    """
    waiting = {d.spec.name: d.join for d in documents.items if d.join}
    faulty = frozenset(p.subject for p in findings.problems if p.level == "error")
    checks = [
        _Check(nodes[name], written, nodes, documents.unread, faulty, findings)
        for name, written in waiting.items()
    ]
    for check in checks:
        check.run()
    return {**nodes, **{check.node.name: check.joined() for check in checks}}


@dataclass(frozen=True, slots=True)
class _Check:
    """Checks one join. In a document with errors, `faulty`, an edge may be missing for them."""

    node: Node
    written: WrittenJoin
    nodes: Mapping[str, Node]
    unread: Collection[str]
    faulty: Collection[str]
    findings: Findings

    def joined(self) -> Node:
        names = tuple(dict.fromkeys(source_names(self.written.rule)))
        return replace(self.node, join=Join(self.written.text, self.written.rule, names))

    def run(self) -> None:
        known = [self._is_known(mention) for mention in self.written.mentions]
        if all(known):
            self._check_edges()

    def _is_known(self, mention: Mention) -> bool:
        """Whether a mention is of another node of the graph; says why not."""
        name, kind = mention.reference.name, mention.reference.kind
        found = self.nodes.get(name)
        if name == self.node.name:
            message = f"names {name!r}, which is this node itself"
            self._error(mention, message, f"name others: {listed(self._leading())} lead here")
        elif found is None:
            if not (name in self.unread and self.findings.has_errors):
                near = did_you_mean(name, self._leading()) or did_you_mean(name, self.nodes)
                hint = near or f"the nodes are {listed(self.nodes)}"
                self._error(mention, f"names {name!r}, and there is no such node", hint)
        elif kind not in ("", found.kind):
            self._error(
                mention, f"names '{mention.reference}', but {name!r} is {a_kind(found.kind)}"
            )
        else:
            return True
        return False

    def _check_edges(self) -> None:
        """That the edges to the join are those of its sources."""
        sources = {mention.reference.name: mention for mention in reversed(self.written.mentions)}
        for name, mention in sources.items():
            source = self.nodes[name]
            if not self._edges_of(source) and _subject(source) not in self.faulty:
                message = f"names {name!r}, which no edge leads from to here, so it never arrives"
                hint = f"add 'edges: [{self.node.name}]' to {_subject(source)}"
                self._error(mention, message, hint)
        for source in self.nodes.values():
            if source.name not in sources:
                self._refuse(source, self._edges_of(source))

    def _refuse(self, source: Node, edges: list[Edge]) -> None:
        """Edges from a node that is not waited for: their arrivals would count for nothing."""
        join, name = self.node.name, source.name
        for edge in edges:
            if source is self.node:
                message = f"an edge leads from {join!r} to itself, and it waits for other nodes"
                hint = "let it lead to what it waits for, or remove the edge"
            else:
                message = f"an edge leads to {join!r}, which waits for others and not for {name!r}"
                hint = f"name it in {FIELD} at {self.written.place}, or remove the edge"
            self.findings.error(message, edge.place, _subject(source), hint)

    def _edges_of(self, source: Node) -> list[Edge]:
        return [edge for edge in source.edges if edge.target == self.node.name]

    def _leading(self) -> list[str]:
        """The other nodes that lead here."""
        others = (node for node in self.nodes.values() if node is not self.node)
        return [node.name for node in others if self._edges_of(node)]

    def _error(self, mention: Mention, message: str, hint: str = "") -> None:
        self.findings.error(f"{FIELD} {message}", mention.place, _subject(self.node), hint)


def _subject(node: Node) -> str:
    return f"{node.kind} {node.name}"


# ── what is probably not meant ───────────────────────────────────────────────────────────────────


def join_doubts(graph: Graph, documents: Documents) -> Iterator[Problem]:
    """A warning for each join that nothing can fulfil."""
    for document in documents.items:
        node = graph.nodes.get(document.spec.name)
        if node and node.join and document.join and (lost := _lost(graph, node, node.join)):
            message = (
                f"{FIELD} cannot be fulfilled: no way leads from {graph.entry!r}, where a turn "
                f"starts, to {listed(lost)} without passing {node.name!r}"
            )
            yield Problem(message, document.join.place, _subject(node), level="warning")


def _lost(graph: Graph, node: Node, join: Join) -> list[str]:
    """The sources that no way leads to, if the join cannot be fulfilled without them."""
    reached = _reached_without(graph, node)
    lost = [name for name in join.sources if name not in reached]
    return lost if not verdict(join.rule, set(join.sources) - set(lost), set(lost)) else []


def _reached_without(graph: Graph, join: Node) -> set[str]:
    """The nodes that a turn can reach before the join runs; it runs at once if it is the entry."""
    nodes = dict(graph.nodes)
    if join.name != graph.entry:
        nodes[join.name] = replace(join, edges=(), tools=())
    return {graph.entry, *ways_from(nodes, graph.entry)}
