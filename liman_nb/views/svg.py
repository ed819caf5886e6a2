"""The static drawing of a graph as SVG for an ``<img>``: no script, no style sheet, no own font.

It reads on a light and on a dark page: the ground is transparent, boxes carry their own ground and
text colour, and lines have colours that stand out on both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from liman_nb.views.escape import safe
from liman_nb.views.geometry import Box, Curve, Label, Layout, Point
from liman_nb.views.graph_model import DrawnEdge, GraphModel
from liman_nb.views.icons import KIND_ICONS, OUTCOME_ICONS, STATUS_ICONS
from liman_nb.views.labels import elide
from liman_nb.views.palette import INK, OUTCOMES, PAPER, STATUSES, Colours, OutcomeWord
from liman_nb.views.sizes import (
    CALL_DOT,
    CALL_WIDTH,
    LABEL_INSET,
    LINE_HEIGHT,
    NODE_INSET,
    label_radius,
    line_heights,
    node_radius,
    status_line,
    text_left,
    waits_line,
)

SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
MONO = "Menlo,Consolas,'DejaVu Sans Mono',monospace"

_MARGIN = 8.0
_TIP = 8.0
_TITLE_CAP = 1_000


def svg(model: GraphModel, layout: Layout) -> str:
    """A complete SVG document."""
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    edges = [*_start(layout), *_edges(model, layout)]
    body = "".join([*edges, *_labels(model, layout), *_nodes(model, layout)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN:.0f} {-_MARGIN:.0f} {width:.0f} {height:.0f}" '
        f'font-family="{SANS}">{body}</svg>'
    )


def edge_style(edge: DrawnEdge) -> OutcomeWord:
    """The style an edge is drawn in: that of its outcome, or the quiet one."""
    return edge.outcome or "not considered"


def drawing_order(model: GraphModel) -> list[int]:
    """Positions of the edges, those that should lie on top last."""
    ranks = ("not considered", "not fired", "undecided", "fired")
    return sorted(range(len(model.edges)), key=lambda n: ranks.index(edge_style(model.edges[n])))


def arrow_head(curve: Curve) -> tuple[Point, Point, Point] | None:
    """The corners of the curve's arrow head, the tip first."""
    if curve.tip is None:
        return None
    (x, y), (from_x, from_y) = curve.tip, curve.points[-1]
    angle = math.atan2(y - from_y, x - from_x)
    left, right = (
        (x - _TIP * math.cos(angle + turn), y - _TIP * math.sin(angle + turn))
        for turn in (0.42, -0.42)
    )
    return curve.tip, left, right


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


def _start(layout: Layout) -> Iterator[str]:
    if layout.start_curve is None:
        return
    colour, box = OUTCOMES["not considered"].both, layout.start
    yield f'<circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="{box.width / 2:.1f}" fill="{colour}"/>'
    yield from _curve(
        layout.start_curve, colour, f'stroke-width="{OUTCOMES["not considered"].width}"'
    )


def _edges(model: GraphModel, layout: Layout) -> Iterator[str]:
    for number in drawing_order(model):
        edge = model.edges[number]
        style = OUTCOMES[edge_style(edge)]
        stroke = f'stroke-width="{CALL_WIDTH if edge.is_call else style.width}"'
        if style.dashes:
            stroke += f' stroke-dasharray="{" ".join(f"{n:g}" for n in style.dashes)}"'
        for curve in layout.curves[number]:
            yield from _curve(curve, style.both, stroke)
        if edge.is_call:
            x, y = layout.curves[number][-1].points[-1]
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{CALL_DOT}" fill="{style.both}"/>'


def _curve(curve: Curve, colour: str, stroke: str) -> Iterator[str]:
    start, *rest = curve.points
    path = f"M{_at(start)}C{' '.join(map(_at, rest))}"
    head = arrow_head(curve)
    if head:
        path += f"L{_at(_between(curve.points[-1], head[0]))}"
    yield f'<path d="{path}" fill="none" stroke="{colour}" {stroke} stroke-linecap="round"/>'
    if head:
        tip, left, right = map(_at, head)
        yield f'<path d="M{tip}L{left}L{right}Z" fill="{colour}"/>'


def _between(point: Point, tip: Point) -> Point:
    """A point within the arrow head, so that the line's round end does not stick out of it."""
    return point[0] * 0.4 + tip[0] * 0.6, point[1] * 0.4 + tip[1] * 0.6


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


# ── labels and nodes ─────────────────────────────────────────────────────────────────────────────


def _labels(model: GraphModel, layout: Layout) -> Iterator[str]:
    for number in sorted(layout.labels):
        edge, label = model.edges[number], layout.labels[number]
        style = OUTCOMES[edge_style(edge)]
        text = STATUSES[style.chip].light.text
        colours = Colours(text, PAPER, style.both)
        yield f"<g>{_title(edge.condition)}{_rect(label.box, label_radius(label), colours, 1)}"
        if edge.outcome:
            yield _icon(OUTCOME_ICONS[edge.outcome], label.box.left + 13, label.box.y, text)
        yield from _label_lines(label, text if edge.outcome else INK, has_icon=bool(edge.outcome))
        yield "</g>"


def _label_lines(label: Label, colour: str, *, has_icon: bool) -> Iterator[str]:
    x, room = text_left(label, has_icon=has_icon), label.box.width - LABEL_INSET
    for number, line in enumerate(label.lines):
        y = label.box.top + 15.3 + LINE_HEIGHT * number
        yield _text(line, (x, y), room, f'font-size="11" font-family="{MONO}" fill="{colour}"')


def _nodes(model: GraphModel, layout: Layout) -> Iterator[str]:
    for node, box in zip(model.nodes, layout.nodes, strict=True):
        colours = STATUSES[node.status or "waiting"].light
        x, room = box.left + NODE_INSET, box.width - NODE_INSET
        icon = STATUS_ICONS[node.status] if node.status else KIND_ICONS.get(node.kind, "")
        name, status, waits = line_heights(node, box)
        quiet = f'font-size="11" fill="{colours.text}"'
        title = "\n".join(filter(None, (node.name, node.waits, node.join)))
        yield f"<g>{_title(title)}{_rect(box, node_radius(node), colours, 1.6)}"
        yield _icon(icon, box.left + 17, box.y, colours.border if node.status else colours.text)
        yield _text(
            elide(node.name),
            (x, name),
            room,
            f'font-size="13" font-weight="600" fill="{INK}"',
        )
        yield _text(status_line(node, node.status), (x, status), room, quiet)
        if node.waits:
            yield _text(waits_line(node), (x, waits), room, quiet)
        yield "</g>"


def _rect(box: Box, radius: float, colours: Colours, width: float) -> str:
    return (
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.0f}" fill="{colours.ground}" '
        f'stroke="{colours.border}" stroke-width="{width}"/>'
    )


def _icon(icon: str, x: float, y: float, colour: str) -> str:
    return f'<g transform="translate({x:.1f} {y:.1f})" color="{colour}">{icon}</g>'


def _title(text: str) -> str:
    """The full text, shown by browsers over the drawing itself (not over an ``<img>``)."""
    return f"<title>{safe(text, _TITLE_CAP)}</title>" if text else ""


def _text(text: str, at: Point, room: float, style: str) -> str:
    """A line of text. Text of unknown width is clipped to its room, so that it overlaps nothing."""
    x, y = at
    if text.isascii():
        return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{safe(text)}</text>'
    return (
        f'<svg x="{x:.1f}" y="{y - 12:.1f}" width="{room:.1f}" height="17">'
        f'<text y="12" {style}>{safe(text)}</text></svg>'
    )
