"""Plain data that remembers where each part of it was written.

A document is read into one :class:`Located` tree; overlays and language bundles rearrange such
trees, so that a problem found at the end still points to the line it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from liman_nb.errors import Place

Scalar: TypeAlias = bool | int | float | str | None
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64
"""Levels of lists and mappings inside each other."""

MAX_VALUES = 100_000
"""Values in one mapping given in code."""

MAX_DIGITS = 100
"""Digits of a number."""


@dataclass(frozen=True, slots=True)
class Located:
    """A value and where it stands.

    Attributes:
        value: a scalar, a tuple (of a list) or a mapping.
        place: where the value begins.
        key: where the key begins that it belongs to, if it belongs to one.
    """

    value: Scalar | tuple[Located, ...] | Mapping[str, Located]
    place: Place
    key: Place | None = None

    @property
    def fields(self) -> Mapping[str, Located]:
        """The fields of a mapping; none for anything else."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple[Located, ...]:
        """The items of a list; none for anything else."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping."""
        return isinstance(self.value, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.value, tuple)

    @property
    def text(self) -> str | None:
        """The value if it is a text."""
        return self.value if isinstance(self.value, str) else None

    def with_value(self, value: Scalar | tuple[Located, ...] | Mapping[str, Located]) -> Located:
        """Another value at the same place."""
        return replace(self, value=value)

    def without(self, *names: str) -> Located:
        """The mapping without some of its fields."""
        return self.with_value({k: v for k, v in self.fields.items() if k not in names})

    def at(self, path: Sequence[str | int]) -> Located:
        """What stands at a path, or the deepest part of the path that exists."""
        here = self
        for step in path:
            child = _child(here, step)
            if child is None:
                break
            here = child
        return here

    def plain(self) -> Any:
        """The value as dictionaries, lists and scalars."""
        if isinstance(self.value, Mapping):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, tuple):
            return [v.plain() for v in self.value]
        return self.value


def _child(parent: Located, step: str | int) -> Located | None:
    if isinstance(step, str):
        return parent.fields.get(step)
    return parent.items[step] if 0 <= step < len(parent.items) else None


def path_text(path: Sequence[str | int]) -> str:
    """A path as it is shown: ``arguments[0].type``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def in_words(value: Any) -> str:
    """What a value is, for a message: ``the text 'yes'``, ``the number 3``, ``a list``."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {_short(value)!r}"
    if isinstance(value, int | float):
        return f"the number {_short(f'{value}')}"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else f"a Python {type(value).__name__}"


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def locate(value: Any, place: Place, report: Callable[[Path, str], None]) -> Located:
    """Take over plain Python data: dictionaries, lists, tuples, text, numbers, ``None``.

    Args:
        value: the data.
        place: the one place that all of it has.
        report: told of each part that a spec cannot hold, with its path; the part is left out.
    """
    return _Taker(place, report).take(value, ())


@dataclass(slots=True)
class _Taker:
    place: Place
    report: Callable[[Path, str], None]
    under_way: set[int] = field(default_factory=set)
    taken: int = 0

    def take(self, value: Any, path: Path) -> Located:
        self.taken += 1
        if self.taken > MAX_VALUES + 1:
            return Located(None, self.place)
        problem = self._problem(value, path)
        if problem:
            self.report(path, problem)
            return Located(None, self.place)
        if not isinstance(value, Mapping | list | tuple):
            return Located(value, self.place)
        self.under_way.add(id(value))
        if isinstance(value, Mapping):
            inner = Located(self._fields(value, path), self.place)
        else:
            items = tuple(self.take(v, (*path, i)) for i, v in enumerate(value))
            inner = Located(items, self.place)
        self.under_way.discard(id(value))
        return inner

    def _fields(self, value: Mapping[Any, Any], path: Path) -> dict[str, Located]:
        fields = {}
        for key, child in value.items():
            if isinstance(key, str) and is_whole(key):
                fields[key] = replace(self.take(child, (*path, key)), key=self.place)
            else:
                what = "half of a surrogate pair" if isinstance(key, str) else in_words(key)
                self.report(path, f"has the key {key!r}, which is {what}; keys are text")
        return fields

    def _problem(self, value: Any, path: Path) -> str:
        """Why a spec cannot hold a value; empty if it can."""
        if self.taken > MAX_VALUES:
            return f"is the first of the values beyond {MAX_VALUES:,}, which are not read"
        if isinstance(value, Mapping | list | tuple):
            if id(value) in self.under_way:
                return "contains itself"
            return f"is nested deeper than {MAX_DEPTH} levels" if len(path) > MAX_DEPTH else ""
        if isinstance(value, str):
            return "" if is_whole(value) else "holds half of a surrogate pair"
        return _number_problem(value)


def _number_problem(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return f"has more than {MAX_DIGITS} digits"
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}, which JSON does not have"
    if value is None or isinstance(value, int | float):
        return ""
    return f"is {in_words(value)}, which a spec cannot hold"


def is_whole(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, and so can be encoded."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)
