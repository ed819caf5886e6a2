"""Boxes and curves of a drawn graph, in pixels from its top left corner, y downwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """Its left side."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its right side."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """Its upper side."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Its lower side."""
        return self.y + self.height / 2

    def turned(self) -> Box:
        """The box with x and y exchanged."""
        return Box(self.y, self.x, self.height, self.width)


@dataclass(frozen=True, slots=True)
class Curve:
    """A chain of cubic Bézier curves.

    Attributes:
        points: the start, then two control points and an end for each curve.
        tip: the point of an arrow head that continues the curve; ``None`` for a plain end.
    """

    points: tuple[Point, ...]
    tip: Point | None = None

    def turned(self) -> Curve:
        """The curve with x and y exchanged."""
        points = tuple((y, x) for x, y in self.points)
        return Curve(points, (self.tip[1], self.tip[0]) if self.tip else None)


@dataclass(frozen=True, slots=True)
class Label:
    """A condition's label: its box and its lines of text."""

    box: Box
    lines: tuple[str, ...]

    def turned(self) -> Label:
        """The label in the box with x and y exchanged."""
        return Label(self.box.turned(), self.lines)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything of a graph stands.

    Attributes:
        width: of the whole drawing.
        height: of the whole drawing.
        nodes: a box per node, in the model's order.
        labels: by the edge's position in the model; an edge without a condition has none.
        curves: by the edge's position: one curve, or two that meet in its label or in its own room.
        start: the mark from which an arrow leads to the entry node.
        start_curve: that arrow; ``None`` when no node is the entry, and the mark is not drawn.
        method: ``dot`` (Graphviz) or ``layers`` (our own).
    """

    width: float
    height: float
    nodes: tuple[Box, ...]
    labels: Mapping[int, Label]
    curves: Mapping[int, tuple[Curve, ...]]
    start: Box
    start_curve: Curve | None
    method: str

    def turned(self) -> Layout:
        """The drawing with x and y exchanged."""
        return Layout(
            self.height,
            self.width,
            tuple(box.turned() for box in self.nodes),
            {number: label.turned() for number, label in self.labels.items()},
            {n: tuple(curve.turned() for curve in curves) for n, curves in self.curves.items()},
            self.start.turned(),
            self.start_curve.turned() if self.start_curve else None,
            self.method,
        )


def straight(start: Point, end: Point) -> tuple[Point, Point, Point]:
    """The control points and the end of a straight line as a Bézier curve."""
    (x0, y0), (x1, y1) = start, end
    return (
        (x0 + (x1 - x0) / 3, y0 + (y1 - y0) / 3),
        (x1 - (x1 - x0) / 3, y1 - (y1 - y0) / 3),
        end,
    )
