"""What an answer must be, read off the JSON schema of its question.

A schema may come from a spec, from a function, or from a stored row: what is not understood of it
is left to the validation of the answer and shown as ``a value that fits its schema``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from liman_nb.views.escape import json_text, one_line

FormKind = Literal[
    "boolean", "choice", "text", "integer", "number", "null", "object", "list", "any", "other"
]

FILL_IN = "…"
"""Stands in an example for a text of the person's own."""

_FITTING = "a value that fits its schema"
_NULL = {"type": "null"}
_TWO = 2
_DEPTH = 6
_PARTS = 300
_CHOICES = 12
_CHOICE_CAP = 60
_WORDS: dict[str, tuple[FormKind, str]] = {
    "boolean": ("boolean", "true or false"),
    "string": ("text", "text"),
    "integer": ("integer", "a whole number"),
    "number": ("number", "a number"),
    "null": ("null", "null"),
    "object": ("object", "an object"),
    "array": ("list", "a list"),
}
_LIMITS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "below {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("format", "a {}"),
    ("pattern", "matching {}"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """What one value must be.

    Attributes:
        kind: its type; ``choice`` of listed values, ``any`` JSON value, ``other`` for what only
            the schema says.
        words: the same in words, such as ``a whole number, at least 1``.
        description: what it is, as its author says; may be empty.
        choices: the values to choose from.
        fields: what an object has.
        items: what the items of a list are.
        nullable: whether null will do, too.
        schema: the JSON schema of this value.
    """

    kind: FormKind
    words: str
    description: str = ""
    choices: tuple[Any, ...] = ()
    fields: tuple[Field, ...] = ()
    items: Form | None = None
    nullable: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def single(self) -> Field | None:
        """The field whose value alone will do as the answer: the only required one."""
        wanted = [f for f in self.fields if f.required] or list(self.fields)
        return wanted[0] if len(wanted) == 1 else None

    def example(self, *, every_field: bool = False) -> Any:
        """A value to fill in.

        Args:
            every_field: whether fields that may be left out are in it.
        """
        if "default" in self.schema:
            return self.schema["default"]
        if self.kind == "object":
            wanted = [f for f in self.fields if f.required or every_field]
            return {f.name: f.form.example() for f in wanted}
        if self.kind == "list":
            return [self.items.example()] if self.items else []
        if self.kind in ("integer", "number"):
            least = self.schema.get("minimum", 1)
            return least if isinstance(least, int | float) else 1
        samples = {"boolean": True, "null": None, "choice": self.choices and self.choices[0]}
        return samples.get(self.kind, FILL_IN)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object.

    Attributes:
        name: its name.
        form: what its value must be.
        required: whether it may not be left out.
    """

    name: str
    form: Form
    required: bool


def answer_form(schema: Mapping[str, Any]) -> Form:
    """What an answer must be.

    Args:
        schema: the question's JSON schema; empty for any JSON value.
    """
    return _Reader(schema).form(schema, _DEPTH)


class _Reader:
    """Reads a schema and what it refers to, as far as a bound: it may refer to itself."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _PARTS

    def form(self, schema: Any, depth: int) -> Form:
        self._left -= 1
        if schema is True or schema == {}:
            return Form("any", "any JSON value")
        if not isinstance(schema, Mapping) or depth == 0 or self._left < 0:
            return Form("other", _FITTING)
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = _target(self._root, schema["$ref"])
            return self.form({**target, **rest} if target else None, depth - 1)
        other = _without_null(schema)
        if other is not None:
            form = self.form(other, depth - 1)
            choices = tuple(choice for choice in form.choices if choice is not None)
            words = f"{form.words} or null"
            return replace(form, words=words, choices=choices, nullable=True, schema=schema)
        return self._plain(schema, depth)

    def _plain(self, schema: Mapping[str, Any], depth: int) -> Form:
        description = _text(schema.get("description"))
        if choices := _choices(schema):
            words = f"{'one of' if len(choices) > 1 else 'only'} {_listed(choices)}"
            return Form("choice", words, description, choices, schema=schema)
        if alternatives := schema.get("anyOf") or schema.get("oneOf"):
            return Form("other", self._any_of(alternatives, depth), description, schema=schema)
        kind = schema.get("type")
        if not isinstance(kind, str) or kind not in _WORDS:
            if set(schema) <= {"title", "description", "default", "$defs"}:
                return Form("any", "any JSON value", description, schema=schema)
            return Form("other", _FITTING, description, schema=schema)
        word, words = _WORDS[kind]
        fields = tuple(self._fields(schema, depth)) if kind == "object" else ()
        items = None
        if kind == "array" and schema.get("items"):
            items = self.form(schema["items"], depth - 1)
            words = f"{words}, each item {items.words}"
        limits = "".join(f", {limit}" for limit in _limits(schema))
        return Form(word, words + limits, description, (), fields, items, schema=schema)

    def _any_of(self, alternatives: Any, depth: int) -> str:
        parts = alternatives if isinstance(alternatives, list) else []
        words = dict.fromkeys(self.form(part, depth - 1).words for part in parts[:_CHOICES])
        return " or ".join(words) or _FITTING

    def _fields(self, schema: Mapping[str, Any], depth: int) -> Iterator[Field]:
        declared, required = schema.get("properties"), schema.get("required")
        fields = dict(declared) if isinstance(declared, Mapping) else {}
        names = required if isinstance(required, list) else []
        wanted = [name for name in names if isinstance(name, str)]
        for name in dict.fromkeys([*fields, *wanted]):
            yield Field(str(name), self.form(fields.get(name, {}), depth - 1), name in wanted)


def _target(root: Mapping[str, Any], reference: Any) -> Mapping[str, Any]:
    """What a reference into the schema itself leads to; empty for any other."""
    found: Any = root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    for step in reference.removeprefix("#/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of the other type, where null and one other will do; else ``None``."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) == _TWO and "null" in kinds:
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0]} if others else None
    for word in ("anyOf", "oneOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and len(parts) == _TWO and _NULL in parts:
            others = [part for part in parts if part != _NULL]
            rest = {key: value for key, value in schema.items() if key != word}
            return {**rest, **others[0]} if others and isinstance(others[0], Mapping) else None
    return None


def _choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    if "const" in schema:
        return (schema["const"],)
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else ()


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, words in _LIMITS:
        limit = schema.get(key)
        if isinstance(limit, int | float | str) and not isinstance(limit, bool):
            yield words.format(one_line(str(limit), _CHOICE_CAP))


def _listed(values: tuple[Any, ...]) -> str:
    shown = [json_text(value, _CHOICE_CAP) for value in values[:_CHOICES]]
    if len(values) > _CHOICES:
        shown.append(f"{len(values) - _CHOICES:,} more")
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def text_size(value: Any) -> int:
    """How many characters the texts within a JSON value have together."""
    if isinstance(value, Mapping):
        return sum(text_size(key) + text_size(part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return sum(map(text_size, value))
    return len(value) if isinstance(value, str) else 0


def python_text(value: Any) -> str:
    """A JSON value as it is written in Python, on one line on which every character is seen."""
    if isinstance(value, Mapping):
        pairs = (f"{python_text(key)}: {python_text(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(python_text, value))}]"
    if isinstance(value, str):
        is_plain = value.isprintable() and one_line(value, len(value)) == value
        return json.dumps(value, ensure_ascii=False) if is_plain else ascii(value)
    return repr(value)
