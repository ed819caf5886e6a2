"""What an agent is made of, put together when it is first needed: graph, functions, models, store.

Loading the specs happens at once and imports nothing. Functions are found and models chosen before
the first turn; the storage is opened by the first session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.callables import find_callables
from liman_nb.engine.events import Event
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.loading import project
from liman_nb.engine.requests import RequestLog
from liman_nb.engine.run import Runtime
from liman_nb.engine.sessions import Sessions
from liman_nb.engine.stages import Stage, check_stage
from liman_nb.errors import Problem, UsageError
from liman_nb.models.choose import as_llm, default_llm
from liman_nb.models.llm import LLM
from liman_nb.parts import Function, Parts
from liman_nb.settings import Settings, read_settings
from liman_nb.specs.check import check_specs, load_graph
from liman_nb.specs.documents import SuppliedTool
from liman_nb.specs.findings import did_you_mean, listed
from liman_nb.specs.graph import Graph, Node
from liman_nb.specs.references import a_kind
from liman_nb.state.storage import StateStorage
from liman_nb.tools.calling import function_name
from liman_nb.tools.external import ExternalTool, describe_tool
from liman_nb.tools.resolve import Resolver


class Problems(list[Problem]):
    """Findings about specs, one a line."""

    def __repr__(self) -> str:
        return "\n".join(f"{p.level}: {p}" for p in self) or "no errors, no warnings"

    @property
    def errors(self) -> list[Problem]:
        """Those that stop loading."""
        return [p for p in self if p.level == "error"]


class Workshop:
    """Puts an agent together.

    Args:
        parts: what it is made with.
        emit: takes the events of its turns.
        listened: whether anybody wants them.

    Raises:
        SpecError: the specs do not make a graph.
        UsageError: a tool or function that cannot be described, or a model for no node.
    """

    def __init__(
        self, parts: Parts, emit: Callable[[Event], None], listened: Callable[[], bool]
    ) -> None:
        self._parts = parts
        self._emit, self._listened = emit, listened
        self._lock = threading.RLock()  # importing a module may use the agent
        self._runtime: Runtime | None = None
        self._chosen: dict[str | None, LLM] = {}
        self._attached: dict[tuple[str, Stage], Function] = {}
        self._supplied = [_supplied(tool) for tool in parts.tools]
        self._resolver = Resolver(_all_functions(parts), parts.allow_imports)
        self.requests = RequestLog()
        self.now = parts.clock
        self.graph = self._loaded()
        for name in parts.llms:
            self.node(name)
        self.settings = parts.settings or (
            read_settings() if parts.state_storage is None else Settings()
        )
        self.storage = _storage(parts.state_storage, self.settings)
        self.name = parts.name or _name_of(parts.source) or self.graph.entry
        self.sessions = Sessions(self.storage, self.name, self.settings.agency)

    def load(self) -> None:
        """Read the specs again, for the turns to come. On an error everything stays as it was.

        Raises:
            SpecError: the specs do not make a graph.
        """
        graph = self._loaded()
        with self._lock:
            self.graph, self._runtime = graph, None

    def check(self) -> Problems:
        """Every finding about the specs as they are now."""
        return Problems(check_specs(self._parts.source, **self._linked_with()))

    def attach(self, node: str, stage: Stage, function: Function) -> None:
        """Put a function before or after an LLM node's model, for the turns to come.

        Raises:
            UsageError: no such node, one without a model, or a function that cannot stand there.
        """
        found = self.node(node)
        if found.kind != "LLMNode":
            raise UsageError(
                f"{stage}: {node!r} is {a_kind(found.kind)}, and only an LLMNode has a model; "
                f"give it its function in functions=[…]"
            )
        check_stage(stage, function)
        with self._lock:
            self._attached[node, stage], self._runtime = function, None

    def prepare(self) -> Runtime:
        """What a turn runs with: the graph, its functions and its models. Made once per loading.

        Raises:
            SpecError: functions that cannot be found or used.
            SetupError: a node needs a model and there is none.
            UsageError: something that is no model was passed as one.
        """
        with self._lock:
            if self._runtime is None:
                self._runtime = self._prepared(self.graph)
            return self._runtime

    def _prepared(self, graph: Graph) -> Runtime:
        return Runtime(
            graph=graph,
            joins=Joins(graph),
            storage=self.storage,
            bounds=_bounded(self._parts.bounds, graph.max_node_runs),
            callables=find_callables(graph, self._resolver, self._attached),
            models=self._models(graph),
            requests=self.requests,
            emit=self._emit,
            listened=self._listened,
            now=self.now,
        )

    def node(self, name: str) -> Node:
        """A node by its name, or by that of an entry point.

        Raises:
            UsageError: the graph has no such node.
        """
        node = self.graph.nodes.get(self.graph.entry_points.get(name, name))
        if node is None:
            hint = did_you_mean(name, self.graph.nodes) or f"nodes: {listed(self.graph.nodes)}"
            raise UsageError(f"there is no node {name!r}; {hint}")
        return node

    def _loaded(self) -> Graph:
        return load_graph(self._parts.source, strict=self._parts.strict, **self._linked_with())

    def _linked_with(self) -> dict[str, Any]:
        return {
            "language": self._parts.language,
            "start_node": self._parts.start_node,
            "supplied_tools": self._supplied,
            "supplied_functions": self._resolver.names,
            "allow_imports": self._parts.allow_imports,
        }

    def _models(self, graph: Graph) -> dict[str, LLM]:
        """The model of each LLM node: its own, the agent's, or this machine's."""
        return {n: self._model(n) for n, node in graph.nodes.items() if node.kind == "LLMNode"}

    def _model(self, node: str) -> LLM:
        """Chosen once: specs that are loaded again start no script anew, and no second client."""
        own, common = self._parts.llms, self._parts.llm
        key = node if node in own else None
        if key not in self._chosen:
            if node in own:
                self._chosen[key] = as_llm(own[node])
            else:
                self._chosen[key] = default_llm() if common is None else as_llm(common)
        return _usable(self._chosen[key])


def _bounded(bounds: Bounds, max_node_runs: int | None) -> Bounds:
    """The agent's bounds, or the specs' own where those are narrower."""
    if max_node_runs is None or max_node_runs >= bounds.node_runs:
        return bounds
    return replace(bounds, node_runs=max_node_runs)


def _usable(llm: LLM) -> LLM:
    """A model that says what it lacks, such as a key, says so before anything is stored."""
    if callable(check := getattr(llm, "check_setup", None)):
        check()
    return llm


def _supplied(tool: Function) -> SuppliedTool:
    schema, one_of_many = describe_tool(tool).schema, isinstance(tool, ExternalTool)
    return SuppliedTool(schema.name, schema.description, schema.parameters, one_of_many)


def _all_functions(parts: Parts) -> Mapping[str, Function] | tuple[Function, ...]:
    if isinstance(parts.functions, Mapping):
        return {**{function_name(t): t for t in parts.tools}, **parts.functions}
    return (*parts.tools, *parts.functions)


def _storage(given: StateStorage | None, settings: Settings) -> StateStorage:
    storage = settings.storage() if given is None else given
    if not isinstance(storage, StateStorage):
        raise UsageError(
            f"state_storage must be a StateStorage object, not {storage!r:.80}; for a directory "
            f"pass DiskCacheStateStorage(directory)"
        )
    storage.attach(project)
    return storage


def _name_of(source: Any) -> str:
    """The name of the folder or file that the specs come from; empty for anything else."""
    if not isinstance(source, str | Path) or "\n" in str(source):
        return ""
    path = Path(source)
    try:
        return path.resolve().stem if path.exists() else ""
    except OSError:
        return ""
