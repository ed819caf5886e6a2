"""Which nodes can be reached from a node, over its edges and its tools, and on which way."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from liman_nb.specs.graph import Node


def ways_from(nodes: Mapping[str, Node], start: str) -> dict[str, str]:
    """Each node that can be reached, with the node before it on a shortest way.

    The start is among them only if a way leads back to it.
    """
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for following in (*(edge.target for edge in nodes[here].edges), *nodes[here].tools):
            if following not in came_from and following in nodes:
                came_from[following] = here
                waiting.append(following)
    return came_from


def way(nodes: Mapping[str, Node], start: str, end: str) -> tuple[str, ...]:
    """The nodes on a shortest way, both ends included; empty if there is none."""
    came_from = ways_from(nodes, start)
    if end not in came_from:
        return ()
    names = [end, came_from[end]]
    while names[-1] != start:
        names.append(came_from[names[-1]])
    return tuple(reversed(names))
