"""Self loops: the labels of one node's loops stand as a stack beside it, each with its own curves.

Graphviz's own self loops run through their labels; here the stack is a box like any other, so that
nothing else comes between it and its node.
"""

from __future__ import annotations

from collections.abc import Sequence

from liman_nb.views.geometry import Box, Curve

ROOM = 34.0
"""Pixels between a node and the labels of its loops."""

_GAP = 8.0  # pixels between the labels of a stack
_TIP = 8.0
_MARGIN = 10.0  # of a node's side, above the first curve and below the last

Size = tuple[float, float]


def node_height(loops: int, least: float) -> float:
    """The height a node needs so that the curves of its loops stay apart."""
    return max(least, 2 * _MARGIN + 18.0 * loops)


def stack_size(labels: Sequence[Size]) -> Size:
    """The size of the box that holds labels of these sizes, with the room for the curves."""
    width = max(width for width, _ in labels) + ROOM
    return width, sum(height for _, height in labels) + _GAP * (len(labels) - 1)


def unstack(node: Box, stack: Box, labels: Sequence[Size]) -> list[Box]:
    """The boxes of the labels within their stack, from top to bottom."""
    side = _side(node, stack)
    near = stack.x - side * (stack.width / 2 - ROOM)
    boxes, top = [], stack.top
    for width, height in labels:
        boxes.append(Box(near + side * width / 2, top + height / 2, width, height))
        top += height + _GAP
    return boxes


def loop_curves(node: Box, labels: Sequence[Box]) -> list[tuple[Curve, Curve]]:
    """For each label the curve out to it, and the curve back, which ends in an arrow head."""
    if len(labels) == 1:
        return [_round(node, labels[0])]
    step = (node.height - 2 * _MARGIN) / (2 * len(labels) - 1)
    first = node.top + _MARGIN
    return [
        _swung(node, label, first + 2 * i * step, first + (2 * i + 1) * step)
        for i, label in enumerate(labels)
    ]


def _side(node: Box, other: Box) -> int:
    return 1 if other.x > node.x else -1


def _ends(node: Box, label: Box) -> tuple[int, float, float]:
    """The side, where the loop leaves the node, and the near end of its label."""
    side = _side(node, label)
    return side, node.x + side * node.width / 2, label.x - side * label.width / 2


def _round(node: Box, label: Box) -> tuple[Curve, Curve]:
    """One loop: up and over into the label from above, out below it and back."""
    side, start, near = _ends(node, label)
    middle = (start + near) / 2
    into = near + side * 16
    out, back = node.y - 10, node.y + 10
    bulge = 13.0
    there = Curve(
        (
            (start, out),
            (middle, label.top - bulge),
            (into, label.top - bulge),
            (into, label.top + 2),
        )
    )
    again = Curve(
        (
            (into, label.bottom - 2),
            (into, label.bottom + bulge),
            (middle, label.bottom + bulge),
            (start + side * _TIP, back + 4),
        ),
        tip=(start, back),
    )
    return there, again


def _swung(node: Box, label: Box, out: float, back: float) -> tuple[Curve, Curve]:
    """One of several loops. The ends keep their order on both sides, so no two curves cross."""
    side, start, near = _ends(node, label)
    middle = (start + near) / 2
    upper, lower = label.y - label.height / 5, label.y + label.height / 5
    there = Curve(((start, out), (middle, out), (middle, upper), (near, upper)))
    again = Curve(
        ((near, lower), (middle, lower), (middle, back), (start + side * _TIP, back)),
        tip=(start, back),
    )
    return there, again
