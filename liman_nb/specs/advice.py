"""Warnings about a graph that is valid and probably not what its author meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from liman_nb.errors import Problem
from liman_nb.specs.conditions.names import PLACES
from liman_nb.specs.conditions.tree import Path, paths, print_path
from liman_nb.specs.documents import SuppliedTool
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.specs.join_links import join_doubts
from liman_nb.specs.reading import Document, Documents
from liman_nb.specs.ways import ways_from

_YIELDS_PLACES = ("output", "yields", "calling_agent_response")


def advise(
    graph: Graph, documents: Documents, tools: Sequence[SuppliedTool], findings: Findings
) -> None:
    """Warn of what is unused, unreachable, waits in vain, or reads names that nothing provides.

    Args:
        graph: the graph.
        documents: what it was made of.
        tools: the tools given in code.
        findings: where the warnings go.
    """
    for problem in _conditions(graph):
        findings.add(problem)
    if findings.has_errors:
        return  # what is wrong may be what uses the rest
    for problem in (
        *_unreachable(graph),
        *_unused_tools(graph, tools),
        *_unused_accounts(graph, documents),
        *join_doubts(graph, documents),
    ):
        findings.add(problem)


def _warning(message: str, node: Node | Document, hint: str = "") -> Problem:
    place = node.place if isinstance(node, Node) else node.tree.place
    subject = f"{node.kind} {node.name}" if isinstance(node, Node) else node.subject
    return Problem(message, place, subject, hint, level="warning")


# ── what is never used ───────────────────────────────────────────────────────────────────────────


def _unreachable(graph: Graph) -> Iterator[Problem]:
    starts = {graph.entry, *graph.entry_points.values()}
    reached = starts.union(*(ways_from(graph.nodes, start) for start in starts))
    for node in graph.nodes.values():
        if node.name not in reached and node.kind != "ToolNode":
            yield _warning(f"no way leads here from {graph.entry!r}, where a turn starts", node)


def _unused_tools(graph: Graph, tools: Sequence[SuppliedTool]) -> Iterator[Problem]:
    used = {name for node in graph.nodes.values() for name in node.tools}
    used |= {edge.target for node in graph.nodes.values() for edge in node.edges}
    for node in graph.nodes.values():
        if node.kind == "ToolNode" and node.name not in used:
            hint = f"add 'tools: [{node.name}]' to one"
            yield _warning("no LLMNode lists this tool", node, hint)
    described = {node.name for node in graph.nodes.values()}
    for tool in tools:
        known = tool.name in described or tool.name in _functions(graph)
        if not (known or tool.one_of_many):
            yield Problem(
                f"no LLMNode lists the tool {tool.name!r}",
                hint=f"add 'tools: [{tool.name}]' to one",
                level="warning",
            )


def _functions(graph: Graph) -> set[str]:
    return {getattr(node.spec, "func", None) or "" for node in graph.nodes.values()}


def _unused_accounts(graph: Graph, documents: Documents) -> Iterator[Problem]:
    used = {n.service_account.name for n in graph.nodes.values() if n.service_account}
    for document in documents.of_kind("ServiceAccount"):
        if document.spec.name not in used:
            hint = f"write 'auth: {{service_account: {document.spec.name}}}' in one"
            yield _warning("no node uses this service account", document, hint)
    providers = {p for a in graph.service_accounts.values() for p in a.providers}
    for document in documents.of_kind("CredentialsProvider"):
        if document.spec.name not in providers:
            yield _warning("no service account uses this credentials provider", document)


# ── conditions ───────────────────────────────────────────────────────────────────────────────────


def _conditions(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes.values():
        for edge in node.edges:
            for message, hint in _doubts(node, edge):
                place = edge.condition.place if edge.condition else None
                subject = f"{node.kind} {node.name}"
                yield Problem(message, place or edge.place, subject, hint, level="warning")


def _doubts(node: Node, edge: Edge) -> Iterator[tuple[str, str]]:
    """What is doubtful about an edge's condition, each with what to do."""
    if edge.condition is None or edge.function:
        return
    if edge.condition.reads_differently:
        yield edge.condition.reads_differently, ""
    if node.yields is None and getattr(node.spec, "yields", None) is not None:
        return  # they are declared and not valid
    for path in paths(edge.condition.tree):
        if node.yields:
            yield from _not_in_yields(node, node.yields.field_names, path)
        elif edge.condition.function_name == print_path(path) and len(path) > 1:
            yield from _maybe_function(path)
        elif node.kind == "LLMNode" and path[0] not in PLACES:
            name = print_path(path)
            yield (
                f"the condition reads {name!r}, but {node.name!r} has no yields and gives text",
                f"declare yields with {path[0]!r}, or say where it is: 'context.{name}'",
            )


def _not_in_yields(node: Node, fields: Sequence[str], path: Path) -> Iterator[tuple[str, str]]:
    in_yields = path[0] in _YIELDS_PLACES
    field = str(path[1]) if in_yields and len(path) > 1 else str(path[0])
    elsewhere = path[0] in PLACES and not in_yields
    if field in fields or elsewhere or (in_yields and len(path) == 1):
        return
    yield (
        f"the condition reads {print_path(path)!r}, which {node.name!r} does not yield",
        did_you_mean(field, fields) or f"it yields {listed(fields)}",
    )


def _maybe_function(path: Path) -> Iterator[tuple[str, str]]:
    if path[0] not in PLACES:
        module = ".".join(str(step) for step in path[:-1])
        yield (
            f"the condition reads {print_path(path)!r} as data",
            f"for a function, pass functions=[…] or allow_imports=[{module!r}]",
        )
