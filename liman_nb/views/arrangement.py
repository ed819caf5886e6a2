"""The arranging problem, free of everything that is not size: boxes, lines between them, loops.

Two methods solve it: `dot.py` (Graphviz) and `layers.py` (our own). A condition's label is a box
that its edge passes through, so neither needs to know about labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liman_nb.views.geometry import Box, Curve


@dataclass(frozen=True, slots=True)
class Line:
    """A line to draw between two boxes, by their positions in the problem.

    Attributes:
        source: where it starts.
        target: where it ends.
        has_tip: whether it ends in an arrow head.
    """

    source: int
    target: int
    has_tip: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """What to arrange.

    Attributes:
        sizes: width and height of each box, in pixels.
        lines: never from a box to itself.
        labels: boxes that belong to an edge, which runs through them; never drawn see-through.
        beside: by a box, the box that must stand right beside it: the labels of its self loops.
    """

    sizes: tuple[tuple[float, float], ...]
    lines: tuple[Line, ...]
    labels: frozenset[int]
    beside: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A solution: boxes and curves in the problem's order, and the size of the whole."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    method: str
