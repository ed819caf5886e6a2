"""Arranging by Graphviz's `dot`, in a child process with bounds.

`dot` is a C library: it cannot be interrupted, its time grows steeply with the graph (277 s were
measured for 500 dense nodes), and its crash would be the kernel's. In a child process it takes some
50 ms for an ordinary graph. For larger ones, where pygraphviz is missing, where no process can be
started, or after a failure there is no answer, and `layers.py` arranges instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from liman_nb.views import dot_program
from liman_nb.views.arrangement import Arrangement, Line, Problem
from liman_nb.views.geometry import Box, Curve, Point

SIZE_LIMIT = 600
"""Boxes and lines up to which `dot` is asked."""

SECONDS_LIMIT = 2.0
"""How long it may take."""


def arrange(problem: Problem, *, seconds: float = SECONDS_LIMIT) -> Arrangement | None:
    """Arrange a problem; ``None`` when `dot` cannot, or not within its bounds."""
    if not problem.sizes or len(problem.sizes) + len(problem.lines) > SIZE_LIMIT:
        return None
    answer = _ask(_as_data(problem), seconds)
    return _arrangement(problem, answer) if answer else None


def _as_data(problem: Problem) -> dict[str, Any]:
    return {
        "sizes": [list(size) for size in problem.sizes],
        "lines": [_line_data(line, problem.waypoints) for line in problem.lines],
        "beside": [list(pair) for pair in problem.beside.items()],
        "rank_gap": problem.rank_gap,
    }


def _line_data(line: Line, waypoints: frozenset[int]) -> list[Any]:
    ends = (line.upper, line.lower)
    way = ("back" if line.is_upwards else "forward") if line.has_tip else "none"
    return [*ends, way, *(end in waypoints for end in ends)]


def _ask(data: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    if not sys.executable:  # Python embedded in another program
        return None
    command = [sys.executable, "-P", str(Path(dot_program.__file__))]
    try:
        done = subprocess.run(  # noqa: S603 - our own file, run by the running interpreter
            command,
            input=json.dumps(data),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows: no console
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return answer


def _arrangement(problem: Problem, answer: dict[str, Any]) -> Arrangement:
    left, bottom, right, top = _numbers(answer["box"])
    boxes = tuple(
        Box(x - left, top - y, *size)
        for (x, y), size in zip(map(_numbers, answer["places"]), problem.sizes, strict=True)
    )
    curves = tuple(
        _curve(spline, left, top, is_reversed=line.is_upwards)
        for spline, line in zip(answer["splines"], problem.lines, strict=True)
    )
    return Arrangement(right - left, top - bottom, boxes, curves, "dot")


def _curve(spline: str, left: float, top: float, *, is_reversed: bool) -> Curve:
    """A curve from Graphviz's ``pos``: control points; before them, marked, an arrow's point."""
    points: list[Point] = []
    tip: Point | None = None
    for word in spline.split():
        x, y = _numbers(word.removeprefix("e,").removeprefix("s,"))
        point = (x - left, top - y)
        if word.startswith(("e,", "s,")):
            tip = point
        else:
            points.append(point)
    return Curve(tuple(reversed(points) if is_reversed else points), tip)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))
