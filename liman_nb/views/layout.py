"""From a graph to places: sizes of boxes, the arranging, and back to nodes, labels and curves.

Each label is a box of its own that its edge runs through, so labels overlap nothing by
construction and parallel edges stay apart. How boxes are arranged is decided in `dot.py` and
`layers.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from liman_nb.views import dot, layers
from liman_nb.views.arrangement import Arrangement, Line, Problem
from liman_nb.views.geometry import Curve, Label, Layout
from liman_nb.views.graph_model import DrawnNode, GraphModel
from liman_nb.views.labels import MONO_ADVANCE, bold_width, columns, elide, wrap
from liman_nb.views.loops import loop_curves, node_height, stack_size, unstack
from liman_nb.views.palette import STATUSES

NODE_HEIGHT = 46.0
LINE_HEIGHT = 14.0
LABEL_INSET = 24.0
"""Where a label's text starts, beside the icon of its outcome."""

NODE_INSET = 32.0
"""Where a node's text starts, beside its icon."""

START_SIZE = 12.0
"""Diameter of the mark that an arrow leads from to the entry node."""

CALL_WIDTH = 1.1
"""Width of the line from an LLM to a tool."""

CALL_DOT = 3.2
"""Radius of the dot at the tool's end of it."""

_RADII = {"person": 23.0, "tool": 4.0}
_RADIUS = 9.0
_LABEL_RADIUS = 11.0
_NODE_MIN_WIDTH = 96.0
_NODE_MARGIN = 14.0

Size = tuple[float, float]


def lay_out(model: GraphModel, *, without_graphviz: bool = False) -> Layout:
    """Arrange a graph.

    Args:
        model: what is drawn.
        without_graphviz: use our own method only.

    Raises:
        UsageError: the graph is too large to draw.
    """
    plan = _Plan(model)
    arranged = None if without_graphviz else dot.arrange(plan.problem())
    return plan.layout(arranged or layers.arrange(plan.problem()))


def status_line(node: DrawnNode, status: str | None) -> str:
    """The second line of a node, such as ``done · LLM``."""
    return f"{status} · {node.kind}" if status else node.kind


def node_size(node: DrawnNode, loops: int = 0) -> Size:
    """Width and height of a node: room for its name, for any status, and for its self loops.

    Every status of a session has the same size, so that its colours change without a new layout.
    """
    words = STATUSES if node.status else (None,)
    texts = (
        bold_width(elide(node.name), 13),
        *(bold_width(status_line(node, word), 10) for word in words),
    )
    width = max(_NODE_MIN_WIDTH, NODE_INSET + max(texts) + _NODE_MARGIN)
    return width, node_height(loops, NODE_HEIGHT)


def node_radius(node: DrawnNode) -> float:
    """Corner radius of a node's box, which tells its kind beside the word."""
    return _RADII.get(node.kind, _RADIUS)


def label_radius(label: Label) -> float:
    """Corner radius of a condition's label."""
    return min(_LABEL_RADIUS, label.box.height / 2)


def text_left(label: Label, *, has_icon: bool) -> float:
    """Where the lines of a label start: beside its icon, or centred when it has none."""
    if has_icon:
        return label.box.left + LABEL_INSET
    return label.box.x - max(map(columns, label.lines)) * MONO_ADVANCE / 2


def label_size(lines: tuple[str, ...]) -> Size:
    """Width and height of a condition's label."""
    width = max(map(columns, lines)) * MONO_ADVANCE + LABEL_INSET + 8
    return width, 8 + LINE_HEIGHT * len(lines)


class _Plan:
    """Which box of the problem stands for what, and which lines for which edge.

    The start mark is the first box, so that both methods begin there; then come the nodes.
    """

    def __init__(self, model: GraphModel) -> None:
        self._nodes = len(model.nodes)
        self._texts = _texts(model)
        self._loops: dict[int, list[int]] = defaultdict(list)
        for number, edge in enumerate(model.edges):
            if edge.source == edge.target:
                self._loops[edge.source].append(number)
        self._sizes: list[Size] = [(START_SIZE, START_SIZE)]
        self._sizes += [node_size(n, len(self._loops[i])) for i, n in enumerate(model.nodes)]
        self._lines = [Line(0, 1 + i) for i, node in enumerate(model.nodes) if node.is_entry]
        self._has_start = bool(self._lines)
        self._labels: dict[int, int] = {}
        self._edge_lines: dict[int, tuple[int, ...]] = {}
        for number, edge in enumerate(model.edges):
            if edge.source != edge.target:
                self._add_edge(number, 1 + edge.source, 1 + edge.target, has_tip=not edge.is_call)
        self._stacks = {
            node: self._add_box(stack_size(self._loop_sizes(numbers)))
            for node, numbers in self._loops.items()
            if numbers
        }

    def _add_edge(self, number: int, source: int, target: int, *, has_tip: bool) -> None:
        if number not in self._texts:
            self._edge_lines[number] = (self._add_line(Line(source, target, has_tip)),)
            return
        label = self._labels[number] = self._add_box(label_size(self._texts[number]))
        self._edge_lines[number] = (
            self._add_line(Line(source, label, has_tip=False)),
            self._add_line(Line(label, target, has_tip)),
        )

    def _add_box(self, size: Size) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def _add_line(self, line: Line) -> int:
        self._lines.append(line)
        return len(self._lines) - 1

    def _loop_sizes(self, numbers: list[int]) -> list[Size]:
        return [label_size(self._texts[number]) for number in numbers]

    def problem(self) -> Problem:
        """What is to be arranged."""
        beside = {1 + node: stack for node, stack in self._stacks.items()}
        return Problem(
            tuple(self._sizes), tuple(self._lines), frozenset(self._labels.values()), beside
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
        return Layout(
            arranged.width,
            arranged.height,
            arranged.boxes[1 : 1 + self._nodes],
            labels,
            curves,
            arranged.boxes[0],
            arranged.curves[0] if self._has_start else None,
            arranged.method,
        )

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
