"""How large nodes and labels are drawn, and where their text stands. Pixels; no font is asked."""

from __future__ import annotations

from liman_nb.views.geometry import Box, Label
from liman_nb.views.graph_model import DrawnNode
from liman_nb.views.labels import MONO_ADVANCE, bold_width, columns, elide
from liman_nb.views.palette import STATUSES

NODE_HEIGHT = 46.0
"""Height of a node with two lines of text; one that waits for others has a third."""

LINE_HEIGHT = 14.0
"""Height of a line of a label."""

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
_WAITS_COLUMNS = 36

Size = tuple[float, float]


def status_line(node: DrawnNode, status: str | None) -> str:
    """The second line of a node, such as ``done · LLM``."""
    return f"{status} · {node.kind}" if status else node.kind


def waits_line(node: DrawnNode) -> str:
    """The third line of a node that waits for others; empty for any other node."""
    return elide(node.waits, _WAITS_COLUMNS) if node.waits else ""


def line_heights(node: DrawnNode, box: Box) -> tuple[float, float, float]:
    """Where the lines of a node's text stand in its box: name, status, and what it waits for."""
    name = box.y - 3.5 - (LINE_HEIGHT / 2 if node.waits else 0)
    return name, name + 16, name + 16 + LINE_HEIGHT


def node_size(node: DrawnNode) -> Size:
    """Width and height of a node: room for its name and for any status.

    Every status of a session has the same size, so that its colours change without a new layout.
    """
    words = STATUSES if node.status else (None,)
    texts = (
        bold_width(elide(node.name), 13),
        *(bold_width(status_line(node, word), 10) for word in words),  # as wide as 11, not bold
        bold_width(waits_line(node), 10),
    )
    width = max(_NODE_MIN_WIDTH, NODE_INSET + max(texts) + _NODE_MARGIN)
    return width, NODE_HEIGHT + (LINE_HEIGHT if node.waits else 0)


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
