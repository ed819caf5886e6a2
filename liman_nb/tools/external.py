"""Tools that bring their schema along: an API's operation, an MCP server's tool, or one of yours.

A model's arguments are held against the schema before the call. What the call is, is the business
of whoever makes the tool: `openapi/` and `mcp/` here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from liman_nb.errors import UsageError
from liman_nb.models.llm import ToolSchema
from liman_nb.specs.jsonable import jsonable
from liman_nb.specs.references import TOOL_NAME_RULE, is_name
from liman_nb.tools.answers import schema_problem
from liman_nb.tools.credentials import NamedCredentials
from liman_nb.tools.functions import Tool, describe_function, misfit, read_arguments


@dataclass(frozen=True, slots=True, repr=False)
class ToolCall:
    """One call of an :class:`ExternalTool`.

    Attributes:
        arguments: what the model sent; it fits the schema.
        call_id: an id of this very call, the same if it is made again: an idempotency key.
        credentials: those of the node's service account, by the provider's name.
    """

    arguments: Mapping[str, Any]
    call_id: str = ""
    credentials: NamedCredentials = field(default_factory=NamedCredentials)


class ExternalTool:
    """A tool described by a JSON schema instead of a Python signature.

    It stands wherever a function may: in ``tools=[…]``, and by its name in specs. A ToolNode of its
    name adds ``approval``, ``timeout``, ``auth`` and other texts.

    Args:
        name: the name that models and specs use: letters, digits, ``_`` and ``-``, at most 64.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object schema. References lead only into it.
            A ``pattern`` in it is told to the model and not checked: patterns are another language
            than Python's, and some take for ever.
        call: async; does what the tool does.
        source: where it comes from, for people.

    Raises:
        UsageError: a name that models cannot call, or a schema that is none.
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        call: Callable[[ToolCall], Awaitable[Any]],
        *,
        source: str = "",
    ) -> None:
        self.schema = ToolSchema(name, description, _object_schema(name, parameters))
        self.source = source
        self._call = call

    def __repr__(self) -> str:
        """Its name and where it comes from."""
        source = f", source={self.source!r}" if self.source else ""
        return f"ExternalTool({self.name!r}{source})"

    @property
    def name(self) -> str:
        """The name that models and specs use."""
        return self.schema.name

    @property
    def __name__(self) -> str:
        """As functions have it, since it stands where they stand."""
        return self.name

    def described(self, name: str | None, description: str | None) -> ExternalTool:
        """The same tool under another name or description."""
        schema = replace(
            self.schema,
            name=name or self.name,
            description=self.schema.description if description is None else description,
        )
        return ExternalTool(
            schema.name, schema.description, schema.parameters, self._call, source=self.source
        )

    def validate(self, arguments: str) -> dict[str, Any]:
        """Arguments from a model's JSON text.

        Raises:
            ToolError: invalid JSON, or arguments that do not fit; the message is for the model.
        """
        given = read_arguments(self.schema, arguments)
        self._check(given)
        return given

    async def __call__(
        self,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str = "",
        credentials: NamedCredentials | Mapping[str, Any] | None = None,
    ) -> Any:
        """Call it, as an agent does or by hand.

        Args:
            arguments: its arguments.
            call_id: an idempotency key; empty for none.
            credentials: values by provider name, for what asks for them.

        Raises:
            ToolError: the arguments do not fit, or the call failed.
        """
        given = dict(arguments or {})
        self._check(given)
        if not isinstance(credentials, NamedCredentials):
            credentials = NamedCredentials.of(credentials or {})
        return await self._call(ToolCall(given, call_id, credentials))

    def _check(self, given: Mapping[str, Any]) -> None:
        if problems := list(_problems(self.schema.parameters, given)):
            raise misfit(self.schema, problems)


def describe_tool(
    tool: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> Tool:
    """Whatever may be passed in ``tools=[…]``, as a tool.

    Args:
        tool: a typed function, or a tool that brings its schema along.
        name: another name than its own.
        description: another description than its own.

    Raises:
        UsageError: as :func:`liman_nb.tools.functions.describe_function`.
    """
    if isinstance(tool, ExternalTool):
        return tool.described(name, description)
    return describe_function(tool, name=name, description=description)


# ── the schema ───────────────────────────────────────────────────────────────────────────────────


def _object_schema(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the schema that is sure to be of an object with properties."""
    if not is_name(name, "ToolNode"):
        raise UsageError(f"{name!r} cannot be the name of a tool: {TOOL_NAME_RULE}")
    try:
        schema: dict[str, Any] = jsonable(parameters, "parameters")
        problem = schema_problem(schema, patterns=False)
    except (ValueError, RecursionError) as error:
        problem = str(error)
    if problem:
        raise UsageError(f"the parameters of the tool {name} are no JSON schema: {problem}")
    if schema.get("type", "object") != "object":
        raise UsageError(f"the parameters of the tool {name} must be an object schema")
    return {**schema, "type": "object", "properties": schema.get("properties", {})}


def _problems(schema: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each thing that does not fit; nothing is fetched for it."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    known = schema.get("properties", {})
    if known and not schema.keys() & _MORE_NAMES:  # a server ignores such names without a word
        surplus = [name for name in given if name not in known]
        yield from (f"{name}: there is no such argument" for name in surplus)
    strict = validator_for(schema, default=Draft202012Validator)
    lenient = extend(strict, _UNCHECKED)  # type: ignore[no-untyped-call]  # of jsonschema
    try:
        errors = list(lenient(schema, registry=Registry()).iter_errors(given))
    except Unresolvable as outside:
        yield f"the tool's schema refers to {outside.ref!r:.200}, which is not in it"
        return
    except RecursionError:
        yield "the tool's schema refers to itself without end"
        return
    for error in sorted(errors, key=lambda error: error.json_path):
        place = error.json_path.removeprefix("$").removeprefix(".")
        yield f"{place}: {_capped(error.message)}" if place else _capped(error.message)


def _nothing(*_: Any) -> Iterator[Any]:
    """Check nothing."""
    yield from ()


_UNCHECKED = dict.fromkeys(("pattern", "patternProperties", "unevaluatedProperties"), _nothing)


_MORE_NAMES = {
    *("additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "$dynamicRef"),
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"),
}
"""Keywords that say themselves which other names there may be."""


def _capped(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
