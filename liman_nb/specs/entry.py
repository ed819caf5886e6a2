"""Where a turn starts: the node that was named, or the only one it can be."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.graph import Node
from liman_nb.specs.references import a_kind, parse_reference


def find_entry(
    nodes: Mapping[str, Node], start_node: str | None, unread: Collection[str], findings: Findings
) -> str | None:
    """The name of the node a turn starts at.

    Args:
        nodes: all nodes.
        start_node: ``name`` or ``Kind/name``; ``None`` to take the only node that no edge leads to,
            or else the only LLMNode. A node that waits for others is not taken unnamed: a turn that
            starts there runs it at once.
        unread: names of documents that are there and not valid.
        findings: told why there is none.
    """
    if start_node is not None:
        return _given(nodes, start_node, unread, findings)
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


def _given(
    nodes: Mapping[str, Node], written: str, unread: Collection[str], findings: Findings
) -> str | None:
    reference = parse_reference(written)
    node = nodes.get(reference.name)
    known = _startable(nodes)
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
