"""Bounds on texts and arrays in a JSON schema, for small models that do not stop by themselves.

A reply that is forced into a schema ends when the schema lets it: a small model fills an unbounded
array until the token limit cuts the reply off in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

MAX_ITEMS = 5
MAX_CHARACTERS = 200

# Keywords of JSON Schema 2020-12 that hold one schema, a list of them, or schemas by name.
_ONE = {"items", "additionalProperties", "contains", "not", "if", "then", "else"}
_LIST = {"anyOf", "oneOf", "allOf", "prefixItems"}
_BY_NAME = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
_BOUNDS_A_TEXT = {"enum", "const", "maxLength", "pattern", "format"}


def bounded_schema(
    schema: Mapping[str, Any], *, items: int = MAX_ITEMS, characters: int = MAX_CHARACTERS
) -> dict[str, Any]:
    """The schema with ``maxItems`` and ``maxLength`` wherever it leaves a size open.

    Args:
        schema: a JSON schema; it is not changed, and the bounds that it has stay.
        items: most items of an array; one that must have more may have exactly those.
        characters: most characters of a text; one that must have more may have exactly those.
    """
    deeper = partial(_bounded_part, items=items, characters=characters)
    bounded = {key: deeper(key, value) for key, value in schema.items()}
    if _may_be("array", schema):
        bounded.setdefault("maxItems", max(items, schema.get("minItems", 0)))
    if _may_be("string", schema) and not _BOUNDS_A_TEXT & schema.keys():
        bounded["maxLength"] = max(characters, schema.get("minLength", 0))
    return bounded


def _bounded_part(key: str, value: Any, *, items: int, characters: int) -> Any:
    """A keyword's value with the schemas in it bounded."""
    deeper = partial(_bounded_value, items=items, characters=characters)
    if key in _ONE:
        return deeper(value)
    if key in _LIST and isinstance(value, list):
        return [deeper(one) for one in value]
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: deeper(one) for name, one in value.items()}
    return value


def _bounded_value(value: Any, *, items: int, characters: int) -> Any:
    """A schema bounded; ``true`` and ``false`` are schemas too and stay."""
    if not isinstance(value, Mapping):
        return value
    return bounded_schema(value, items=items, characters=characters)


def _may_be(kind: str, schema: Mapping[str, Any]) -> bool:
    declared = schema.get("type")
    return kind in declared if isinstance(declared, list) else kind == declared
