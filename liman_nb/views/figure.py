"""The drawing of a graph as a matplotlib figure, for papers. Imported when one is drawn.

No pyplot: nothing is registered anywhere, so no figure is left behind. Text is drawn as outlines in
the drawing's own coordinates, so that it keeps to its box in an axis of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D

from liman_nb.views.geometry import Box, Curve, Label, Layout, Point
from liman_nb.views.graph_model import DrawnEdge, DrawnNode, GraphModel
from liman_nb.views.labels import elide
from liman_nb.views.palette import INK, OUTCOMES, PAPER, STATUSES, Colours
from liman_nb.views.sizes import (
    CALL_DOT,
    CALL_WIDTH,
    LINE_HEIGHT,
    NODE_INSET,
    label_radius,
    line_heights,
    node_radius,
    status_line,
    text_left,
    waits_line,
)
from liman_nb.views.svg import arrow_head, drawing_order, edge_style

_PIXELS_PER_INCH = 96
_POINTS_PER_INCH = 72
_MARGIN = 8.0
_NO_GLYPH = "□"
_SANS = "DejaVu Sans"  # these two come with matplotlib
_MONO = "DejaVu Sans Mono"
_FALLBACKS = (  # common fonts with many scripts, used where they are installed
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "Segoe UI",
)


@dataclass(frozen=True, slots=True)
class _Type:
    """How a line of text looks; its size in the layout's pixels."""

    size: float
    colour: str
    family: str = _SANS
    weight: str = "normal"


