"""The graph as it is shown: drawing, legend, list, and the ways to take it elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup

from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.views.bundles import View
from liman_nb.views.elements import card, folded, header, part, small, tag
from liman_nb.views.escape import safe
from liman_nb.views.geometry import Layout
from liman_nb.views.graph_model import GraphModel, graph_model
from liman_nb.views.graph_text import alternative, graph_list, graph_text, summary
from liman_nb.views.layout import lay_out
from liman_nb.views.mermaid import mermaid
from liman_nb.views.palette import OUTCOMES
from liman_nb.views.sizes import CALL_WIDTH
from liman_nb.views.svg import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import MultiDiGraph

_ALT_CAP = 40_000
_LIST = "font-size:12px;padding:6px 0 0"
_LEAST_SCALE = 0.62  # a wider drawing scrolls sideways rather than shrink below this


class GraphView(View):
    """A graph, and how the latest turn of a session went over it.

    Attributes:
        specs: the checked specs.
    """

    def __init__(
        self, graph: Graph, tree: Tree | None = None, running: Collection[str] = ()
    ) -> None:
        """Take what is drawn of a graph.

        Args:
            graph: the checked specs.
            tree: a session; ``None``, or one without a turn, for the graph alone.
            running: ids of the executors that run at this moment.
        """
        self.specs = graph
        self._model = graph_model(graph, tree, running)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return self.specs.nodes

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of the specs."""
        return tuple(edge for node in self.specs.nodes.values() for edge in node.edges)

    def to_networkx(self) -> MultiDiGraph[str]:
        """The graph as a networkx ``MultiDiGraph``, with node kinds and conditions as data."""
        return self.specs.to_networkx()

    def to_mermaid(self) -> str:
        """The graph as text of a Mermaid flowchart."""
        return mermaid(self._model)

    def to_svg(self) -> str:
        """The drawing as an SVG document.

        Raises:
            UsageError: the graph is too large to draw.
        """
        return svg(self._model, self._layout)

    def draw(self, ax: Axes | None = None) -> Figure:
        """The drawing as a matplotlib figure, made without pyplot.

        Args:
            ax: an axis to draw on; without one a figure of the drawing's own size is made.

        Raises:
            UsageError: the graph is too large to draw.
        """
        from liman_nb.views.figure import figure

        return figure(self._model, self._layout, ax)

    def text(self) -> str:
        """Every node with its edges under it."""
        return graph_text(self._model)

    def html(self) -> Markup:
        """The drawing, its legend and the list of nodes and edges, as a card."""
        return card(header("Graph", facts=summary(self._model)), part(self.body()))

    def body(self) -> Markup:
        """The contents of the card, to stand in another one."""
        listing = folded("Nodes and edges as a list", graph_list(self._model), style=_LIST)
        return tag("div", self._picture(), _legend(self._model), listing)

    @cached_property
    def _layout(self) -> Layout:
        return lay_out(self._model)

    def _picture(self) -> Markup:
        try:
            drawing = self.to_svg()
        except UsageError as error:
            return small(str(error))
        data = base64.b64encode(drawing.encode()).decode()
        width = self._layout.width
        image = tag(
            "img",
            alt=safe(alternative(self._model), _ALT_CAP),
            src=Markup(f"data:image/svg+xml;base64,{data}"),  # noqa: S704 - base64 of our own SVG
            style=f"display:block;margin:0 auto;height:auto;width:100%;max-width:{width + 16:.0f}px"
            f";min-width:{width * _LEAST_SCALE:.0f}px",
        )
        return tag("div", image, style="overflow:auto;max-height:900px")


def _legend(model: GraphModel) -> Markup:
    """What the lines mean; nothing for a graph alone, whose edges are all alike."""
    if not model.has_session:
        return Markup("")
    entries = []
    if any(not edge.is_call for edge in model.edges):
        entries += [
            tag("span", _sample(style.both, style.width, style.dashes), f" {style.icon} {word}")
            for word, style in OUTCOMES.items()
        ]
    if any(edge.is_call for edge in model.edges):
        quiet = OUTCOMES["not considered"].both
        entries.append(tag("span", _sample(quiet, CALL_WIDTH, ()), "● tool of an LLM"))
    look = "display:flex;flex-wrap:wrap;gap:4px 16px;font-size:11px;padding:8px 0 0"
    return tag("div", *entries, style=look)


def _sample(colour: str, width: float, dashes: tuple[float, ...]) -> Markup:
    line = "solid" if not dashes else "dotted" if dashes[0] < 2 else "dashed"  # noqa: PLR2004
    look = f"display:inline-block;width:22px;vertical-align:middle;border-top:{width}px {line}"
    return tag("span", "", style=f"{look} {colour}")
