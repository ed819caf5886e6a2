"""What joins there are in a graph: their forks, what they wait for, and what can reach it.

Pure functions of the graph, computed once for each node that turns enter at. What happens at a join
during a turn is `joins.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from liman_nb.specs.documents import ToolNodeSpec
from liman_nb.specs.graph import Graph, Node, NodeKind
from liman_nb.specs.joins import Test, compiled


@dataclass(frozen=True, slots=True)
class Plan:
    """A join in a graph that is entered at a certain node.

    Attributes:
        node: its name.
        kind: its kind.
        fork: name of the node that its branches come from.
        bits: one bit for each of its sources, in the order of ``wait_for``.
        rule: when it starts.
        seconds: how long it waits after the first arrival; ``None`` for as long as it takes.
        reach: by node, the sources that can be reached from there, itself included, without
            passing the join or the fork.
        circular: whether it may wait for another join that waits for it.
    """

    node: str
    kind: NodeKind
    fork: str
    bits: Mapping[str, int]
    rule: Test
    seconds: float | None
    reach: Mapping[str, int]
    circular: bool = False

    @property
    def full(self) -> int:
        """All of its sources."""
        return (1 << len(self.bits)) - 1

    def names(self, mask: int) -> tuple[str, ...]:
        """The sources whose bits are set."""
        return tuple(name for name, bit in self.bits.items() if mask & bit)

    def mask(self, names: Iterable[str]) -> int:
        """The bits of sources."""
        return reduce(or_, (self.bits[name] for name in names), 0)


class Joins:
    """The joins of a graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = [node for node in graph.nodes.values() if node.join is not None]
        self._plans: dict[str, dict[str, Plan]] = {}

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def __contains__(self, node: str) -> bool:
        return any(node == join.name for join in self._nodes)

    def entered_at(self, entry: str) -> Mapping[str, Plan]:
        """The joins by name, for turns that enter at a node."""
        if entry not in self._plans:
            dominators = _dominators(self._graph, entry)
            plans = {n.name: _plan(self._graph, n, dominators) for n in self._nodes}
            circular = _circular(plans)
            self._plans[entry] = {
                name: replace(plan, circular=name in circular) for name, plan in plans.items()
            }
        return self._plans[entry]


def _targets(node: Node) -> tuple[str, ...]:
    return (*(edge.target for edge in node.edges), *node.tools)


def _dominators(graph: Graph, entry: str) -> dict[str, set[str]]:
    """By node that can be reached: the nodes on every way to it from the entry, and itself.

    The least solution of the usual data-flow equations (Allen and Cocke, 1976), by iteration.
    """
    found: dict[str, set[str]] = {entry: {entry}}
    todo = [entry]
    while todo:
        name = todo.pop()
        for target in _targets(graph.nodes[name]):
            through = {target} | (found[name] & found[target] if target in found else found[name])
            if target not in found or through != found[target]:
                found[target] = through
                todo.append(target)
    return found


def _plan(graph: Graph, node: Node, dominators: Mapping[str, set[str]]) -> Plan:
    assert node.join is not None, "only joins are planned"
    bits = {source: 1 << i for i, source in enumerate(node.join.sources)}
    ways = [dominators[source] for source in bits if source in dominators]
    common = set.intersection(*ways) if ways else set()
    fork = max(common, key=lambda name: len(dominators[name]), default="")
    rule = compiled(node.join.rule, bits)
    reach = _reach(graph, bits, {node.name, fork})
    seconds = None if isinstance(node.spec, ToolNodeSpec) else node.spec.wait_for_timeout
    return Plan(node.name, node.kind, fork, bits, rule, seconds, reach)


def _reach(graph: Graph, bits: Mapping[str, int], closed: set[str]) -> dict[str, int]:
    reach = {name: 0 if name in closed else bits.get(name, 0) for name in graph.nodes}
    changed = True
    while changed:
        changed = False
        for node in graph.nodes.values():
            if node.name not in closed:
                through = reduce(or_, map(reach.__getitem__, _targets(node)), reach[node.name])
                changed = changed or through != reach[node.name]
                reach[node.name] = through
    return reach


def _circular(plans: Mapping[str, Plan]) -> set[str]:
    """The joins that stand on a circle of joins, each of which may wait for the next."""
    waits_for = {n: {m for m in plans if m != n and p.reach[m]} for n, p in plans.items()}
    for via in plans:  # Warshall: the transitive closure
        for name in plans:
            if via in waits_for[name]:
                waits_for[name] |= waits_for[via]
    return {name for name in plans if name in waits_for[name]}