class GraphFigure(Figure):
    """A figure that a notebook shows without pyplot having been set up."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=2 * _PIXELS_PER_INCH)
        width, height = self.get_size_inches() * _PIXELS_PER_INCH
        return buffer.getvalue(), {"width": round(width), "height": round(height)}


def figure(model: GraphModel, layout: Layout, ax: Axes | None = None) -> Figure:
    """Draw a graph.

    Args:
        model: what is drawn.
        layout: where it stands.
        ax: an axis to draw on; without one a figure of the drawing's own size is made.

    Returns:
        The axis' figure, or the new one.
    """
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    if ax is None:
        size = (width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH)
        ax = GraphFigure(figsize=size, facecolor="white").add_axes((0, 0, 1, 1))
    ax.set_xlim(-_MARGIN, width - _MARGIN)
    ax.set_ylim(height - _MARGIN, -_MARGIN)
    ax.set_aspect("equal")
    ax.set_axis_off()
    _draw(_Pen(ax, width, height), model, layout)
    return ax.figure if isinstance(ax.figure, Figure) else ax.figure.figure


def _draw(pen: _Pen, model: GraphModel, layout: Layout) -> None:
    if layout.start_curve:
        style = OUTCOMES["not considered"]
        pen.dot(layout.start, style.light)
        pen.curve(layout.start_curve, style.light, style.width)
    for number in drawing_order(model):
        _draw_edge(pen, model.edges[number], layout.curves[number])
    for number, label in layout.labels.items():
        _draw_label(pen, model.edges[number], label)
    for node, box in zip(model.nodes, layout.nodes, strict=True):
        _draw_node(pen, node, box)


def _draw_edge(pen: _Pen, edge: DrawnEdge, curves: tuple[Curve, ...]) -> None:
    style = OUTCOMES[edge_style(edge)]
    width = CALL_WIDTH if edge.is_call else style.width
    for curve in curves:
        pen.curve(curve, style.light, width, style.dashes)
    if edge.is_call:
        pen.dot(Box(*curves[-1].points[-1], 2 * CALL_DOT, 2 * CALL_DOT), style.light)


def _draw_label(pen: _Pen, edge: DrawnEdge, label: Label) -> None:
    style = OUTCOMES[edge_style(edge)]
    colour = STATUSES[style.chip].light.text if edge.outcome else INK
    pen.box(label.box, label_radius(label), Colours(colour, PAPER, style.light), 1)
    if edge.outcome:
        at = (label.box.left + 8, label.box.y + 4)
        pen.text(style.icon, at, _Type(11, colour, weight="bold"))
    left = text_left(label, has_icon=edge.outcome is not None)
    for number, line in enumerate(label.lines):
        at = (left, label.box.top + 15.3 + LINE_HEIGHT * number)
        pen.text(line, at, _Type(11, colour, _MONO))


def _draw_node(pen: _Pen, node: DrawnNode, box: Box) -> None:
    colours = STATUSES[node.status or "waiting"].light
    pen.box(box, node_radius(node), colours, 1.6)
    left = box.left + (NODE_INSET if node.status else NODE_INSET / 2)
    if node.status:
        icon = STATUSES[node.status].icon
        pen.text(icon, (box.left + 11, box.y + 5), _Type(14, colours.border, weight="bold"))
    name, status, waits = line_heights(node, box)
    pen.text(elide(node.name), (left, name), _Type(13, INK, weight="bold"))
    pen.text(status_line(node, node.status), (left, status), _Type(11, colours.text))
    pen.text(waits_line(node), (left, waits), _Type(11, colours.text))


class _Pen:
    """Draws on one axis in the layout's pixels, whatever the axis' size."""

    def __init__(self, ax: Axes, width: float, height: float) -> None:
        self._ax = ax
        extent = ax.get_window_extent()
        inches = min(extent.width / width, extent.height / height) / ax.figure.dpi
        self._points = inches * _POINTS_PER_INCH  # per pixel of the layout
        installed = {font.name for font in fontManager.ttflist}
        self._fallbacks = [name for name in _FALLBACKS if name in installed]

    def _add(self, patch: Patch) -> None:
        self._ax.add_patch(patch)

    def dot(self, box: Box, colour: str) -> None:
        self._add(Circle((box.x, box.y), box.width / 2, facecolor=colour, edgecolor="none"))

    def box(self, box: Box, radius: float, colours: Colours, width: float) -> None:
        shape = f"round,pad=0,rounding_size={min(radius, box.height / 2, box.width / 2)}"
        self._add(
            FancyBboxPatch(
                (box.left, box.top),
                box.width,
                box.height,
                boxstyle=shape,
                facecolor=colours.ground,
                edgecolor=colours.border,
                linewidth=width * self._points,
            )
        )

    def curve(
        self, curve: Curve, colour: str, width: float, dashes: tuple[float, ...] = ()
    ) -> None:
        head = arrow_head(curve)
        points = [*curve.points, *([head[0]] if head else [])]
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(curve.points) - 1)]
        if head:
            codes.append(Path.LINETO)
            self._add(Polygon(head, closed=True, facecolor=colour, edgecolor="none"))
        self._add(
            PathPatch(
                Path(points, codes),
                facecolor="none",
                edgecolor=colour,
                linewidth=width * self._points,
                linestyle=(0, tuple(dash / width for dash in dashes)) if dashes else "-",
                capstyle="butt",
            )
        )

    def text(self, text: str, at: Point, look: _Type) -> None:
        families = [look.family, *self._fallbacks]
        font = FontProperties(family=families, weight=look.weight)
        shown = _with_glyphs(text, families)
        points, codes = text_to_path.get_text_path(font, shown, ismath=False)
        if len(points):  # a line of blanks has no outline
            scale = look.size / text_to_path.FONT_SCALE
            place = Affine2D().scale(scale, -scale).translate(*at)
            outline = Path(points, codes).transformed(place)
            self._add(PathPatch(outline, facecolor=look.colour, edgecolor="none"))


def _with_glyphs(text: str, families: list[str]) -> str:
    """The text with an empty box for every character that no font has."""
    faces = [get_font(findfont(FontProperties(family=[family]))) for family in families]
    return "".join(
        c if any(face.get_char_index(ord(c)) for face in faces) else _NO_GLYPH for c in text
    )
