"""Liman's notations of types, rewritten into the one that `shape_notation.py` reads.

Liman writes ``str int float bool`` for the types of a tool's arguments and of a structured output,
``required: true`` beside ``optional: true``, and an object in a structured output as a plain
mapping of its fields (its documentation of ToolNode, its sample ``simple_structured_output``). The
parts keep their places.
"""

from __future__ import annotations

from collections.abc import Mapping

from liman_nb.specs.located import Located

_TYPES: Mapping[str, str] = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "dict": "object",
}


def as_arguments(value: Located) -> Located:
    """A tool's ``arguments``, or a part of them, in the common notation."""
    if value.text is not None:
        return _true_type(value)
    if value.is_list:
        return value.with_value(tuple(as_arguments(item) for item in value.items))
    if not value.is_mapping:
        return value
    fields = {name: _in_argument(name, child) for name, child in value.fields.items()}
    required = fields.get("required")
    if required and isinstance(required.value, bool) and "optional" not in fields:
        fields["optional"] = fields.pop("required").with_value(not required.value)
    return value.with_value(fields)


def _in_argument(name: str, child: Located) -> Located:
    if name == "type":
        return _true_type(child)
    if name == "properties" and child.is_mapping:
        return child.with_value({k: as_arguments(v) for k, v in child.fields.items()})
    return as_arguments(child) if name in ("properties", "items") else child


def as_yields(value: Located) -> Located:
    """A ``structured_output`` as ``yields``."""
    if not value.is_mapping:
        return value
    return value.with_value({name: _as_field(child) for name, child in value.fields.items()})


def _as_field(value: Located) -> Located:
    if value.text is not None:
        return _true_type(value)
    if value.is_list:
        return value.with_value(tuple(_as_field(item) for item in value.items))
    if not value.is_mapping:
        return value
    if _is_type(value):
        return _described(value, _as_field(value.fields["type"]))
    kind = Located("object", value.place)
    return value.with_value({"type": kind, "fields": as_yields(Located(value.value, value.place))})


def _is_type(value: Located) -> bool:
    """Whether a mapping describes one field, rather than being an object with fields."""
    written = value.fields.get("type")
    return written is not None and (written.is_list or written.text in {*_TYPES, *_TYPES.values()})


def _described(value: Located, type_: Located) -> Located:
    """``{type: [string], …}`` as ``{type: array, items: string, …}``."""
    if not type_.is_list or len(type_.items) != 1:
        return value.with_value({**value.fields, "type": type_})
    array = Located("array", type_.place, type_.key)
    return value.with_value({**value.fields, "type": array, "items": type_.items[0]})


def _true_type(value: Located) -> Located:
    return value.with_value(_TYPES.get(value.text or "", value.value))
