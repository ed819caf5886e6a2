"""Checks a drawn graph: what overlaps, which edges are missing, which curve runs through what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import dist

from liman_nb.views.geometry import Box, Curve, Layout, Point
from liman_nb.views.graph_model import GraphModel

SAMPLES = 24


def faults(model: GraphModel, layout: Layout) -> list[str]:
    """Every fault of the drawing, in words; an empty list for a good one."""
    lost = [f"edge {n} is not drawn" for n in range(len(model.edges)) if n not in layout.curves]
    lost += [f"there is no edge {n}" for n in layout.curves if n >= len(model.edges)]
    if lost:
        return lost
    return [
        *_overlaps(layout),
        *_outside(layout),
        *_incomplete(model, layout),
        *_detached(model, layout),
        *_trespassing(model, layout),
    ]


def points_of(curve: Curve) -> Iterator[Point]:
    """Points along the curve, and its arrow's tip."""
    starts = curve.points[:-1:3]
    for number, start in enumerate(starts):
        one, two, end = curve.points[3 * number + 1 : 3 * number + 4]
        for step in range(SAMPLES + 1):
            yield _bezier(start, one, two, end, step / SAMPLES)
    if curve.tip:
        yield curve.tip


def _bezier(a: Point, b: Point, c: Point, d: Point, t: float) -> Point:
    u = 1 - t
    x, y = (u**3 * a[i] + 3 * u * u * t * b[i] + 3 * u * t * t * c[i] + t**3 * d[i] for i in (0, 1))
    return x, y


def _boxes(layout: Layout) -> dict[str, Box]:
    boxes = {f"node {i}": box for i, box in enumerate(layout.nodes)}
    boxes |= {f"label {i}": label.box for i, label in layout.labels.items()}
    return boxes | ({"start": layout.start} if layout.start_curve else {})


def _overlaps(layout: Layout) -> Iterator[str]:
    for (one, a), (other, b) in combinations(_boxes(layout).items(), 2):
        apart_x = max(a.left, b.left) - min(a.right, b.right)
        apart_y = max(a.top, b.top) - min(a.bottom, b.bottom)
        if max(apart_x, apart_y) < 1:
            yield f"{one} overlaps {other}"


def _outside(layout: Layout) -> Iterator[str]:
    for name, box in _boxes(layout).items():
        if box.left < -1 or box.top < -1 or box.right > layout.width + 1:
            yield f"{name} is outside"
        if box.bottom > layout.height + 1:
            yield f"{name} is below the drawing"


def _incomplete(model: GraphModel, layout: Layout) -> Iterator[str]:
    if len(layout.nodes) != len(model.nodes):
        yield "the drawn nodes are not the graph's"
    for number, edge in enumerate(model.edges):
        labelled = bool(edge.condition) or edge.source == edge.target
        if labelled != (number in layout.labels):
            yield f"edge {number} has no label, or one too many"
        has_tip = layout.curves[number][-1].tip is not None
        if has_tip == edge.is_call:
            yield f"edge {number} has the wrong end"


def _detached(model: GraphModel, layout: Layout) -> Iterator[str]:
    """Edges that do not lead from their source, through their label, to their target."""
    for number, edge in enumerate(model.edges):
        curves = layout.curves[number]
        starts = [curve.points[0] for curve in curves]
        ends = [curve.tip or curve.points[-1] for curve in curves]
        if not _touches(layout.nodes[edge.source], starts[0]):
            yield f"edge {number} does not start at its source"
        if not _touches(layout.nodes[edge.target], ends[-1]):
            yield f"edge {number} does not end at its target"
        if number in layout.labels:
            box = layout.labels[number].box
            if len(curves) != 2 or not (_touches(box, ends[0]) and _touches(box, starts[1])):
                yield f"edge {number} does not run through its label"
        elif any(dist(end, start) > 3 for end, start in zip(ends, starts[1:], strict=False)):
            yield f"edge {number} is broken"


def _touches(box: Box, point: Point) -> bool:
    x, y = point
    return box.left - 3 <= x <= box.right + 3 and box.top - 3 <= y <= box.bottom + 3


def _trespassing(model: GraphModel, layout: Layout) -> Iterator[str]:
    """Curves that run through a box that is not theirs."""
    boxes = _boxes(layout)
    for number, curves in layout.curves.items():
        edge = model.edges[number]
        own = {f"node {edge.source}", f"node {edge.target}", f"label {number}"}
        foreign = {name: box for name, box in boxes.items() if name not in own}
        for curve in curves:
            for point in points_of(curve):
                yield from (
                    f"edge {number} runs through {name}"
                    for name, box in foreign.items()
                    if _inside(box, point)
                )


def _inside(box: Box, point: Point, margin: float = 1.5) -> bool:
    x, y = point
    return box.left + margin < x < box.right - margin and box.top + margin < y < box.bottom - margin
