"""The program that `dot.py` runs in a child process: Graphviz's `dot` on plain data.

It reads one JSON problem from standard input and writes one JSON answer to standard output. So that
it starts fast, and wherever the package lies, it imports nothing of this package.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_POINTS_PER_INCH = 72
_GAP = 0.3  # inches between neighbours


def place(problem: dict[str, Any]) -> dict[str, Any]:
    """Arrange boxes in ranks.

    Args:
        problem: ``sizes`` (``[width, height]`` per box, in points), ``lines`` (``[upper, lower,
            arrow, upper_is_waypoint, lower_is_waypoint]``), ``beside`` (pairs of boxes that stand
            side by side), ``rank_gap`` (in points).

    Returns:
        ``box`` (Graphviz's bounding box), ``places`` (``x,y`` per box) and ``splines`` (one per
        line), all as Graphviz writes them: points, y upwards.

    Raises:
        ImportError: pygraphviz is not installed.
        ValueError: Graphviz could not lay it out.
    """
    from pygraphviz import AGraph

    graph = AGraph(strict=False, directed=True)
    graph.graph_attr.update(nodesep=_GAP, splines="spline", start="1")
    graph.graph_attr.update(ranksep=problem["rank_gap"] / _POINTS_PER_INCH)
    graph.node_attr.update(shape="box", fixedsize="true", label="")
    graph.edge_attr.update(arrowsize="0.7")
    for box, (width, height) in enumerate(problem["sizes"]):
        graph.add_node(box, width=width / _POINTS_PER_INCH, height=height / _POINTS_PER_INCH)
    for number, line in enumerate(problem["lines"]):
        _add_line(graph, number, line)
    for pair in problem["beside"]:
        cluster = graph.add_subgraph(pair, name=f"cluster{pair[0]}", margin=0)
        cluster.add_subgraph(pair, rank="same")
    graph.layout("dot")
    return {
        "box": graph.graph_attr["bb"],
        "places": [_position(graph.get_node(box)) for box in range(len(problem["sizes"]))],
        "splines": [
            _position(graph.get_edge(upper, lower, number))
            for number, (upper, lower, *_) in enumerate(problem["lines"])
        ],
    }


def _position(part: Any) -> str:
    position = part.attr["pos"]
    if not position:
        raise ValueError(f"dot left {part!r} without a position")
    return str(position)


def _add_line(graph: Any, number: int, line: list[Any]) -> None:
    upper, lower, arrow, upper_is_waypoint, lower_is_waypoint = line
    graph.add_edge(
        upper,
        lower,
        key=number,
        dir=arrow,
        tailclip=str(not upper_is_waypoint).lower(),
        headclip=str(not lower_is_waypoint).lower(),
        weight=2 if upper_is_waypoint or lower_is_waypoint else 1,
    )


if __name__ == "__main__":
    json.dump(place(json.load(sys.stdin)), sys.stdout)
