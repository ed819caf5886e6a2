"""Strict reading of JSON text that a model wrote.

Nothing is changed silently: what could be misread is refused with its place. This file knows no
schema; `shapes.py` says what a value must look like, `jsonable.py` makes JSON of Python objects.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

MAX_DEPTH = 64
"""Arrays and objects within each other."""

_MAX_INTEGER = 2**63
_SPACE = " \t\r\n"
_OBJECT_START = re.compile(r'\{\s*["}]')  # no `{name}` or `{'name': …}` in prose
_FENCE = "```"
_LANGUAGE = re.compile(r"\A[a-zA-Z][\w-]*")


class JsonProblem(ValueError):
    """A text that is no JSON, or a value that JSON cannot say. The message is one sentence."""


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Stricter than :func:`json.loads` where a value could be misread: a key that occurs twice, NaN
    and infinities, integers beyond 64 bits, half a surrogate pair and more than `MAX_DEPTH` levels
    are refused. More lenient in one thing: a line break may stand unescaped within a string, since
    small models write so.

    Raises:
        JsonProblem: with line and column where the parser knows them.
    """
    start = len(text) - len(text.lstrip(_SPACE))
    value, end = _decode(text, start)
    if text[end:].strip(_SPACE):
        raise _syntax(json.JSONDecodeError("Extra data", text, end))
    return value


def find_object(text: str) -> Any:
    """The one JSON value of a model's reply.

    The reply is JSON, or JSON in one markdown fence, or prose around exactly one JSON object.

    Raises:
        JsonProblem: no JSON, invalid JSON, or several objects.
    """
    body = _unfenced(text.strip())
    try:
        return read_json(body)
    except JsonProblem:
        found = list(_objects_in(body))
        if not found and body.startswith(("{", "[")):
            raise
    if len(found) != 1:
        count = f"{len(found)} JSON objects" if found else "no JSON object"
        raise JsonProblem(f"the reply must be one JSON object, but {count} can be read in it")
    return found[0]


def _unfenced(text: str) -> str:
    """The content of the markdown fence that a text is, with its language name left out."""
    if len(text) > 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        return _LANGUAGE.sub("", text[len(_FENCE) : -len(_FENCE)], count=1).strip()
    return text


def _objects_in(text: str) -> Iterator[Any]:
    """Every JSON object that stands in a text, outermost ones only.

    Where one begins and does not end as JSON, that is the error: an object within it, or after it,
    is not what the reply meant.
    """
    end = 0
    while start := _OBJECT_START.search(text, end):
        value, end = _decode(text, start.start())
        yield value


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The value that starts at an offset, checked, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as exc:
        raise _syntax(exc) from None
    except RecursionError:
        raise _too_deep() from None
    _check(value)
    return value, end


def _syntax(exc: json.JSONDecodeError) -> JsonProblem:
    what = exc.msg[:1].lower() + exc.msg[1:]
    return JsonProblem(f"not valid JSON at line {exc.lineno}, column {exc.colno}: {what}")


def _too_deep() -> JsonProblem:
    return JsonProblem(f"nested more than {MAX_DEPTH} levels deep")


def _check(value: Any) -> None:
    """Refuse what the parser lets through: depth, and text that no file can hold."""
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep()
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, list):
            waiting.extend((child, depth + 1) for child in item)
        elif isinstance(item, dict):
            waiting.extend((child, depth + 1) for pair in item.items() for child in pair)


def check_text(text: str) -> None:
    """Refuse half a surrogate pair, which UTF-8 cannot encode.

    Raises:
        JsonProblem: the text has one.
    """
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise JsonProblem(
            f"a text holds half a surrogate pair (\\u{ord(text[exc.start]):04x})"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise JsonProblem(f"the key {json.dumps(key, ensure_ascii=False)} occurs twice")
        result[key] = value
    return result


def _constant(name: str) -> NoReturn:
    raise JsonProblem(f"{name} is not JSON; null says that there is no number")


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) < len(str(_MAX_INTEGER)) + 2 else None
    if value is None or not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise JsonProblem(f"the number {digits[:20]}… is too large: whole numbers have 64 bits")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonProblem(f"the number {digits[:20]} is too large")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_constant,
    parse_int=_integer,
    parse_float=_real,
    strict=False,
)
