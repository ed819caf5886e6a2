"""Typed Python functions as tools: the schema a model sees, and the check of what it sends.

The signature is read by `parameters.py`. Calling is `calling.py`'s business; the arguments that a
ToolNode declares are `arguments.py`'s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from liman_nb.errors import ToolError, UsageError
from liman_nb.models.llm import ToolSchema
from liman_nb.specs.json_text import JsonProblem, read_json
from liman_nb.specs.misfits import kind_of, misfits
from liman_nb.tools.calling import function_name
from liman_nb.tools.docstrings import read_docstring
from liman_nb.tools.parameters import Parameters, read_parameters

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Tool(Protocol):
    """What the engine needs of a tool, whatever declares it."""

    @property
    def schema(self) -> ToolSchema:
        """The tool as a model sees it."""
        ...

    def validate(self, arguments: str) -> dict[str, Any]:
        """Arguments from a model's JSON text, converted to what the function's signature says.

        Raises:
            ToolError: they do not fit; the message is written for the model.
        """
        ...


@dataclass(frozen=True)
class FunctionTool:
    """A Python function as a tool.

    Attributes:
        schema: as a model sees it.
        function: the function.
        parameters: its parameters, as a model may set them.
    """

    schema: ToolSchema
    function: Callable[..., Any]
    parameters: Parameters

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.schema.name

    def validate(self, arguments: str) -> dict[str, Any]:
        """Arguments from a model's JSON text, converted to the annotated types.

        Args:
            arguments: a JSON object; empty text means no arguments. JSON's types are taken at their
                word: a text is never read as a number, nor a boolean. ``4.0`` is a whole number, as
                JSON knows one kind. Text becomes a date, an enum member, a path where the signature
                says so, an object becomes a model or dataclass.

        Returns:
            Keyword arguments. An argument that the model leaves out is left to the function's own
            default.

        Raises:
            ToolError: invalid JSON, or missing, unknown or mistyped arguments: one line for each,
                and what was expected, for the model.
        """
        given = read_arguments(self.schema, arguments)
        try:
            return self.parameters.convert(given)
        except ValidationError as exc:
            raise misfit(self.schema, misfits(exc, given, self.parameters.names)) from exc


def describe_function(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> FunctionTool:
    """A typed function as a tool.

    Args:
        function: a function, method, partial, async function or object with ``__call__``. Its
            parameters named `context`, `credentials`, `call_id`, `state`, `answer` and `session`
            are not the model's, nor are those that a partial has filled in. A parameter without
            annotation takes any JSON value.
        name: another name than its own.
        description: another description than its docstring's.

    Raises:
        UsageError: not a function; a name that models cannot call (letters, digits, ``_`` and
            ``-``, at most 64); a positional-only, ``*args`` or ``**kwargs`` parameter; an
            annotation that is not defined or that JSON cannot give.
    """
    name = name or function_name(function)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a tool: use letters, digits, '_' and '-', at most 64"
        )
    parameters = read_parameters(function)
    if description is None:
        description = read_docstring(function).text
    return FunctionTool(ToolSchema(name, description, parameters.schema()), function, parameters)


def read_arguments(schema: ToolSchema, text: str) -> dict[str, Any]:
    """The object that a model sent as a tool's arguments.

    Raises:
        ToolError: it is not one; the message is written for the model.
    """
    try:
        given = read_json(text) if text.strip() else {}
    except JsonProblem as exc:
        raise misfit(schema, [str(exc)]) from exc
    if not isinstance(given, dict):
        raise misfit(schema, [f"they must be one JSON object, not {kind_of(given)}"])
    return given


def misfit(schema: ToolSchema, problems: Iterable[str]) -> ToolError:
    """The error that tells a model what is wrong with its arguments, and what is expected."""
    lines = "".join(f"\n- {problem}" for problem in problems)
    expected = ", ".join(_signature(schema.parameters)) or "none"
    return ToolError(
        f"the arguments of {schema.name} do not fit:{lines}\nExpected arguments: {expected}"
    )


def _signature(parameters: Mapping[str, Any]) -> Iterator[str]:
    required, named = parameters.get("required", ()), parameters.get("$defs", {})
    for name, schema in parameters.get("properties", {}).items():
        yield f"{name} ({_type_name(schema, named)}{'' if name in required else ', optional'})"


def _type_name(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """A property's type in a word or two."""
    if "$ref" in schema:
        schema = named.get(schema["$ref"].rpartition("/")[2], {})
    if "enum" in schema:
        return " | ".join(json.dumps(v, ensure_ascii=False) for v in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_name(s, named) for s in schema["anyOf"])
    kind = schema.get("type", "any JSON")
    return kind if isinstance(kind, str) else " | ".join(kind)
