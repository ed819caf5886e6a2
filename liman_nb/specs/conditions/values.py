"""Reads values for conditions, one careful step at a time.

Values come from models, tools and users. `plain` reduces each to one of a closed set of types, so
that all other code can work with it like with any value: text, numbers, booleans, null, lists,
tuples, dictionaries, and :class:`Foreign` for a mapping of somebody else's class. Anything else is
no value: none of its attributes is read, none of its methods called. A foreign mapping is asked
through ``__getitem__``, ``__iter__`` and ``__len__`` alone, and what those raise is caught in
`_ask`, around the one read.

What the values mean is in `algebra.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import islice
from math import isfinite
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Undecided:
    """The third truth value, and the value of an expression that has none.

    Attributes:
        reason: why, in words, without any value read from the context.
    """

    reason: str


Truth = bool | Undecided


@final
@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time: what ``$now()`` gives. No name holds one.

    Attributes:
        at: aware.
    """

    at: datetime


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Foreign:
    """A mapping that is no ``dict``.

    Attributes:
        mapping: code of somebody else.
    """

    mapping: Any


class Absent(Enum):
    """Why a read gave no value."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_A_VALUE = "not a value"


MISSING, UNREADABLE, NOT_A_VALUE = Absent.MISSING, Absent.UNREADABLE, Absent.NOT_A_VALUE

_EVERYTHING = slice(None)


def plain(value: Any) -> Any:
    """A value as one of the types that conditions work with, or :data:`NOT_A_VALUE`.

    Subclasses of text, numbers, lists and dictionaries (enum members, numpy's floats, named tuples)
    become what they are subclasses of, through the slots of that type. Infinities and not-a-number
    are no values.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict or kind is list or kind is tuple:
        return value
    return _reduced(value, kind)


def _reduced(value: Any, kind: type[Any]) -> Any:
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if isfinite(number) else NOT_A_VALUE
    for base, reduce in _REDUCE:
        if issubclass(kind, base):
            return reduce(value)
    if issubclass(kind, Undecided | Moment | Foreign):
        return value
    is_mapping = _ask(lambda: issubclass(kind, Mapping))
    return Foreign(value) if is_mapping is True else NOT_A_VALUE


_REDUCE: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (dict, lambda value: dict(dict.items(value))),  # dict.copy asks a subclass for its keys()
    (list, lambda value: list.__getitem__(value, _EVERYTHING)),
    (tuple, lambda value: tuple.__getitem__(value, _EVERYTHING)),
)


def step(container: Any, key: str | int) -> Any:
    """The value one step further: a mapping's field or a list's item, as it is.

    Returns:
        :data:`MISSING` or :data:`UNREADABLE` when there is none.
    """
    container = plain(container)
    if isinstance(container, dict):
        return container.get(key, MISSING)
    if isinstance(container, list | tuple) and isinstance(key, int):
        return container[key] if -len(container) <= key < len(container) else MISSING
    if isinstance(container, Foreign):
        return _ask(lambda: container.mapping[key])
    return MISSING


def length(value: Any) -> int | Absent:
    """Characters, items or fields of a plain value.

    Returns:
        :data:`NOT_A_VALUE` for what has no length.
    """
    if isinstance(value, str | list | tuple | dict):
        return len(value)
    if isinstance(value, Foreign):
        size = _ask(lambda: len(value.mapping))
        return size if isinstance(size, int) else UNREADABLE
    return NOT_A_VALUE


def fields(mapping: dict[Any, Any] | Foreign, most: int) -> list[tuple[Any, Any]] | None:
    """Up to ``most`` fields of a plain mapping in order; ``None`` when it cannot be read."""
    if isinstance(mapping, dict):
        return list(islice(mapping.items(), most))
    inner = mapping.mapping
    found = _ask(lambda: [(key, inner[key]) for key in islice(inner, most)])
    return found if isinstance(found, list) else None


def a_kind(value: Any) -> str:
    """What a plain value is, in words: ``text``, ``a number``, ``a list`` and so on."""
    if value is None:
        return "null"
    names = {str: "text", bool: "a boolean", int: "a number", float: "a number", Moment: "a time"}
    return names.get(type(value), "a list" if isinstance(value, list | tuple) else "a mapping")


def _ask(read: Callable[[], Any]) -> Any:
    """One read through code of somebody else, which may raise anything."""
    try:
        return read()
    except LookupError:
        return MISSING
    except Exception:  # noqa: BLE001 (somebody else's mapping may raise anything: it is unreadable)
        return UNREADABLE
