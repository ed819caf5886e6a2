"""A graph as an arranging problem, and its solution as a drawing.

Each label is a box of its own that its edge runs through, so labels overlap nothing by construction
and parallel edges stay apart. Edges that lead back are upward lines, so no line closes a cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from liman_nb.views.arrangement import Arrangement, Line, Problem
from liman_nb.views.cycles import closing_edges
from liman_nb.views.geometry import Curve, Label, Layout
from liman_nb.views.graph_model import DrawnEdge, DrawnNode, GraphModel
from liman_nb.views.labels import wrap
from liman_nb.views.loops import loop_curves, node_height, stack_size, unstack
from liman_nb.views.sizes import START_SIZE, Size, label_size, node_size

RANK_GAP = 22.0
"""Pixels between ranks of a drawing downwards."""

SIDEWAYS_GAP = 44.0
"""Pixels between ranks of a drawing from left to right, whose lines turn more sharply."""

_LANE = (12.0, 0.5)  # the box that keeps a parallel line away from others


class Plan:
    """Which box of the problem stands for what, and which lines for which edge.

    The start mark is the first box, so that both methods begin there; then come the nodes. A
    drawing from left to right is one downwards of turned boxes, turned back at the end.
    """

    def __init__(self, model: GraphModel, *, is_sideways: bool = False) -> None:
        self._is_sideways = is_sideways
        self._nodes = len(model.nodes)
        self._texts = _texts(model)
        self._loops: dict[int, list[int]] = defaultdict(list)
        for number, edge in enumerate(model.edges):
            if edge.source == edge.target:
                self._loops[edge.source].append(number)
        self._sizes: list[Size] = [(START_SIZE, START_SIZE)]
        self._sizes += [self._node_size(n, len(self._loops[i])) for i, n in enumerate(model.nodes)]
        self._lines = [Line(0, 1 + i) for i, node in enumerate(model.nodes) if node.is_entry]
        self._has_start = bool(self._lines)
        self._labels: dict[int, int] = {}
        self._waypoints: list[int] = []
        self._taken: set[frozenset[int]] = set()
        self._edge_lines: dict[int, tuple[int, ...]] = {}
        upwards = _upward_edges(model)
        for number, edge in enumerate(model.edges):
            if edge.source != edge.target:
                self._add_edge(number, edge, is_upwards=number in upwards)
        self._stacks = {
            node: self._add_box(stack_size(self._loop_sizes(numbers)))
            for node, numbers in self._loops.items()
            if numbers
        }

    def _add_edge(self, number: int, edge: DrawnEdge, *, is_upwards: bool) -> None:
        source, target, has_tip = 1 + edge.source, 1 + edge.target, not edge.is_call
        waypoint = self._waypoint(number, frozenset((source, target)))
        if waypoint is None:
            self._edge_lines[number] = (self._add_line(source, target, has_tip, is_upwards),)
            return
        self._edge_lines[number] = (
            self._add_line(source, waypoint, False, is_upwards),
            self._add_line(waypoint, target, has_tip, is_upwards),
        )

    def _waypoint(self, number: int, ends: frozenset[int]) -> int | None:
        """The box that an edge runs through: its label, or room of its own beside another edge.

        Graphviz draws parallel lines side by side without asking for that room.
        """
        if number in self._texts:
            box = self._labels[number] = self._add_box(self._label_size(number))
        elif ends in self._taken:
            box = self._add_box(_LANE)
        else:
            self._taken.add(ends)
            return None
        self._waypoints.append(box)
        return box

    def _add_box(self, size: Size) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def _add_line(self, source: int, target: int, has_tip: bool, is_upwards: bool) -> int:
        ends = (target, source) if is_upwards else (source, target)
        self._lines.append(Line(*ends, has_tip, is_upwards))
        return len(self._lines) - 1

    def _node_size(self, node: DrawnNode, loops: int) -> Size:
        width, height = self._turned(node_size(node))
        return width, node_height(loops, height)

    def _label_size(self, number: int) -> Size:
        return self._turned(label_size(self._texts[number]))

    def _loop_sizes(self, numbers: list[int]) -> list[Size]:
        return [self._label_size(number) for number in numbers]

    def _turned(self, size: Size) -> Size:
        return (size[1], size[0]) if self._is_sideways else size

    def problem(self) -> Problem:
        """What is to be arranged."""
        beside = {1 + node: stack for node, stack in self._stacks.items()}
        return Problem(
            tuple(self._sizes),
            tuple(self._lines),
            frozenset(self._waypoints),
            beside,
            SIDEWAYS_GAP if self._is_sideways else RANK_GAP,
        )

    def layout(self, arranged: Arrangement) -> Layout:
        """The arranged boxes and lines as nodes, labels and edges."""
        labels = {
            number: Label(arranged.boxes[box], self._texts[number])
            for number, box in self._labels.items()
        }
        curves = {
            number: tuple(arranged.curves[line] for line in lines)
            for number, lines in self._edge_lines.items()
        }
        for number, label, loop in self._drawn_loops(arranged):
            labels[number], curves[number] = label, loop
        layout = Layout(
            arranged.width,
            arranged.height,
            arranged.boxes[1 : 1 + self._nodes],
            labels,
            curves,
            arranged.boxes[0],
            arranged.curves[0] if self._has_start else None,
            arranged.method,
        )
        return layout.turned() if self._is_sideways else layout

    def _drawn_loops(
        self, arranged: Arrangement
    ) -> Iterator[tuple[int, Label, tuple[Curve, Curve]]]:
        for node, stack in self._stacks.items():
            numbers, box = self._loops[node], arranged.boxes[1 + node]
            boxes = unstack(box, arranged.boxes[stack], self._loop_sizes(numbers))
            for number, place, loop in zip(numbers, boxes, loop_curves(box, boxes), strict=True):
                yield number, Label(place, self._texts[number]), loop


def _texts(model: GraphModel) -> dict[int, tuple[str, ...]]:
    """The label of each edge that has one. A self loop without a condition is ``always``."""
    return {
        number: wrap(edge.condition) or ("always",)
        for number, edge in enumerate(model.edges)
        if edge.condition or edge.source == edge.target
    }


def _upward_edges(model: GraphModel) -> frozenset[int]:
    """The edges that lead back: all others run downwards from the entry."""
    entries = [number for number, node in enumerate(model.nodes) if node.is_entry]
    ends = [(edge.source, edge.target) for edge in model.edges]
    return closing_edges([*entries, *range(len(model.nodes))], ends)
