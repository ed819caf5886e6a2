"""Parameters as text: the styles of OpenAPI, which are those of RFC 6570 and a few more.

See the table of `Style Examples`_. What it leaves undefined is decided here: null and empty lists
are left out, ``deepObject`` goes as deep as the value does (``a[b][c]=1``, ``a[0]=1``), and a list
or an object within another style's list is refused.

.. _Style Examples: https://spec.openapis.org/oas/v3.1.1.html#style-examples
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from liman_nb.errors import ToolError

Place = Literal["path", "query", "header", "cookie"]

STYLES: dict[str, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""Styles by place; the first one is the default."""

_RESERVED = ":/?@!$'()*,;[]"
"""What ``allowReserved`` leaves as it is; ``&``, ``=``, ``+`` and ``#`` would end a value."""

_BETWEEN = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}

_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation.

    Attributes:
        argument: the name that a model knows it by.
        name: its own name.
        place: where it goes.
        style: how lists and objects are written.
        explode: whether each item stands alone.
        reserved: whether a query's value keeps reserved characters.
        as_json: whether the value is written as JSON.
    """

    argument: str
    name: str
    place: Place
    style: str
    explode: bool
    reserved: bool = False
    as_json: bool = False


def query_pairs(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """A query parameter, a form's field or a cookie as names and values, both encoded.

    Raises:
        ToolError: a value that the style cannot write.
    """
    safe = _RESERVED if parameter.reserved else ""
    if not parameter.as_json and parameter.style != "deepObject" and not parameter.explode:
        if not isinstance(value, list | dict):
            value = [value]
        flat = [quote(text, safe=safe) for text in _flat(parameter, value)]
        return [(_quoted(parameter.name), _BETWEEN[parameter.style].join(flat))] if flat else []
    return [(_quoted(n), quote(text, safe=safe)) for n, text in _pairs(parameter, value)]


def _pairs(parameter: Parameter, value: Any) -> Iterator[tuple[str, str]]:
    """Names and values of a parameter whose items stand alone."""
    if parameter.as_json:
        yield parameter.name, _json(value)
    elif parameter.style == "deepObject":
        yield from _deep(parameter.name, value)
    elif isinstance(value, dict):
        yield from _members(parameter, value)
    else:
        items = value if isinstance(value, list) else [value]
        yield from ((parameter.name, text) for text in _scalars(parameter, items))


def path_text(parameter: Parameter, value: Any) -> str:
    """A path parameter as it stands in the path, encoded.

    Raises:
        ToolError: a value that the style cannot write, or an empty one.
    """
    if parameter.as_json:
        return quote(_json(value), safe="")
    name, encode = quote(parameter.name, safe=""), _quoted
    match parameter.style:
        case "label":
            between, before = ("." if parameter.explode else ","), "."
        case "matrix":
            between, before = (";" if parameter.explode else ","), ";"
        case _:
            between, before = ",", ""
    if parameter.explode and isinstance(value, dict):
        parts = [f"{encode(k)}={encode(v)}" for k, v in _members(parameter, value)]
    elif isinstance(value, list | dict):
        parts = [encode(text) for text in _flat(parameter, value)]
    else:
        parts = [encode(_scalar(parameter, value))]
    if not parts or not any(parts):
        raise ToolError(f"{parameter.argument} must not be empty: it is a part of the address")
    if parameter.style == "matrix" and not (parameter.explode and isinstance(value, dict)):
        if parameter.explode and isinstance(value, list):
            parts = [f"{name}={part}" for part in parts]
        else:
            parts[0] = f"{name}={parts[0]}"
    return before + between.join(parts)


def header_text(parameter: Parameter, value: Any) -> str:
    """A header parameter's value.

    Raises:
        ToolError: a value that the style cannot write, or that no header can hold.
    """
    if parameter.as_json:
        text = json.dumps(value)
    elif parameter.explode and isinstance(value, dict):
        text = ",".join(f"{k}={v}" for k, v in _members(parameter, value))
    elif isinstance(value, list | dict):
        text = ",".join(_flat(parameter, value))
    else:
        text = _scalar(parameter, value)
    if not (text.isascii() and text.isprintable()):
        raise ToolError(f"{parameter.argument}: a header holds printable ASCII characters only")
    return text


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain_scalar(value: Any) -> str:
    """A text as it is; numbers and booleans as JSON writes them, ``4.0`` as 4; null as nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE:
        value = int(value)
    return "" if value is None else json.dumps(value)


def _scalar(parameter: Parameter, value: Any) -> str:
    if isinstance(value, list | dict):
        raise ToolError(
            f"{parameter.argument}: lists and objects within lists or objects cannot be sent "
            f"in the {parameter.place}"
        )
    return plain_scalar(value)


def _scalars(parameter: Parameter, value: list[Any]) -> list[str]:
    return [_scalar(parameter, item) for item in value if item is not None]


def _members(parameter: Parameter, value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(k, _scalar(parameter, v)) for k, v in value.items() if v is not None]


def _flat(parameter: Parameter, value: list[Any] | dict[str, Any]) -> list[str]:
    if isinstance(value, list):
        return _scalars(parameter, value)
    return [text for pair in _members(parameter, value) for text in pair]


def _deep(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _deep(f"{name}[{key}]", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _deep(f"{name}[{index}]", inner)
    elif value is not None:
        yield name, plain_scalar(value)
