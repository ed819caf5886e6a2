"""The parameters of a Python function as one pydantic model: their schema, and their conversion.

Knows nothing of tools' names and descriptions, and calls nothing.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from liman_nb.errors import UsageError
from liman_nb.tools.calling import OFFERED_NAMES, filled_in, function_name
from liman_nb.tools.docstrings import read_docstring

_MAX_WHOLE = 2**53
"""Up to here a float holds every whole number."""

_NAMED_SCHEMAS = ("properties", "$defs", "patternProperties")
_VALUES = ("default", "const", "enum", "examples")


@dataclass(frozen=True)
class Parameters:
    """A function's parameters, as far as a model may set them.

    Attributes:
        function: the function's name, for errors.
        model: its fields have made-up names and the parameters' as alias, so that a parameter may
            have any name.
        fields: parameter by field.
        filled: fields whose default only pydantic knows (``x: int = Field(3)``).
    """

    function: str
    model: type[BaseModel]
    fields: Mapping[str, str]
    filled: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in order."""
        return tuple(self.fields.values())

    @property
    def required(self) -> tuple[str, ...]:
        """Those without a default."""
        fields = self.model.model_fields
        return tuple(name for field, name in self.fields.items() if fields[field].is_required())

    @property
    def is_open(self) -> bool:
        """Whether the function takes other names, too."""
        return self.model.model_config.get("extra") == "allow"

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without pydantic's titles.

        Raises:
            UsageError: an annotation stands for no JSON value.
        """
        try:
            schema = self.model.model_json_schema(schema_generator=_Quiet)
        except PydanticUserError as exc:
            raise _unusable(self.function, exc) from exc
        return {"type": "object", "properties": {}, **_untitled(schema)}

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """JSON values as what the annotations say.

        Types are taken at their word (pydantic's strict mode for JSON), but for whole numbers,
        which may be written ``4.0``.

        Returns:
            Keyword arguments, without those that are left to the function's own defaults.

        Raises:
            pydantic.ValidationError: they do not fit.
        """
        made = self.model.model_validate_json(json.dumps(_whole(arguments)), strict=True)
        given = made.model_fields_set | self.filled
        named = {name: getattr(made, f) for f, name in self.fields.items() if f in given}
        return {**named, **(made.model_extra or {})}


class _Quiet(GenerateJsonSchema):
    """Leaves a default out of the schema, without a warning, when JSON cannot say it."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as its base


def read_parameters(function: Callable[..., Any], *, any_name: bool = False) -> Parameters:
    """The parameters of a function that a model may set.

    Args:
        function: a function, method, partial or object with ``__call__``. What it gets from the
            engine (`OFFERED_NAMES`) and what a partial has filled in is left out. A parameter
            without annotation takes any JSON value; one whose default is None may be null.
        any_name: whether it may have a ``**kwargs`` parameter.

    Raises:
        UsageError: not a function; a positional-only, ``*args`` or ``**kwargs`` parameter; an
            annotation that is not defined or that pydantic cannot read.
    """
    parameters = _settable(function)
    name = function_name(function)
    is_open = any_name and any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p for p in parameters if not (is_open and p.kind is p.VAR_KEYWORD)]
    for parameter in named:
        _check_kind(name, parameter)
    described = read_docstring(function).parameters
    members = {f"parameter_{i}": _member(p, described.get(p.name)) for i, p in enumerate(named)}
    return Parameters(
        name,
        _model(name, members, is_open),
        {f"parameter_{i}": p.name for i, p in enumerate(named)},
        frozenset(f"parameter_{i}" for i, p in enumerate(named) if _is_field(p.default)),
    )


def _settable(function: Callable[..., Any]) -> list[inspect.Parameter]:
    if inspect.isclass(function) or not callable(function):
        raise UsageError(f"a tool is a function, not {function!r:.80}")
    name = function_name(function)
    try:
        signature = inspect.signature(function, eval_str=True)
    except ValueError as exc:
        raise UsageError(f"{name} has no signature to read; wrap it in a function") from exc
    except Exception as exc:
        raise UsageError(
            f"the annotations of {name} cannot be read: {type(exc).__name__}: {exc}; every name in "
            "them must be defined where the function is, and not only under TYPE_CHECKING"
        ) from exc
    hidden = OFFERED_NAMES | filled_in(function)
    return [p for p in signature.parameters.values() if p.name not in hidden]


def _check_kind(function: str, parameter: inspect.Parameter) -> None:
    refused: dict[Any, str] = {
        parameter.POSITIONAL_ONLY: "is positional-only, and tools are called by keyword",
        parameter.VAR_POSITIONAL: "takes any number of values; use one list instead",
        parameter.VAR_KEYWORD: "takes any name; name its arguments, or use one dict instead",
    }
    if reason := refused.get(parameter.kind):
        raise UsageError(f"the parameter '{parameter}' of {function} {reason}")


def _is_field(default: Any) -> bool:
    return isinstance(default, FieldInfo)


def _member(parameter: inspect.Parameter, description: str | None) -> tuple[Any, Any]:
    """A parameter as annotation and field of a pydantic model."""
    annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
    settings: dict[str, Any] = {"alias": parameter.name}
    if _is_field(parameter.default):
        annotation = Annotated[annotation, parameter.default]
        settings |= _field_default(parameter.default)
    elif parameter.default is not parameter.empty:
        settings["default"] = parameter.default
    if parameter.default is None and annotation is not Any:
        annotation = Optional[annotation]  # noqa: UP045 - made at run time
    if description and not FieldInfo.from_annotation(annotation).description:
        settings["description"] = description
    return annotation, Field(**settings)


def _field_default(field: FieldInfo) -> dict[str, Any]:
    if field.is_required():
        return {}
    if field.default_factory is not None:
        return {"default_factory": field.default_factory}
    return {"default": field.default}


def _model(function: str, members: Mapping[str, Any], is_open: bool) -> type[BaseModel]:
    config = ConfigDict(extra="allow" if is_open else "forbid")
    try:
        model: type[BaseModel] = create_model("Arguments", __config__=config, **members)
        model.model_rebuild()
    except (PydanticUserError, NameError, TypeError) as exc:
        raise _unusable(function, exc) from exc
    return model


def _unusable(function: str, exc: Exception) -> UsageError:
    reason = str(exc).splitlines()[0].rstrip(".")
    return UsageError(
        f"an annotation of {function} cannot be given by a model: {reason}; use text, numbers, "
        "lists, dictionaries, enums, dataclasses or pydantic models"
    )


def _untitled(schema: Any) -> Any:
    """A JSON schema without the titles that pydantic makes from names."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _inner(key, value) for key, value in schema.items() if key != "title"}


def _inner(key: str, value: Any) -> Any:
    if key in _NAMED_SCHEMAS:
        return {name: _untitled(schema) for name, schema in value.items()}
    return value if key in _VALUES else _untitled(value)


def _whole(value: Any) -> Any:
    """A JSON value with its whole numbers as such: ``4.0`` becomes 4."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MAX_WHOLE:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _whole(item) for name, item in value.items()}
    return value
