"""The Python functions behind a graph: found and described before the first turn.

Loading specs imports nothing; this does, for the names that ``allow_imports`` lets it. Every
function that cannot be found or does not fit is reported together, before anything has run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from liman_nb.engine.stages import Stage, Stages, check_stage
from liman_nb.errors import Place, Problem, SpecError, UsageError
from liman_nb.specs.documents import FunctionNodeSpec, LLMNodeSpec, ToolNodeSpec
from liman_nb.specs.graph import Graph, Node
from liman_nb.specs.templates import fill
from liman_nb.tools.arguments import describe_arguments
from liman_nb.tools.calling import OFFERED_NAMES, asked_names, filled_in, function_name
from liman_nb.tools.external import ExternalTool, describe_tool
from liman_nb.tools.functions import Tool
from liman_nb.tools.resolve import Resolver

Function = Callable[..., Any]

Attached = Mapping[tuple[str, Stage], Function]
"""Functions attached to nodes, by the node's name and the stage."""


@dataclass(frozen=True, slots=True)
class NodeTool:
    """A ToolNode's tool, and the function that it calls."""

    tool: Tool
    function: Function


@dataclass(frozen=True, slots=True)
class NodeFunction:
    """A FunctionNode's function.

    Attributes:
        function: the function.
        parameter: name of the parameter that takes the node's input: the first one that is not
            offered by name; ``None`` for a function that takes no input.
        adapter: converts the input to that parameter's annotation; ``None`` where it has none.
    """

    function: Function
    parameter: str | None
    adapter: TypeAdapter[Any] | None


@dataclass(slots=True)
class Callables:
    """What a graph calls.

    Attributes:
        tools: by ToolNode name.
        functions: by FunctionNode name.
        conditions: by name, as conditions name them.
        providers: by CredentialsProvider name.
        stages: by LLM node name, the functions around its model; only of nodes that have any.
        attached: those of them that were attached in Python, as ``node.stage=name``.
        exclusive: names of the nodes whose actor takes one run at a time: LLMs, people, and those
            whose function asks for ``state``.
        at_most: how many runs of a node may go side by side, for nodes that say so.
    """

    tools: dict[str, NodeTool] = field(default_factory=dict)
    functions: dict[str, NodeFunction] = field(default_factory=dict)
    conditions: dict[str, Function] = field(default_factory=dict)
    providers: dict[str, Function] = field(default_factory=dict)
    stages: dict[str, Stages] = field(default_factory=dict)
    attached: set[str] = field(default_factory=set)
    exclusive: set[str] = field(default_factory=set)
    at_most: dict[str, int] = field(default_factory=dict)


def find_callables(graph: Graph, resolver: Resolver, attached: Attached) -> Callables:
    """Find and describe every function that the graph names.

    Args:
        graph: the graph.
        resolver: finds functions by name.
        attached: functions attached to nodes in Python; they win over those that specs name.

    Raises:
        SpecError: the functions that cannot be found, imported or used, all of them.
    """
    found, problems = Callables(), list[Problem]()
    for node in graph.nodes.values():
        with _reported(node.kind, node.name, node.place, problems):
            _add_node(found, node, resolver)
            _add_stages(found, node, resolver, attached)
        for edge in node.edges:
            if edge.function is not None:
                with _reported(node.kind, node.name, edge.place, problems):
                    found.conditions[edge.function] = resolver.resolve(edge.function, edge.place)
    for provider in graph.credentials_providers.values():
        with _reported("CredentialsProvider", provider.name, None, problems):
            found.providers[provider.name] = resolver.resolve(provider.func)
    if problems:
        raise SpecError(problems)
    return found


@contextmanager
def _reported(kind: str, name: str, place: Place | None, problems: list[Problem]) -> Iterator[None]:
    """Collect what is wrong with one document's function instead of stopping at it."""
    subject = f"{kind} {name}"
    try:
        yield
    except SpecError as error:
        problems += [Problem(p.message, p.place or place, subject, p.hint) for p in error.problems]
    except UsageError as error:
        problems.append(Problem(str(error), place, subject))


