"""The structured output of each node as it is shown."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from liman_nb.engine.tree import Tree
from liman_nb.specs.graph import Graph
from liman_nb.views.bundles import View
from liman_nb.views.elements import SMALL, card, code, count, header, join, more, part, rows, tag
from liman_nb.views.escape import json_text, one_line

_VALUE_CAP = 400
_NODES_LIMIT = 50
_FIELDS_LIMIT = 20


class YieldsView(View, Mapping[str, dict[str, Any]]):
    """What each node last yielded: a mapping from the node's name to its fields."""

    def __init__(self, graph: Graph, tree: Tree, turn: int | None = None) -> None:
        """Take a copy of the yields as they are now.

        Args:
            graph: the checked specs, which say who yields.
            tree: the session.
            turn: only what was yielded in this turn.
        """
        declared = {name for name, node in graph.nodes.items() if node.yields is not None}
        self._yields = {
            executor.node: copy.deepcopy(executor.output)
            for executor in tree.executors.values()
            if executor.node in declared
            and executor.id != tree.root
            and turn in (None, executor.turn)
            and isinstance(executor.output, dict)
        }

    def __getitem__(self, node: str) -> dict[str, Any]:
        return self._yields[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._yields)

    def __len__(self) -> int:
        return len(self._yields)

    def text(self) -> str:
        """A line per field, under its node."""
        lines = [f"Yields ({len(self):,})"]
        for node, fields in list(self._yields.items())[:_NODES_LIMIT]:
            lines.append(f"  {one_line(node)}")
            lines += [f"    {line}" for line in _fields(fields)]
        hidden = len(self) - _NODES_LIMIT
        return "\n".join([*lines, f"  … {hidden:,} more nodes"] if hidden > 0 else lines)

    def html(self) -> Markup:
        """A card with the fields of each node."""
        return card(header("Yields", facts=count(len(self), "node")), part(self.body()))

    def body(self) -> Markup:
        """The fields of each node, to stand in a card."""
        if not self._yields:
            return tag("div", "No node has yielded anything yet.", style=SMALL)
        shown = list(self._yields.items())[:_NODES_LIMIT]
        hidden = more(len(self) - len(shown), "more nodes")
        return join(rows(_row(node, fields) for node, fields in shown), hidden)


def _fields(fields: Mapping[str, Any]) -> list[str]:
    shown = list(fields.items())[:_FIELDS_LIMIT]
    lines = [
        f"{one_line(name)} = {one_line(json_text(v, _VALUE_CAP), 2 * _VALUE_CAP)}"
        for name, v in shown
    ]
    hidden = len(fields) - len(shown)
    return [*lines, f"… {hidden:,} more fields"] if hidden else lines


def _row(node: str, fields: Mapping[str, Any]) -> Markup:
    name = tag("span", one_line(node), style="font-weight:600")
    values = [tag("div", code(line)) for line in _fields(fields)]
    grid = "display:grid;grid-template-columns:minmax(80px,160px) minmax(0,1fr);gap:0 10px"
    body = tag("div", *values, style="min-width:0")
    return tag("div", name, body, style=grid)
