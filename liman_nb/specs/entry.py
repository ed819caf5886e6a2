"""Where a turn starts: the node that was named, the entry point, or the only one it can be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.graph import Node
from liman_nb.specs.mesh import EntryPoint
from liman_nb.specs.references import a_kind, parse_reference


def linked_entry_points(
    nodes: Mapping[str, Node],
    written: Iterable[EntryPoint],
    unread: Collection[str],
    findings: Findings,
) -> dict[str, str]:
    """The names of the nodes that entry points lead to, by the entry points' names.

    Args:
        nodes: all nodes.
        written: the entry points of all mesh documents.
        unread: names of documents that are there and not valid.
        findings: told of those that lead nowhere, and of names that stand twice.
    """
    points: dict[str, str] = {}
    first: dict[str, EntryPoint] = {}
    for point in written:
        node = nodes.get(point.target.name)
        message = _wrong_target(point, node, unread)
        if point.name in first:
            where = first[point.name].place
            message = f"another entry point has the name {point.name!r} too; it is at {where}"
        first.setdefault(point.name, point)
        if message:
            hint = "" if node else did_you_mean(point.target.name, _startable(nodes))
            findings.error(message, point.place, hint=hint)
        elif node:
            points[point.name] = node.name
    return points


def _wrong_target(point: EntryPoint, node: Node | None, unread: Collection[str]) -> str:
    """What is wrong with where an entry point leads; empty if nothing is."""
    if node is None:
        missing = point.target.name not in unread
        message = f"the entry point {point.name!r} leads to {point.target.name!r}, and there is no"
        return f"{message} such node" if missing else ""
    if node.kind == "ToolNode" or point.target.kind not in ("", node.kind):
        kind = a_kind(node.kind)
        return f"the entry point {point.name!r} leads to '{point.target}', which is {kind}"
    return ""


def find_entry(
    nodes: Mapping[str, Node],
    start_node: str | None,
    entry_points: Mapping[str, str],
    unread: Collection[str],
    findings: Findings,
) -> str | None:
    """The name of the node a turn starts at.

    Args:
        nodes: all nodes.
        start_node: ``name`` or ``Kind/name``, or the name of an entry point; ``None`` to take the
            only node that entry points name, or else the only one that no edge leads to, or else
            the only LLMNode. A node that waits for others is not taken unnamed: a turn that starts
            there runs it at once.
        entry_points: nodes by the names of entry points.
        unread: names of documents that are there and not valid.
        findings: told why there is none.
    """
    if start_node is not None:
        return _given(nodes, start_node, entry_points, unread, findings)
    if entry_points:
        return _declared(entry_points, findings)
    startable = _startable(nodes)
    candidates = [name for name in startable if not nodes[name].join]
    reached = {e.target for n in nodes.values() for e in n.edges if e.target != n.name}
    roots = [name for name in candidates if name not in reached]
    models = [name for name in candidates if nodes[name].kind == "LLMNode"]
    for only in (roots, models):
        if len(only) == 1:
            return only[0]
    if findings.has_errors:
        return None  # what is wrong may be what makes it unclear
    if candidates:
        hint = f"pass start_node= with one of {listed(roots or startable)}"
        findings.error("it is not clear at which node a turn starts", hint=hint)
    elif startable:
        message = f"a turn could start only at nodes that wait for others: {listed(startable)}"
        hint = "add a node that waits for nothing, or name one with start_node= to run it at once"
        findings.error(message, hint=hint)
    else:
        hint = "add for example an LLMNode"
        findings.error("there is no node a turn could start at", hint=hint)
    return None


def _startable(nodes: Mapping[str, Node]) -> list[str]:
    return [node.name for node in nodes.values() if node.kind != "ToolNode"]


def _declared(entry_points: Mapping[str, str], findings: Findings) -> str | None:
    """The only node that the entry points lead to."""
    targets = list(dict.fromkeys(entry_points.values()))
    if len(targets) > 1:
        message = f"a turn may start at several nodes: {listed(targets)}"
        findings.error(message, hint=f"pass start_node= with one of {listed(entry_points)}")
        return None
    return targets[0]


def _given(
    nodes: Mapping[str, Node],
    written: str,
    entry_points: Mapping[str, str],
    unread: Collection[str],
    findings: Findings,
) -> str | None:
    if written not in nodes and written in entry_points:
        return entry_points[written]
    reference = parse_reference(written)
    node = nodes.get(reference.name)
    known = [*_startable(nodes), *entry_points]
    hint = did_you_mean(reference.name, known) or f"the nodes are {listed(known)}"
    if node is None:
        if not (reference.name in unread and findings.has_errors):
            findings.error(f"start_node: there is no node {written!r}", hint=hint)
        return None
    if node.kind == "ToolNode":
        findings.error(f"start_node: {node.name!r} is a tool", hint=hint)
        return None
    if reference.kind not in ("", node.kind):
        message = f"start_node: {written!r} is given, but {node.name!r} is {a_kind(node.kind)}"
        findings.error(message)
        return None
    return node.name
