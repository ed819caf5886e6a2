"""A node's yields: the structured output that it declares, and the check of what it gives.

From one declaration come the JSON schema that is sent to a model, the text that describes it in a
prompt, and the validation of a model's reply, a function's return value or a person's answer.
Asking a model again after a misfit is the engine's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from liman_nb.errors import YieldsError
from liman_nb.specs.json_text import JsonProblem, find_object
from liman_nb.specs.jsonable import jsonable
from liman_nb.specs.located import Path
from liman_nb.specs.misfits import kind_of, misfits
from liman_nb.specs.shape_notation import Report, ShapeReader
from liman_nb.specs.shapes import SchemaStyle, Shape, schema_of, validated, validator

RESERVED_NAMES = frozenset({"input", "output", "context", "state", "session"})
"""Names that conditions give a meaning of their own."""

CONDITION_WORDS = frozenset({"and", "or", "not", "in", "true", "false", "null", "none", "always"})
"""Words of the condition language, in any case: a field of such a name could not be read."""

_NAME = re.compile(r"[^\W\d]\w*")


def parse_yields(raw: Any, report: Report) -> YieldsSchema | None:
    """The yields that a spec declares.

    Args:
        raw: what stands under ``yields:``: a mapping of names to types, or the same written as
            ``{type: object, fields: {…}}``. A type is ``string``, ``number``, ``integer``,
            ``boolean``, ``list`` (or ``array``), ``object``, ``[string]``, or a mapping with
            ``type``, ``description``, ``enum``, ``nullable``, ``optional``, ``default``, ``items``,
            ``fields`` (or ``properties``), ``max_items``, ``max_length``. A ``?`` at the end of a
            name, or a default, makes the field optional. ``None``: there are no yields.
        report: told each mistake: path of keys and positions as written, message, hint.

    Returns:
        ``None`` without yields, and when a mistake was reported.
    """
    if raw is None:
        return None
    inner, path = _object_form(raw)
    reader = ShapeReader(report, _name_problem)
    fields = reader.fields(inner, path)
    if not fields and not reader.failed:
        report(path, "declares no field", "remove it, or name what the node gives")
    if not fields or reader.failed:
        return None
    return YieldsSchema(Shape("object", fields=fields))


def _object_form(raw: Any) -> tuple[Any, Path]:
    """The fields and their path, where yields are written as ``{type: object, fields: {…}}``."""
    if isinstance(raw, Mapping) and raw.get("type") == "object":
        for key in ("fields", "properties"):
            if isinstance(raw.get(key), Mapping | list) and set(raw) == {"type", key}:
                return raw[key], (key,)
    return raw, ()


def _name_problem(name: str, top: bool) -> str:
    if top and name in RESERVED_NAMES:
        return f"{name!r} is a reserved name: conditions give it a meaning of their own"
    if top and name.lower() in CONDITION_WORDS:
        return f"{name!r} is a word of the condition language"
    if not _NAME.fullmatch(name):
        return f"{name!r} cannot be read by conditions: use letters, digits and '_'"
    return ""


@dataclass(frozen=True)
class YieldsSchema:
    """Declared yields.

    Attributes:
        shape: an object shape with at least one field.
    """

    shape: Shape

    def __getstate__(self) -> dict[str, Any]:
        """For a copy or another process, which makes its own validator."""
        return {"shape": self.shape}

    @property
    def fields(self) -> Mapping[str, Shape]:
        """The declared fields by name."""
        return self.shape.fields or {}

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the declared fields, in order."""
        return tuple(self.fields)

    @property
    def is_strict(self) -> bool:
        """Whether the schema keeps OpenAI's rules for strict schemas.

        It does not when an ``object`` without fields is declared: those rules have no way to say
        "any object".
        """
        return not self.shape.is_open

    def json_schema(self, bounded: bool = False) -> dict[str, Any]:
        """The JSON schema for a model: no additional property, each property required.

        An optional field may be null. An array without declared items is narrowed to texts, numbers
        and booleans, since strict schemas need a type there; validation takes any JSON.

        Args:
            bounded: add ``maxItems`` (8) and ``maxLength`` (400) where the spec sets none. For
                models on this machine; OpenAI's strict schemas know no ``maxLength``.
        """
        return schema_of(self.shape, SchemaStyle(strict=True, bounded=bounded))

    def validate(self, value: Any) -> dict[str, Any]:
        """Check what a function or a person gave.

        Args:
            value: a mapping, pydantic model or dataclass; see
                :func:`liman_nb.specs.jsonable.jsonable` for what may be in it.

        Returns:
            The fields as JSON values, in declared order; an absent optional field stays absent
            unless it has a default.

        Raises:
            YieldsError: it does not fit; nothing is converted, filled in or left out.
        """
        try:
            plain = jsonable(value)
        except JsonProblem as exc:
            raise _error([str(exc)], type(value).__name__) from exc
        return self._fit(plain, json.dumps(plain, ensure_ascii=False))

    def parse_reply(self, text: str) -> dict[str, Any]:
        """Read and check a model's reply.

        Args:
            text: one JSON object; it may stand in one markdown fence, or in prose that holds no
                other JSON object.

        Returns:
            As :meth:`validate`.

        Raises:
            YieldsError: it is no JSON object or does not fit. `errors` holds one sentence for each
                thing that is wrong, to be sent back to the model.
        """
        try:
            value = find_object(text)
        except JsonProblem as exc:
            raise _error([str(exc)], text) from exc
        return self._fit(value, text)

    def describe(self) -> str:
        """The expected JSON, for a prompt: one line per field, with its type and description."""
        return _Sketch().of(self.shape)

    @cached_property
    def _validator(self) -> TypeAdapter[Any]:
        return validator(self.shape)

    def _fit(self, value: Any, reply: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            names = ", ".join(self.field_names)
            problem = f"expected a JSON object with the fields {names}, got {kind_of(value)}"
            raise _error([problem], reply)
        try:
            fields: dict[str, Any] = validated(self._validator, value)
        except ValidationError as exc:
            raise _error(misfits(exc, value, self.field_names), reply) from exc
        return fields


def _error(problems: Any, reply: str) -> YieldsError:
    lines = "; ".join(problems)
    return YieldsError(f"the yields do not fit their declaration: {lines}", reply, problems)


class _Sketch:
    """Draws a shape as JSON with types in place of values and descriptions behind ``//``."""

    def of(self, shape: Shape, indent: str = "") -> str:
        text = self._plain(shape, indent)
        return f"{text} | null" if shape.nullable or shape.optional else text

    def _plain(self, shape: Shape, indent: str) -> str:
        if shape.alternatives:
            return " | ".join(self._plain(inner, indent) for inner in shape.alternatives)
        if shape.enum:
            return " | ".join(json.dumps(v, ensure_ascii=False) for v in shape.enum)
        if shape.kind == "array":
            return f"[{self.of(shape.items, indent) if shape.items else 'anything'}, …]"
        if shape.fields is None:
            return shape.kind
        inner, last = f"{indent}  ", len(shape.fields) - 1
        lines = [
            self._line(name, field, inner, "" if i == last else ",")
            for i, (name, field) in enumerate(shape.fields.items())
        ]
        return "\n".join(["{", *lines, f"{indent}}}"])

    def _line(self, name: str, shape: Shape, indent: str, comma: str) -> str:
        line = f'{indent}"{name}": {self.of(shape, indent)}{comma}'
        remarks = [" ".join(shape.description.split()), *_limits(shape)]
        said = "; ".join(r for r in remarks if r)
        return f"{line}  // {said}" if said else line


def _limits(shape: Shape) -> list[str]:
    limits = []
    if shape.max_items is not None:
        limits.append(f"at most {shape.max_items} items")
    if shape.max_length is not None:
        limits.append(f"at most {shape.max_length} characters")
    if shape.has_default:
        limits.append(f"null means {json.dumps(shape.default, ensure_ascii=False)}")
    return limits
