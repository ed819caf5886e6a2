"""A ToolNode's declared ``arguments``: their schema, and the check of what a model sends.

The same interface as a function's own parameters have in `functions.py`; where the function is
known, its annotations apply as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from liman_nb.errors import Problem, UsageError
from liman_nb.models.llm import ToolSchema
from liman_nb.specs.located import Path, path_text
from liman_nb.specs.misfits import misfits
from liman_nb.specs.shape_notation import Report, ShapeReader
from liman_nb.specs.shapes import SchemaStyle, Shape, schema_of, validated, validator
from liman_nb.tools.docstrings import read_docstring
from liman_nb.tools.functions import misfit, read_arguments
from liman_nb.tools.parameters import Parameters, read_parameters


def parse_arguments(raw: Any, report: Report) -> Shape | None:
    """The arguments that a ToolNode declares.

    Args:
        raw: what stands under ``arguments:``: a list of mappings with ``name``, ``type``,
            ``description``, ``optional``, ``properties``, ``items``, ``enum``, ``default``, …, or
            a mapping of names to types; see :func:`liman_nb.specs.yields.parse_yields` for the
            types. Texts are those of one language already.
        report: told each mistake: path of keys and positions as written, message, hint.

    Returns:
        An object shape; ``None`` when a mistake was reported.
    """
    reader = ShapeReader(report, _name_problem)
    fields = reader.fields(raw)
    return None if reader.failed else Shape("object", fields=fields)


def _name_problem(name: str, _: bool) -> str:
    return "" if name.strip() else "an argument needs a name"


@dataclass(frozen=True)
class DeclaredTool:
    """A tool whose arguments are declared in a spec.

    Attributes:
        schema: as a model sees it.
        adapter: checks what is declared.
        parameters: the function's own; ``None`` while it is not known.
    """

    schema: ToolSchema
    adapter: TypeAdapter[Any]
    parameters: Parameters | None = None

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.schema.name

    def validate(self, arguments: str) -> dict[str, Any]:
        """Arguments from a model's JSON text, with declared defaults.

        Converted to the function's annotated types where the function is known.

        Args:
            arguments: a JSON object; empty text means no arguments.

        Raises:
            ToolError: invalid JSON, or missing, unknown or mistyped arguments: one line for each,
                and what was expected, for the model.
        """
        given = read_arguments(self.schema, arguments)
        names = self.schema.parameters["properties"]
        try:
            given = validated(self.adapter, given)
            return self.parameters.convert(given) if self.parameters else given
        except ValidationError as exc:
            raise misfit(self.schema, misfits(exc, given, names)) from exc


def describe_arguments(
    name: str,
    description: str,
    arguments: Shape | Sequence[Any],
    function: Callable[..., Any] | None = None,
) -> DeclaredTool:
    """A ToolNode with declared arguments as a tool.

    Args:
        name: the ToolNode's name.
        description: for the model; empty for what the function's docstring says.
        arguments: as parsed, or as written in the spec.
        function: its function, where it is known already. It may have a ``**kwargs`` parameter.

    Raises:
        UsageError: the declaration is wrong, or the function does not take these arguments.
    """
    shape = arguments if isinstance(arguments, Shape) else _parsed(name, arguments)
    parameters = read_parameters(function, any_name=True) if function else None
    if parameters:
        _check_signature(name, shape, parameters)
    if function and not description:
        description = read_docstring(function).text
    schema = ToolSchema(name, description, schema_of(shape, SchemaStyle()))
    return DeclaredTool(schema, validator(shape), parameters)


def _parsed(name: str, raw: Sequence[Any]) -> Shape:
    found: list[Problem] = []

    def report(path: Path, message: str, hint: str) -> None:
        found.append(Problem(f"{path_text(('arguments', *path))} {message}", hint=hint))

    entries = [_written(entry) for entry in raw] if isinstance(raw, list | tuple) else raw
    shape = parse_arguments(entries, report)
    if shape is None:
        raise UsageError(f"the tool {name}: {'; '.join(map(str, found))}")
    return shape


def _written(entry: Any) -> Any:
    """An argument as a mapping; a spec's document has it as a pydantic model."""
    return entry.model_dump(exclude_unset=True) if isinstance(entry, BaseModel) else entry


def _check_signature(name: str, shape: Shape, parameters: Parameters) -> None:
    """Refuse a function that a call with the declared arguments would miss."""
    fields = shape.fields or {}
    surplus = [] if parameters.is_open else [n for n in fields if n not in parameters.names]
    if surplus:
        raise _mismatch(name, parameters, f"does not take {', '.join(surplus)}")
    always = {n for n, field in fields.items() if not field.optional or field.has_default}
    if missing := [n for n in parameters.required if n not in always]:
        raise _mismatch(name, parameters, f"cannot do without {', '.join(missing)}")


def _mismatch(name: str, parameters: Parameters, what: str) -> UsageError:
    return UsageError(
        f"the function {parameters.function} {what}, but the ToolNode {name} declares other "
        "arguments; change one of the two"
    )
