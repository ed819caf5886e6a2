"""Shapes: what a JSON value must look like, as declared by a spec's yields and tool arguments.

One shape gives a JSON schema for models and a pydantic validator for what comes back. How shapes
are written in specs is `shape_notation.py`'s business.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    create_model,
)
from pydantic_core import PydanticCustomError

Kind = Literal["string", "number", "integer", "boolean", "array", "object"]

BOUNDED_ITEMS = 8
"""Most items of an array in a bounded schema, where the spec says nothing."""

BOUNDED_LENGTH = 400
"""Most characters of a text in a bounded schema, where the spec says nothing."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one JSON value must look like.

    Attributes:
        kind: its JSON type; with alternatives, the first one's.
        description: what it is, for a model.
        enum: the values allowed; empty for any.
        nullable: whether null is a value of its own.
        optional: whether it may be absent from its object.
        has_default: whether `default` takes its place then.
        default: a JSON value.
        items: what an array's items look like; ``None`` for any JSON.
        fields: what an object has, by name; ``None`` for any object.
        max_items: most items of an array; ``None`` for no bound.
        max_length: most characters of a text; ``None`` for no bound.
        alternatives: what else than this shape's own type it may look like: it is then one of
            these, and its own type, items, fields, enum and bounds say nothing.
    """

    kind: Kind
    description: str = ""
    enum: tuple[Any, ...] = ()
    nullable: bool = False
    optional: bool = False
    has_default: bool = False
    default: Any = None
    items: Shape | None = None
    fields: Mapping[str, Shape] | None = None
    max_items: int | None = None
    max_length: int | None = None
    alternatives: tuple[Shape, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it is, or holds, an object of any fields."""
        if self.alternatives:
            return any(shape.is_open for shape in self.alternatives)
        if self.kind == "object" and self.fields is None:
            return True
        return any(inner.is_open for inner in self._inner())

    def _inner(self) -> Iterator[Shape]:
        yield from (self.fields or {}).values()
        if self.items:
            yield self.items


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SchemaStyle:
    """How a shape is written as a JSON schema.

    Attributes:
        strict: by the rules of OpenAI's structured outputs: each property required, an optional
            one nullable, no ``default``, no ``maxLength``
            (https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas").
        bounded: with ``maxItems`` and ``maxLength`` everywhere: a small model that is held to a
            schema fills an unbounded array until its reply is cut off.
    """

    strict: bool = False
    bounded: bool = False


def schema_of(shape: Shape, style: SchemaStyle) -> dict[str, Any]:
    """A shape as a JSON schema."""
    schema = _bare_schema(shape, style)
    if _null_allowed(shape, style):
        schema = _or_null(schema)
    if text := _description(shape, style):
        schema["description"] = text
    if shape.has_default and not style.strict:
        schema["default"] = copy.deepcopy(shape.default)
    return schema


def _bare_schema(shape: Shape, style: SchemaStyle) -> dict[str, Any]:
    """The schema without null, description and default."""
    if shape.alternatives:
        return {"anyOf": [_bare_schema(alternative, style) for alternative in shape.alternatives]}
    return (_container if shape.kind in ("array", "object") else _scalar)(shape, style)


def _scalar(shape: Shape, style: SchemaStyle) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": shape.kind}
    if shape.enum:
        schema["enum"] = list(shape.enum)
    elif shape.kind == "string":
        schema |= _bound("maxLength", shape.max_length, BOUNDED_LENGTH, style)
        if style.strict and not style.bounded:
            schema.pop("maxLength", None)
    return schema


def _container(shape: Shape, style: SchemaStyle) -> dict[str, Any]:
    if shape.kind == "array":
        items = schema_of(shape.items, style) if shape.items else _any_item(style)
        bound = _bound("maxItems", shape.max_items, BOUNDED_ITEMS, style)
        return {"type": "array", "items": items, **bound}
    if shape.fields is None:
        return {"type": "object", "additionalProperties": True}
    return {
        "type": "object",
        "properties": {name: schema_of(field, style) for name, field in shape.fields.items()},
        "required": [n for n, field in shape.fields.items() if style.strict or not field.optional],
        "additionalProperties": False,
    }


def _any_item(style: SchemaStyle) -> dict[str, Any]:
    """An item of an array that declares none: strict schemas need a type, so a scalar one."""
    if not style.strict:
        return {}
    bound = _bound("maxLength", None, BOUNDED_LENGTH, style)
    return {"type": ["string", "number", "boolean"], **bound}


def _bound(key: str, declared: int | None, usual: int, style: SchemaStyle) -> dict[str, int]:
    bound = usual if declared is None and style.bounded else declared
    return {} if bound is None else {key: bound}


def _null_allowed(shape: Shape, style: SchemaStyle) -> bool:
    return shape.nullable or (style.strict and shape.optional)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type", "object") in ("array", "object"):
        return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **enum}


def _description(shape: Shape, style: SchemaStyle) -> str:
    parts = [shape.description.strip()]
    if style.strict and shape.max_length is not None:
        parts.append(f"At most {shape.max_length} characters.")
    return " ".join(p for p in parts if p)


