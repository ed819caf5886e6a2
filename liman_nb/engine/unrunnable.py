"""What a graph declares that this version cannot run as declared, and so does not run at all.

A tool that needs a person's approval must not be called without it, and a join that is not waited
for is another graph. Such specs load, draw and check; a turn on them is refused before it starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from liman_nb.errors import Problem
from liman_nb.specs.documents import HumanNodeSpec, ToolNodeSpec
from liman_nb.specs.graph import Graph, Node


def unrunnable(graph: Graph) -> list[Problem]:
    """Everything in the graph that keeps it from running; empty for a graph that runs."""
    return [
        Problem(message, node.place, f"{node.kind} {node.name}", "this version does not run it")
        for node in graph.nodes.values()
        for message in _reasons(node)
    ]


def _reasons(node: Node) -> Iterator[str]:
    if node.join:
        yield f"waits for {node.join.text}, and branches cannot be joined yet"
    match node.spec:
        case HumanNodeSpec():
            yield "asks a person, and a turn cannot wait for one yet"
        case ToolNodeSpec(approval=True):
            yield "needs a person's approval, and a turn cannot wait for one yet"