def _add_node(found: Callables, node: Node, resolver: Resolver) -> None:
    function: Function | None = None
    if isinstance(node.spec, ToolNodeSpec):
        function = resolver.resolve(node.spec.func or node.name, node.place)
        found.tools[node.name] = NodeTool(_tool(node, node.spec, function), function)
    elif isinstance(node.spec, FunctionNodeSpec):
        function = resolver.resolve(node.spec.func or node.name, node.place)
        found.functions[node.name] = _node_function(function)
        if node.spec.max_concurrent is not None:
            found.at_most[node.name] = node.spec.max_concurrent
    if function is None or "state" in asked_names(function):
        found.exclusive.add(node.name)
    if function is not None:
        _check_context(node, function)


def _check_context(node: Node, function: Function) -> None:
    """A function sees no more of the context than its node's service account hands on."""
    if node.kind == "ToolNode" or "context" not in asked_names(function):
        return
    if node.service_account is None:
        raise UsageError(
            "its function asks for 'context', and the node does not say what of it: add "
            "auth: {service_account: {context: {inject: [user_id]}}}"
        )


def _add_stages(found: Callables, node: Node, resolver: Resolver, attached: Attached) -> None:
    """The functions around an LLM's model: attached, or named by its spec."""
    if not isinstance(node.spec, LLMNodeSpec):
        return
    functions: dict[Stage, Function] = {}
    named: dict[Stage, str | None] = {
        "pre_compose": node.spec.pre_compose,
        "intelligence": node.spec.intelligence,
    }
    for stage, name in named.items():
        own = attached.get((node.name, stage))
        function = own or (resolver.resolve(name, node.place) if name else None)
        if function is not None:
            check_stage(stage, function)
            functions[stage] = function
        if own is not None:
            found.attached.add(f"{node.name}.{stage}={function_name(own)}")
    if functions:
        found.stages[node.name] = Stages(**functions)


# ── tools ────────────────────────────────────────────────────────────────────────────────────────


def _tool(node: Node, spec: ToolNodeSpec, function: Function) -> Tool:
    description = _description(spec) or None
    if spec.arguments is None:
        return describe_tool(function, name=node.name, description=description)
    if isinstance(function, ExternalTool):
        raise UsageError("its tool brings the schema of its arguments along; leave 'arguments' out")
    return describe_arguments(node.name, description or "", spec.arguments, function)


def _description(spec: ToolNodeSpec) -> str:
    """What a model reads: the template of the spec, or the description and what calls for it."""
    triggers = "\n".join(f"- {trigger}" for trigger in spec.triggers)
    if spec.tool_prompt_template:
        known = {"name": spec.name, "description": spec.description, "triggers": triggers}
        return fill(spec.tool_prompt_template, known)
    if not triggers:
        return spec.description
    return f"{spec.description}\nUse it for questions such as:\n{triggers}".strip()


# ── functions ────────────────────────────────────────────────────────────────────────────────────


def _node_function(function: Function) -> NodeFunction:
    if isinstance(function, ExternalTool):
        raise UsageError(f"{function.name} is a tool: make the node a ToolNode of that name")
    parameters = _signature(function)
    taken = OFFERED_NAMES | filled_in(function)
    own = [p for p in parameters.values() if p.name not in taken]
    first = next(iter(own), None)
    surplus = [p.name for p in own[1:] if p.default is p.empty and p.kind not in _OPEN]
    if surplus:
        raise UsageError(
            f"a node's function takes its input as one parameter, and {', '.join(surplus)} would "
            f"stay empty; it may also ask for {', '.join(sorted(OFFERED_NAMES))}"
        )
    if first is None or first.kind in _OPEN:
        return NodeFunction(function, None, None)
    if first.kind is first.POSITIONAL_ONLY:
        raise UsageError(f"its parameter {first.name!r} is positional-only; give it a name")
    known = first.annotation not in (first.empty, Any)
    return NodeFunction(function, first.name, TypeAdapter(first.annotation) if known else None)


_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _signature(function: Function) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function, eval_str=True).parameters
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"the signature of its function cannot be read: {error}") from error