# ── validation ───────────────────────────────────────────────────────────────────────────────────


class _Object(BaseModel):
    """Base of the models made here.

    Their fields have made-up names and the declared ones as alias, so that a spec may declare any
    name, ``model_config`` and ``copy`` included.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


def validator(shape: Shape) -> TypeAdapter[Any]:
    """A pydantic validator for JSON values of a shape.

    Types are taken at their word: a text is never read as a number, and a boolean is no number. An
    integer may be written ``4.0``, as JSON knows one kind of number. An optional field that is null
    counts as absent, unless null is among its values; an absent one gets its default where one is
    declared. Fields that are not declared are refused.

    Returns:
        Validates to plain JSON values; see :func:`validated`.
    """
    return TypeAdapter(_annotation(shape))


def validated(adapter: TypeAdapter[Any], value: Any) -> Any:
    """A JSON value, checked, with defaults filled in.

    Raises:
        pydantic.ValidationError: it does not fit.
    """
    return adapter.dump_python(adapter.validate_python(value), by_alias=True, exclude_unset=True)


def is_kind(value: Any, kind: Kind) -> bool:
    """Whether a JSON value is of a type, taken at its word."""
    return _KINDS[kind][1](value)


def _annotation(shape: Shape) -> Any:
    annotation: Any
    if shape.alternatives:
        annotation = Annotated[Any, PlainValidator(_any_of(shape.alternatives))]
    else:
        annotation = Annotated[_INNER[shape.kind](shape), BeforeValidator(_typed(shape.kind))]
        if shape.enum:
            annotation = Annotated[annotation, AfterValidator(_one_of(shape.enum))]
    return annotation | None if shape.nullable else annotation


def _array(shape: Shape) -> Any:
    items: Any = list[_annotation(shape.items)] if shape.items else list[Any]  # type: ignore[misc]  # made at run time
    return Annotated[items, Field(max_length=shape.max_items)]


def _object(shape: Shape) -> Any:
    if shape.fields is None:
        return dict[str, Any]
    members = {
        f"field_{i}": (_annotation(field), Field(None if field.optional else ..., alias=name))
        for i, (name, field) in enumerate(shape.fields.items())
    }
    model = create_model("Object", __base__=_Object, **members)  # type: ignore[call-overload]  # dynamic fields
    return Annotated[model, BeforeValidator(_absences(shape.fields))]


_INNER: Mapping[Kind, Callable[[Shape], Any]] = {
    "string": lambda shape: Annotated[str, Field(max_length=shape.max_length)],
    "number": lambda _: Any,
    "integer": lambda _: Annotated[Any, AfterValidator(int)],
    "boolean": lambda _: bool,
    "array": _array,
    "object": _object,
}
"""What pydantic is to make of a value that is known to be of a type."""


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS: Mapping[Kind, tuple[str, Callable[[Any], bool]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "number": ("a number", _is_number),
    "integer": ("a whole number", lambda value: _is_number(value) and value == int(value)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "array": ("an array", lambda value: isinstance(value, list)),
    "object": ("an object", lambda value: isinstance(value, dict)),
}
"""Each type in words, and the test for it."""


def _typed(kind: Kind) -> Callable[[Any], Any]:
    """A validator that refuses values of another type, without converting any."""

    def check(value: Any) -> Any:
        if is_kind(value, kind):
            return value
        raise PydanticCustomError("kind", "Input should be {name}", {"name": _KINDS[kind][0]})

    return check


def _one_of(allowed: tuple[Any, ...]) -> Callable[[Any], Any]:
    """A validator for a value of the right type that must be among some."""
    names = ", ".join(json.dumps(value, ensure_ascii=False) for value in allowed)

    def check(value: Any) -> Any:
        if value in allowed:
            return value
        raise PydanticCustomError("enum", "Input should be one of {names}", {"names": names})

    return check


def _any_of(alternatives: Sequence[Shape]) -> Callable[[Any], Any]:
    """A validator for a value that must fit one of several shapes of different types.

    The first shape of the value's type decides, so that its misfits are told and no others.
    """
    names = " or ".join(_KINDS[shape.kind][0] for shape in alternatives)
    adapters = [(shape.kind, validator(shape)) for shape in alternatives]

    def check(value: Any) -> Any:
        for kind, adapter in adapters:
            if is_kind(value, kind):
                return validated(adapter, value)
        raise PydanticCustomError("kind", "Input should be {name}", {"name": names})

    return check


def _absences(fields: Mapping[str, Shape]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A validator that drops the nulls that mean "absent" and fills in the declared defaults."""

    def settle(value: dict[str, Any]) -> dict[str, Any]:
        present = {k: v for k, v in value.items() if v is not None or not _means_absent(k, fields)}
        for name, field in fields.items():
            if field.has_default and name not in present:
                present[name] = copy.deepcopy(field.default)
        return present

    return settle


def _means_absent(name: str, fields: Mapping[str, Shape]) -> bool:
    """Whether a null under this name says that there is no value."""
    field = fields.get(name)
    return field is not None and field.optional and not field.nullable
