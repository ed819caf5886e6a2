"""Which values may be stored: those that come back from JSON equal to what they were.

Nothing is converted. A tuple that quietly became a list, or a key ``1`` that became ``"1"``, would
be a change of the user's data that shows only after a restart.
"""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections.abc import Callable
from types import NoneType
from typing import Any

from pydantic_core import from_json, to_json

from liman_nb.errors import NotStorable

MAX_DEPTH = 100
"""Nested lists and mappings. pydantic's JSON parser stops at 200, and rows nest a value deeper."""

MAX_VALUES = 1_000_000
"""Values in all. It also ends a small structure that contains itself many times over."""

MAX_DIGITS = 4300
"""Digits of an integer: Python's own limit for reading one from text."""

_INT_BOUND = 10**MAX_DIGITS

_HINTS = (
    (tuple, "a tuple would come back as a list: use a list"),
    ((set, frozenset), "a set has no form in JSON: use a sorted list"),
    ((bytes, bytearray, memoryview), "bytes have no form in JSON: use text, such as base64"),
)


class _Refused(Exception):
    """Carries the reason up to the top; each level it passes adds its own step of the path."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.steps: list[str] = []


@dataclasses.dataclass(slots=True)
class _Room:
    """How many more values may come."""

    values: int

    def take(self, count: int) -> None:
        self.values -= count
        if self.values < 0:
            raise _Refused(f"more than {MAX_VALUES:,} values")


def check_json(value: Any, path: str) -> None:
    """Refuses a value that JSON would not give back equal.

    Allowed are ``None``, ``bool``, ``int`` (to 4300 digits), finite ``float``, ``str`` without lone
    surrogates, ``list``, and ``dict`` with ``str`` keys; also instances of their subclasses, which
    come back equal as the plain type (an ``IntEnum`` as its number, a NumPy float as a float).

    Args:
        value: what is to be stored.
        path: name of the value in the error, such as ``output``.

    Raises:
        NotStorable: with the path of the first value that is not allowed, such as
            ``output.items[3]``, and what to use instead.
    """
    try:
        _check(value, MAX_DEPTH, _Room(MAX_VALUES))
    except _Refused as refused:
        where = path + "".join(reversed(refused.steps))
        raise NotStorable(f"{where} cannot be stored: {refused.why}", where) from None


def read_back(value: Any, path: str) -> Any:
    """What a storage would give back for a value: equal to it, plain, and nobody else's.

    Args:
        value: what is to be stored.
        path: as for `check_json`.

    Raises:
        NotStorable: as for `check_json`.
    """
    check_json(value, path)
    return from_json(to_json(value))


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are stored as the same text. ``1``, ``1.0`` and ``True`` are not."""
    return to_json(one) == to_json(other)


def copied(value: Any) -> Any:
    """A value whose lists and dictionaries are its own, so that they can be handed out.

    Everything else in it is shared: texts and numbers cannot change, and what an object of another
    class is cannot be known.
    """
    return _copied(value, {})


def _copied(value: Any, known: dict[int, Any]) -> Any:
    kind = type(value)
    if kind is not dict and kind is not list:
        return value
    if id(value) in known:
        return known[id(value)]
    if kind is dict:
        fields: dict[Any, Any] = {}
        known[id(value)] = fields
        fields.update((key, _copied(item, known)) for key, item in value.items())
        return fields
    items: list[Any] = []
    known[id(value)] = items
    items.extend(_copied(item, known) for item in value)
    return items


def _check(value: Any, depth: int, room: _Room) -> None:
    kind = type(value)
    if kind not in _KINDS:
        kind = _plain_kind(value)
    if kind is list:
        _check_list(value, depth, room)
    elif kind is dict:
        _check_mapping(value, depth, room)
    else:
        _LEAVES[kind](value)


def _plain_kind(value: Any) -> type:
    """The JSON type that an instance of a subclass comes back as."""
    for kind in _KINDS:
        if isinstance(value, kind):
            return kind
    raise _Refused(_hint(value))


def _hint(value: Any) -> str:
    """Why a value of another type is refused, and what to use instead."""
    for kinds, hint in _HINTS:
        if isinstance(value, kinds):
            return hint
    name = type(value).__name__
    if hasattr(value, "model_dump"):
        return f"{name} is a pydantic model: use its .model_dump(mode='json')"
    if dataclasses.is_dataclass(value):
        return f"{name} is a dataclass: use dataclasses.asdict(…)"
    if hasattr(value, "isoformat"):
        return f"{name} has no form in JSON: use its .isoformat()"
    return f"{name} has no form in JSON: use text, numbers, lists and dictionaries"


def _allow(_value: bool | None) -> None:
    """``None`` and booleans always come back equal."""


def _check_text(value: str) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        code = ord(value[error.start])
        why = f"character {error.start} is the lone surrogate U+{code:04X}, which UTF-8 has not"
        raise _Refused(why) from None


def _check_integer(value: int) -> None:
    if not -_INT_BOUND < value < _INT_BOUND:
        raise _Refused(f"an integer of more than {MAX_DIGITS} digits cannot be read back")


def _check_number(value: float) -> None:
    if not math.isfinite(value):
        raise _Refused(f"{float(value)!r} has no form in JSON: use None or text")


def _check_list(value: list[Any], depth: int, room: _Room) -> None:
    _enter(value, depth, room)
    for index, item in enumerate(value):
        try:
            _check(item, depth - 1, room)
        except _Refused as refused:
            refused.steps.append(f"[{index}]")
            raise


def _check_mapping(value: dict[Any, Any], depth: int, room: _Room) -> None:
    _enter(value, depth, room)
    for key, item in value.items():
        try:
            _check_key(key)
            _check(item, depth - 1, room)
        except _Refused as refused:
            refused.steps.append(_step(key))
            raise


def _check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise _Refused(f"its key is of type {type(key).__name__} and would come back as text")
    _check_text(key)


def _enter(value: list[Any] | dict[Any, Any], depth: int, room: _Room) -> None:
    if depth <= 0:
        raise _Refused(f"nested deeper than {MAX_DEPTH} levels, or it contains itself")
    room.take(len(value))


def _step(key: Any) -> str:
    """One step into a mapping: ``.name``, or ``['odd name']``."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{reprlib.repr(key)}]"


_LEAVES: dict[type, Callable[[Any], None]] = {
    str: _check_text,
    bool: _allow,
    int: _check_integer,
    float: _check_number,
    NoneType: _allow,
}
_KINDS = (*_LEAVES, list, dict)
