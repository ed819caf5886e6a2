"""The graph: all specs checked together, linked and frozen. Built by `linking.py`; data only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from liman_nb.errors import Place, Problem
from liman_nb.specs.conditions import Condition
from liman_nb.specs.documents import CredentialsProviderSpec, NodeSpec, ServiceAccountSpec
from liman_nb.specs.joins import Join
from liman_nb.specs.reading import Document
from liman_nb.specs.yields import YieldsSchema

if TYPE_CHECKING:
    import networkx

NodeKind = Literal["LLMNode", "ToolNode", "FunctionNode", "HumanNode"]


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to a node.

    Attributes:
        id: the spec's id, or ``source>target#position``; unique in its source.
        source: name of the node whose output is considered.
        target: name of the node that runs if the edge fires.
        condition: when it fires; ``None`` for always.
        function: name of the function to call instead of evaluating the condition, which is that
            name alone; ``None`` for a condition that is evaluated.
        depends: ids of the edges of this node that are considered before it.
        place: where it is written.
        max_visits: how often it is followed in one turn; ``None`` for as often as it fires.
    """

    id: str
    source: str
    target: str
    condition: Condition | None = None
    function: str | None = None
    depends: tuple[str, ...] = ()
    place: Place | None = None
    max_visits: int | None = None

    @property
    def label(self) -> str:
        """The condition as written; empty for an edge that always fires."""
        return self.condition.text if self.condition else ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node and what it leads to.

    Attributes:
        name: its name, unique in the graph.
        kind: what it is.
        spec: its document.
        edges: its edges, in spec order.
        tools: names of the tools an LLM may call, each a ToolNode of the graph.
        yields: its declared output; ``None`` for plain text.
        service_account: on whose behalf it runs; ``None`` for nobody's.
        parameters: JSON schema of the arguments of a tool that the caller supplied; ``None`` for
            every other node.
        join: what it waits for before it runs; ``None`` for a node that runs for each edge that
            fires.
        place: where it is written.
    """

    name: str
    kind: NodeKind
    spec: NodeSpec
    edges: tuple[Edge, ...] = ()
    tools: tuple[str, ...] = ()
    yields: YieldsSchema | None = None
    service_account: ServiceAccountSpec | None = None
    parameters: Mapping[str, Any] | None = None
    join: Join | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """All specs, linked.

    Attributes:
        nodes: by name, in the order of the sources; read-only.
        entry: name of the node a turn starts at.
        service_accounts: by name, those written inside a node as ``node.auth``; read-only.
        credentials_providers: by name; read-only.
        fingerprint: of everything the specs say, in the language they were read in. Equal in every
            process, whatever the files are called and in whatever order they are read.
        warnings: what loads and is probably not meant.
        entry_points: nodes by the names under which mesh documents let a turn start; read-only.
        max_node_runs: a bound of node runs in one turn, from ``mesh.max_chain_events``; ``None``
            if no mesh document gives one.
    """

    nodes: Mapping[str, Node]
    entry: str
    service_accounts: Mapping[str, ServiceAccountSpec] = field(default_factory=dict)
    credentials_providers: Mapping[str, CredentialsProviderSpec] = field(default_factory=dict)
    fingerprint: str = ""
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    entry_points: Mapping[str, str] = field(default_factory=dict)
    max_node_runs: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """For a copy or another process: read-only views do not travel, what they show does."""
        views = ("nodes", "service_accounts", "credentials_providers", "entry_points")
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return _thawed, ({**parts, **{name: dict(parts[name]) for name in views}},)

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """The graph for networkx.

        Returns:
            Nodes by name with ``kind``, ``name``, ``description``, ``entry`` (a bool) and
            ``wait_for`` (the text of what it waits for; empty for none). Edges with ``via``
            (``edge``, or ``tool`` from an LLM to a tool it may call) and ``condition`` (its text;
            empty for none), their keys the edges' ids, or ``tool:name``.
        """
        import networkx

        drawn: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
        for node in self.nodes.values():
            described = {"name": node.name, "description": node.spec.description}
            described["wait_for"] = node.join.text if node.join else ""
            drawn.add_node(node.name, kind=node.kind, entry=node.name == self.entry, **described)
        for node in self.nodes.values():
            for tool in node.tools:
                drawn.add_edge(node.name, tool, key=f"tool:{tool}", condition="", via="tool")
            for edge in node.edges:
                drawn.add_edge(
                    edge.source, edge.target, key=edge.id, condition=edge.label, via="edge"
                )
        return drawn


def frozen_graph(
    nodes: dict[str, Node],
    entry: str,
    *,
    service_accounts: dict[str, ServiceAccountSpec],
    credentials_providers: dict[str, CredentialsProviderSpec],
    entry_points: dict[str, str],
    **rest: Any,
) -> Graph:
    """A graph whose mappings are read-only."""
    return Graph(
        MappingProxyType(nodes),
        entry,
        MappingProxyType(service_accounts),
        MappingProxyType(credentials_providers),
        entry_points=MappingProxyType(entry_points),
        **rest,
    )


def _thawed(parts: dict[str, Any]) -> Graph:
    return frozen_graph(**parts)


def fingerprint(
    documents: Iterable[Document], entry_points: Mapping[str, str], max_node_runs: int | None
) -> str:
    """A hash of everything that documents say, as 32 hexadecimal digits.

    Args:
        documents: the documents of nodes, accounts and providers.
        entry_points: as :class:`Graph` has them.
        max_node_runs: as :class:`Graph` has it.
    """
    said = sorted((_said(document) for document in documents), key=lambda s: (s["kind"], s["name"]))
    whole = [*said, {"entry_points": dict(entry_points), "max_node_runs": max_node_runs}]
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _said(document: Document) -> dict[str, Any]:
    edges = [
        {
            "id": edge.id,
            "target": edge.target.name,
            "condition": edge.condition.text if edge.condition else "",
            "depends": edge.depends,
            "max_visits": edge.max_visits,
        }
        for edge in document.edges
    ]
    return {**document.spec.model_dump(mode="json"), "edges": edges}
