"""Lays out a graph: which method arranges it, and in which direction.

What is arranged is decided in `plan.py`; how, in `dot.py` (Graphviz) and `layers.py` (our own).
"""

from __future__ import annotations

from liman_nb.views import dot, layers
from liman_nb.views.geometry import Layout
from liman_nb.views.graph_model import GraphModel
from liman_nb.views.plan import Plan

WIDE = 1_100.0
"""Pixels beyond which a drawing is too wide to be read without scrolling."""

TALL = 1_800.0
"""Pixels beyond which it is inconveniently tall."""


def lay_out(model: GraphModel, *, without_graphviz: bool = False) -> Layout:
    """Arrange a graph: downwards or, where that is too wide to read, from left to right.

    Args:
        model: what is drawn.
        without_graphviz: use our own method only.

    Raises:
        UsageError: the graph is too large to draw.
    """
    downwards = _arranged(Plan(model), without_graphviz)
    if downwards.width <= WIDE:
        return downwards
    sideways = _arranged(Plan(model, is_sideways=True), without_graphviz)
    return min(downwards, sideways, key=_excess)


def _arranged(plan: Plan, without_graphviz: bool) -> Layout:
    arranged = None if without_graphviz else dot.arrange(plan.problem())
    return plan.layout(arranged or layers.arrange(plan.problem()))


def _excess(layout: Layout) -> float:
    """By how much the drawing exceeds what is comfortable to read, the larger side counts."""
    return max(layout.width / WIDE, layout.height / TALL)
