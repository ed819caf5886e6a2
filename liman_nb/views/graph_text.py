"""A graph in words: for terminals, for the image's alternative text, and as a list beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from markupsafe import Markup

from liman_nb.views.elements import MONO, WRAPPED, count, more, tag
from liman_nb.views.escape import one_line, safe
from liman_nb.views.graph_model import DrawnEdge, DrawnNode, GraphModel

_CONDITION_CAP = 300
_ALT_CAP = 12_000
_TEXT_ROWS = 400
_LIST_ROWS = 200
_LIST_CAP = 100_000


def summary(model: GraphModel) -> str:
    """Such as ``8 nodes, 13 edges, 2 tool links``."""
    links = sum(edge.is_call for edge in model.edges)
    counts = [count(len(model.nodes), "node"), count(len(model.edges) - links, "edge")]
    return ", ".join([*counts, count(links, "tool link")] if links else counts)


def graph_text(model: GraphModel) -> str:
    """Every node with its edges under it."""
    rows = list(_rows(model))
    hidden = len(rows) - _TEXT_ROWS
    tail = [f"… {hidden:,} more lines"] if hidden > 0 else []
    return "\n".join([f"Graph: {summary(model)}", *rows[:_TEXT_ROWS], *tail])


def alternative(model: GraphModel) -> str:
    """The alternative text of the drawing: every node with its status, every edge in full."""
    nodes = [", ".join(_node_rows(node)) for node in model.nodes]
    edges = [
        f"{one_line(model.nodes[edge.source].name)} to {_edge_words(model, edge)}"
        for edge in model.edges
    ]
    return f"Graph of {summary(model)}. Nodes: {_listed(nodes)}. Edges: {_listed(edges) or 'none'}."


def graph_list(model: GraphModel) -> Markup:
    """The same as a list, for reading the conditions in full."""
    rows = list(_rows(model))
    text = safe("\n".join(rows[:_LIST_ROWS]), _LIST_CAP)
    body = tag("div", text, style=f"{MONO};{WRAPPED};line-height:1.5")
    return tag("div", body, more(len(rows) - _LIST_ROWS, "more lines"))


def _rows(model: GraphModel) -> Iterator[str]:
    leaving: dict[int, list[DrawnEdge]] = defaultdict(list)
    for edge in model.edges:
        leaving[edge.source].append(edge)
    for number, node in enumerate(model.nodes):
        words, *waits = _node_rows(node)
        yield words
        yield from (f"  {line}" for line in waits)
        for edge in leaving[number]:
            yield f"  {'⚙' if edge.is_call else '→'} {_edge_words(model, edge)}"


def _node_rows(node: DrawnNode) -> Iterator[str]:
    """What a node is; what it waits for, if it does; and what became of that."""
    start = ", start" if node.is_entry else ""
    status = f" {node.status}" if node.status else ""
    yield f"{one_line(node.name)} ({node.kind}{start}){status}"
    if node.waits:
        yield one_line(node.waits, _CONDITION_CAP)
    if node.join:
        yield one_line(node.join, _CONDITION_CAP)


def _edge_words(model: GraphModel, edge: DrawnEdge) -> str:
    target = one_line(model.nodes[edge.target].name)
    if edge.is_call:
        return f"{target} as a tool"
    condition = f" when {one_line(edge.condition, _CONDITION_CAP)}" if edge.condition else ""
    return f"{target}{condition}{f': {edge.outcome}' if edge.outcome else ''}"


def _listed(parts: Iterable[str]) -> str:
    """Joined by semicolons up to a bound; the rest is counted."""
    shown: list[str] = []
    length, everything = 0, list(parts)
    for part in everything:
        length += len(part)
        if length > _ALT_CAP:
            break
        shown.append(part)
    hidden = len(everything) - len(shown)
    return "; ".join([*shown, f"and {hidden:,} more"] if hidden else shown)
