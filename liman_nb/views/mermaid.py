"""A graph as Mermaid flowchart text (https://mermaid.js.org/syntax/flowchart.html).

Names and conditions never stand in the text as written: every character that Mermaid or Markdown
could take for syntax is an entity code, and nodes have ids of their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from liman_nb.views.escape import one_line
from liman_nb.views.graph_model import DrawnEdge, GraphModel
from liman_nb.views.palette import OUTCOMES, STATUSES

_CAP = 200
_SHAPES = {"person": '(["{}"])', "tool": '{{{{"{}"}}}}', "function": '[["{}"]]'}
_PLAIN = re.compile(r"[^\w .,:+'=?!%/-]", re.ASCII)


def mermaid(model: GraphModel) -> str:
    """The flowchart, ending in a line feed. Colours follow the session, when one is shown."""
    lines = ["flowchart TB", *_nodes(model), *_edges(model), *_classes(model), *_strokes(model)]
    return "\n".join(lines) + "\n"


def _nodes(model: GraphModel) -> Iterator[str]:
    for number, node in enumerate(model.nodes):
        shape = _SHAPES.get(node.kind, '["{}"]')
        lines = (node.name, node.waits) if node.waits else (node.name,)
        yield f"    n{number}{shape.format('<br/>'.join(map(_label, lines)))}"
        if node.is_entry:
            yield f"    start(( )) --> n{number}"


def _edges(model: GraphModel) -> Iterator[str]:
    for edge in model.edges:
        yield f"    n{edge.source} {_arrow(edge)} n{edge.target}"


def _arrow(edge: DrawnEdge) -> str:
    if edge.is_call:
        return "-.-"
    return f'-->|"{_label(edge.condition)}"|' if edge.condition else "-->"


def _classes(model: GraphModel) -> Iterator[str]:
    """The nodes' colours by status. A class is named by its status without spaces."""
    members = defaultdict(list)
    for number, node in enumerate(model.nodes):
        if node.status:
            members[node.status].append(f"n{number}")
    for status, names in members.items():
        colours = STATUSES[status].light
        name = status.replace(" ", "-")
        fill = f"fill:{colours.ground},stroke:{colours.border},color:{colours.text}"
        yield f"    classDef {name} {fill}"
        yield f"    class {','.join(names)} {name}"


def _strokes(model: GraphModel) -> Iterator[str]:
    """The edges' colours by outcome. Mermaid numbers links in order; the start's may come first."""
    first = sum(node.is_entry for node in model.nodes)
    for number, edge in enumerate(model.edges):
        if edge.outcome:
            style = OUTCOMES[edge.outcome]
            dashes = f",stroke-dasharray:{' '.join(f'{n:g}' for n in style.dashes)}"
            width = f"stroke:{style.light},stroke-width:{style.width}px"
            yield f"    linkStyle {first + number} {width}{dashes if style.dashes else ''}"


def _label(text: str) -> str:
    """Text within Mermaid's quotes. Mermaid reads ``#59;`` as the character with that number."""
    return _PLAIN.sub(lambda m: f"#{ord(m.group())};", one_line(text, _CAP))
