"""Which edges of a graph close a cycle: turned round, they leave it without any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def closing_edges(nodes: Iterable[int], edges: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Positions of the edges that lead back to a node they were reached from, met depth first.

    Args:
        nodes: where to begin, in this order; the first one's edges are followed first.
        edges: from node to node. One from a node to itself counts as closing.
    """
    leaving: dict[int, list[int]] = defaultdict(list)
    for number, (source, _) in enumerate(edges):
        leaving[source].append(number)
    closing: set[int] = set()
    is_open: dict[int, bool] = {}
    for root in nodes:
        path = [] if root in is_open else [(root, iter(leaving[root]))]
        is_open.setdefault(root, True)
        while path:
            found = next(path[-1][1], None)
            if found is None:
                is_open[path.pop()[0]] = False
                continue
            target = edges[found][1]
            if target not in is_open:
                is_open[target] = True
                path.append((target, iter(leaving[target])))
            elif is_open[target]:
                closing.add(found)
    return frozenset(closing)
