"""What is drawn of a graph: nodes, edges, and how a session's latest turn went over them.

Plain frozen data, extracted once; the drawings (SVG, mermaid, matplotlib, text) read only this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from liman_nb.engine.tree import Executor, Tree
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.views.escape import one_line
from liman_nb.views.joins import joins_of
from liman_nb.views.palette import OutcomeWord, StatusWord
from liman_nb.views.statuses import edge_outcomes, is_over, latest_turn, node_status

_KINDS = {
    "LLMNode": "LLM",
    "ToolNode": "tool",
    "FunctionNode": "function",
    "HumanNode": "person",
    "UnknownTool": "unknown tool",
}


_KIND_CAP = 30


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node.

    Attributes:
        name: in full, as the spec writes it.
        kind: ``LLM``, ``tool``, ``function`` or ``person``.
        is_entry: whether turns start here.
        status: in the latest turn; ``None`` when no session is shown.
        waits: ``waits for a and b``, in full; empty for a node that waits for no others.
        join: what became of its latest join in the turn, such as ``waits for b (a arrived)``; empty
            when no branch arrived, or no session is shown.
    """

    name: str
    kind: str
    is_entry: bool = False
    status: StatusWord | None = None
    waits: str = ""
    join: str = ""


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge, or the link from an LLM to a tool it may call.

    Attributes:
        source: position of its node in the model.
        target: position of its node in the model.
        condition: as written, in full; empty when it has none.
        outcome: in the latest turn; ``None`` when no session is shown, and for a tool link.
        is_call: whether it is a tool link.
    """

    source: int
    target: int
    condition: str = ""
    outcome: OutcomeWord | None = None
    is_call: bool = False


@dataclass(frozen=True, slots=True)
class GraphModel:
    """A graph as it is drawn: nodes and edges in the order of the specs."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]

    @property
    def has_session(self) -> bool:
        """Whether statuses and outcomes are shown."""
        return any(node.status for node in self.nodes)


def graph_model(
    graph: Graph, tree: Tree | None = None, running: Collection[str] = ()
) -> GraphModel:
    """Extract what is drawn.

    Args:
        graph: the specs.
        tree: a session whose latest turn colours the graph; ``None``, or one without a turn, for
            the graph alone.
        running: ids of the executors that run at this moment.
    """
    if tree is not None and not tree.turns:
        tree = None
    index = {name: position for position, name in enumerate(graph.nodes)}
    nodes = tuple(_nodes(graph, tree, running))
    return GraphModel(nodes, tuple(_edges(graph, tree, index)))


def _nodes(graph: Graph, tree: Tree | None, running: Collection[str]) -> Iterator[DrawnNode]:
    by_node: dict[str, list[Executor]] = defaultdict(list)
    for executor in latest_turn(tree) if tree else ():
        by_node[executor.node].append(executor)
    joins = {join.node: join for join in joins_of(tree, tree.turns[-1], graph)} if tree else {}
    for name, node in graph.nodes.items():
        join = joins.get(name)
        outcome = join.outcome if join else None
        status = (
            node_status(by_node[name], running, over=is_over(tree), join=outcome) if tree else None
        )
        waits = f"waits for {node.join.text}" if node.join else ""
        state = join.state if join else ""
        yield DrawnNode(name, kind_word(node.kind), name == graph.entry, status, waits, state)


def _edges(graph: Graph, tree: Tree | None, index: dict[str, int]) -> Iterator[DrawnEdge]:
    outcomes = edge_outcomes(latest_turn(tree)) if tree else {}
    for name, node in graph.nodes.items():
        for edge in node.edges:
            outcome = outcomes.get((name, edge.id), "not considered") if tree else None
            yield DrawnEdge(index[name], index[edge.target], condition_text(edge), outcome)
        yield from _calls(node, index)


def _calls(node: Node, index: dict[str, int]) -> Iterator[DrawnEdge]:
    for tool in node.tools:
        if tool in index:
            yield DrawnEdge(index[node.name], index[tool], is_call=True)


def kind_word(kind: str) -> str:
    """The word shown for a kind of node: ``LLM``, ``tool``, ``function``, ``person``."""
    return _KINDS.get(kind) or one_line(kind, _KIND_CAP)


def condition_text(edge: Edge) -> str:
    """An edge's condition as written, or the name of the function that stands for it."""
    return edge.condition.text if edge.condition else edge.function or ""
