"""From documents to a graph: every name that one document uses for another is looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from liman_nb.errors import Place
from liman_nb.specs.advice import advise
from liman_nb.specs.conditions import Condition
from liman_nb.specs.documents import (
    NODE_KINDS,
    CredentialsProviderSpec,
    InlineAccountSpec,
    LLMNodeSpec,
    ServiceAccountSpec,
    SuppliedTool,
    ToolNodeSpec,
)
from liman_nb.specs.edges import WrittenEdge
from liman_nb.specs.entry import find_entry, linked_entry_points
from liman_nb.specs.findings import Findings, did_you_mean, listed
from liman_nb.specs.graph import Edge, Graph, Node, fingerprint, frozen_graph
from liman_nb.specs.join_links import linked_joins
from liman_nb.specs.reading import Document, Documents
from liman_nb.specs.references import TOOL_NAME_RULE, a_kind, is_name, parse_reference
from liman_nb.specs.ways import way

_SUPPLIED = Place("<tools>")


@dataclass(frozen=True, slots=True)
class Supplied:
    """What the caller's code adds to the specs.

    Attributes:
        start_node: ``name`` or ``Kind/name`` of the node a turn starts at, or the name of an entry
            point; ``None`` to find it.
        tools: tools given as Python functions.
        functions: names of the functions given.
        allow_imports: modules whose functions a spec may name.
    """

    start_node: str | None = None
    tools: Sequence[SuppliedTool] = ()
    functions: frozenset[str] = frozenset()
    allow_imports: Sequence[str] = ()


def build_graph(
    documents: Documents,
    *,
    start_node: str | None = None,
    supplied_tools: Sequence[SuppliedTool] = (),
    supplied_functions: Iterable[str] = (),
    allow_imports: Sequence[str] = (),
    strict: bool = True,
) -> Graph:
    """Link documents to a graph.

    Args:
        documents: from :func:`liman_nb.specs.reading.load_specs`.
        start_node: where a turn starts: ``name`` or ``Kind/name`` of a node, or the name of an
            entry point. Without it: the only node that entry points name, or else the only node
            that no edge leads to, or else the only LLMNode; never one that waits for others.
        supplied_tools: tools given as Python functions; a ToolNode of the same name describes one.
        supplied_functions: names of functions; such a name alone is a function condition.
        allow_imports: modules; a dotted name below one of them alone is a function condition.
        strict: whether an unknown target or tool is an error rather than a warning.

    Raises:
        SpecError: with every error.
    """
    findings = Findings(strict=strict)
    code = Supplied(start_node, supplied_tools, frozenset(supplied_functions), allow_imports)
    graph = link(documents, code, findings)
    findings.raise_errors()
    assert graph is not None, "no graph and no error"
    return replace(graph, warnings=(*documents.warnings, *findings.warnings))


def link(documents: Documents, code: Supplied, findings: Findings) -> Graph | None:
    """Link documents, as :func:`build_graph` does, without raising what is found.

    Returns:
        ``None`` if there is no node to start at.
    """
    graph = _Linker(documents, code, findings).graph()
    if graph:
        advise(graph, documents, code.tools, findings)
    return graph


@dataclass(slots=True)
class _Linker:
    documents: Documents
    code: Supplied
    findings: Findings
    nodes: dict[str, Document] = field(init=False)
    supplied: dict[str, SuppliedTool] = field(init=False)
    accounts: dict[str, ServiceAccountSpec] = field(init=False)
    providers: dict[str, CredentialsProviderSpec] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = {d.spec.name: d for d in self.documents.of_kind(*NODE_KINDS)}
        self.supplied = self._supplied_tools()
        specs = [d.spec for d in self.documents.items]
        self.accounts = {s.name: s for s in specs if isinstance(s, ServiceAccountSpec)}
        self.providers = {s.name: s for s in specs if isinstance(s, CredentialsProviderSpec)}

    def graph(self) -> Graph | None:
        nodes = {name: self._node(document) for name, document in self.nodes.items()}
        listed_tools = dict.fromkeys(tool for node in nodes.values() for tool in node.tools)
        for name in listed_tools:
            if name not in nodes:
                nodes[name] = _supplied_node(self.supplied[name])
        nodes = linked_joins(nodes, self.documents, self.findings)
        self._add_providers()
        _check_tool_loops(nodes, self.findings)
        mesh, unread = self.documents.mesh, self.documents.unread
        points = linked_entry_points(nodes, mesh.entry_points, unread, self.findings)
        entry = find_entry(nodes, self.code.start_node, points, unread, self.findings)
        if entry is None:
            return None
        return frozen_graph(
            nodes,
            entry,
            service_accounts=self.accounts,
            credentials_providers=self.providers,
            entry_points=points,
            fingerprint=fingerprint(self.documents.items, points, mesh.max_node_runs),
            max_node_runs=mesh.max_node_runs,
        )

    # ── one node ─────────────────────────────────────────────────────────────────────────────────

    def _node(self, document: Document) -> Node:
        spec = document.spec
        assert not isinstance(spec, ServiceAccountSpec | CredentialsProviderSpec)
        edges = (self._edge(document, written) for written in document.edges)
        return Node(
            spec.name,
            spec.kind,
            spec,
            tuple(edge for edge in edges if edge),
            tuple(self._tools(document)) if isinstance(spec, LLMNodeSpec) else (),
            document.yields,
            self._account(document),
            place=document.tree.place,
        )

    def _edge(self, document: Document, written: WrittenEdge) -> Edge | None:
        target = written.target
        found = self.nodes.get(target.name)
        if found is None:
            if target.name not in self.documents.unread:
                known = f"the nodes are {listed(self.nodes)}"
                hint = did_you_mean(target.name, self.nodes) or known
                message = f"an edge leads to {target.name!r}, and there is no such node"
                self.findings.refuse(message, written.place, document.subject, hint)
            return None
        if target.kind and target.kind != found.spec.kind:
            kind = a_kind(found.spec.kind)
            message = f"an edge leads to '{target}', but {target.name!r} is {kind}"
            self.findings.refuse(message, written.place, document.subject)
            return None
        return Edge(
            written.id,
            document.spec.name,
            target.name,
            written.condition,
            self._function(document, written.condition),
            written.depends,
            written.place,
            written.max_visits,
        )

    def _function(self, document: Document, condition: Condition | None) -> str | None:
        """The function that a condition is; a declared yield of that name is nearer."""
        name = condition.function_name if condition else None
        parts = name.split(".") if name else []
        if name is None or (document.yields and parts[0] in document.yields.field_names):
            return None
        modules = {".".join(parts[:n]) for n in range(1, len(parts))}
        known = name in self.code.functions or modules & set(self.code.allow_imports)
        return name if known else None

    def _tools(self, document: Document) -> Iterator[str]:
        items = document.tree.fields["tools"].items if "tools" in document.tree.fields else ()
        seen: set[str] = set()
        for item in items or (document.tree.at(("tools",)),):
            name = parse_reference(item.text).name if item.text else ""
            if name in seen:
                self.findings.warn(f"tools: {name!r} is listed twice", item.place, document.subject)
            elif name and self._is_tool(name, item.place, document.subject):
                yield name
            seen.add(name)

    def _is_tool(self, name: str, place: Place, subject: str) -> bool:
        found = self.nodes.get(name)
        if (found and found.spec.kind == "ToolNode") or (found is None and name in self.supplied):
            return True
        if found:
            message = f"tools: {name!r} is {a_kind(found.spec.kind)}, not a tool"
            self.findings.refuse(message, place, subject, "a node is reached by an edge")
        elif name not in self.documents.unread:
            known = [*(d.spec.name for d in self.documents.of_kind("ToolNode")), *self.supplied]
            hint = did_you_mean(name, known) or "declare a ToolNode, or pass tools=[a function]"
            self.findings.refuse(f"tools: there is no tool {name!r}", place, subject, hint)
        return False

    # ── accounts ─────────────────────────────────────────────────────────────────────────────────

    def _account(self, document: Document) -> ServiceAccountSpec | None:
        auth = getattr(document.spec, "auth", None)
        if auth is None:
            return None
        written = auth.service_account
        if isinstance(written, InlineAccountSpec):
            return self._inline_account(document, written)
        name = parse_reference(written).name
        if name not in self.accounts and name not in self.documents.unread:
            hint = did_you_mean(name, self.accounts) or "declare a ServiceAccount of that name"
            where = document.tree.at(("auth", "service_account"))
            message = f"auth: there is no service account {name!r}"
            self.findings.error(message, where.place, document.subject, hint)
        return self.accounts.get(name)

    def _inline_account(self, document: Document, written: InlineAccountSpec) -> ServiceAccountSpec:
        fields = {**dict(written), "name": written.name or f"{document.spec.name}.auth"}
        account = ServiceAccountSpec(**fields)
        if account.name in self.accounts:
            message = f"auth: another service account has the name {account.name!r} too"
            place = document.tree.at(("auth", "service_account", "name")).place
            self.findings.error(message, place, document.subject)
        self.accounts.setdefault(account.name, account)
        return account

    def _add_providers(self) -> None:
        """Let a function of its name stand for a credentials provider that is not declared.

        Liman registers providers in code; a function passed in ``functions=`` is that here.
        """
        for document in self.documents.items:
            auth = getattr(document.spec, "auth", None)
            account = auth.service_account if auth else document.spec
            for name in getattr(account, "providers", ()):
                if name not in self.providers and name not in self.documents.unread:
                    self._add_provider(name, document)

    def _add_provider(self, name: str, document: Document) -> None:
        place = _provider_place(document, name)
        hint = did_you_mean(name, self.providers)
        if not name.isidentifier():
            message = f"there is no credentials provider {name!r}"
            self.findings.error(message, place, document.subject, hint)
            return
        self.providers[name] = CredentialsProviderSpec(name=name, func=name)
        if name not in self.code.functions:
            self.findings.warn(
                f"there is no credentials provider {name!r}, and no function of that name",
                place,
                document.subject,
                hint or "declare a CredentialsProvider, or pass functions=[…]",
            )

    # ── tools in code ────────────────────────────────────────────────────────────────────────────

    def _supplied_tools(self) -> dict[str, SuppliedTool]:
        tools: dict[str, SuppliedTool] = {}
        for tool in self.code.tools:
            node = self.nodes.get(tool.name)
            if not is_name(tool.name, "ToolNode"):
                message = f"the name {tool.name!r} is not allowed"
                self.findings.error(message, _SUPPLIED, hint=TOOL_NAME_RULE)
            elif tool.name in tools:
                self.findings.error(f"two tools have the name {tool.name!r}", _SUPPLIED)
            elif node and node.spec.kind != "ToolNode":
                where = f"the {node.spec.kind} at {node.tree.place}"
                message = f"the tool {tool.name!r} has the name of {where}"
                self.findings.error(message, _SUPPLIED)
            else:
                tools[tool.name] = tool
        return tools


def _supplied_node(tool: SuppliedTool) -> Node:
    spec = ToolNodeSpec(name=tool.name, description=tool.description)
    return Node(tool.name, "ToolNode", spec, parameters=tool.parameters, place=_SUPPLIED)


def _provider_place(document: Document, name: str) -> Place:
    for path in (("auth", "service_account"), ()):
        account = document.tree.at(path)
        for key in ("credentials_provider", "credentials_providers"):
            for item in account.at((key,)).items or (account.at((key,)),):
                if item.text == name:
                    return item.place
    return document.tree.place


def _check_tool_loops(nodes: Mapping[str, Node], findings: Findings) -> None:
    """An LLM waits for the whole branch of each tool it calls, so that branch may not need it."""
    for node in nodes.values():
        for tool in node.tools:
            names = way(nodes, tool, node.name) if nodes[tool].edges else ()
            if names:
                findings.error(
                    f"the tool {tool!r} leads back to {node.name!r}, which calls it and waits for "
                    f"it: {' > '.join(names)}",
                    nodes[tool].edges[0].place,
                    f"ToolNode {tool}",
                    "end the branch before; the tool's result goes to its caller anyway",
                )
