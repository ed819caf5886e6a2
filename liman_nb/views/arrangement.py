"""The arranging problem, free of everything that is not size: boxes, lines between them, loops.

Two methods solve it: `dot.py` (Graphviz) and `layers.py` (our own). A condition's label is a box
that its edge runs through, so neither needs to know about labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from liman_nb.views.geometry import Box, Curve


@dataclass(frozen=True, slots=True)
class Line:
    """A line to draw between two boxes, by their positions in the problem.

    Attributes:
        upper: the box that should stand above.
        lower: the box that should stand below.
        has_tip: whether it ends in an arrow head.
        is_upwards: whether it is drawn from the lower box to the upper one, and ends there.
    """

    upper: int
    lower: int
    has_tip: bool = True
    is_upwards: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """What to arrange.

    Attributes:
        sizes: width and height of each box, in pixels.
        lines: without a cycle, never from a box to itself.
        waypoints: boxes that the lines of one edge run through: its label, or its own room.
        beside: by a box, the box that must stand right beside it: the labels of its self loops.
        rank_gap: pixels between one rank of boxes and the next, at least.
    """

    sizes: tuple[tuple[float, float], ...]
    lines: tuple[Line, ...]
    waypoints: frozenset[int]
    beside: Mapping[int, int]
    rank_gap: float


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A solution: boxes and curves in the problem's order, and the size of the whole.

    Curves run the way their lines are drawn.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    method: str
