"""Values as conditions store and show them: JSON of a bounded size, and one short line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liman_nb.specs.conditions.algebra import HUGE
from liman_nb.specs.conditions.tree import print_scalar
from liman_nb.specs.conditions.values import (
    Foreign,
    Moment,
    fields,
    length,
    plain,
)

CUT = 200
_CUT_INSIDE = 80
_CUT_IN_LINE = 60
_MOST_ENTRIES = 20
_MOST_LEVELS = 3
_MOST_CHARACTERS = 2_000
_PER_VALUE = 8
_UNREADABLE = "mapping that cannot be read"


def capped(value: Any) -> Any:
    """A value as JSON, cut to about 2,000 characters.

    A text keeps its first 200 characters and says how many it had. A list or mapping with more than
    20 entries or nested deeper than 3 levels becomes ``{"…": "list of 10,000 items"}``, and so does
    what no longer fits.
    """
    return _Capping().value(value, CUT, _MOST_LEVELS)


def shown(value: Any) -> str:
    """A capped value as one line of at most about 60 characters."""
    if isinstance(value, str):
        return print_scalar(value if len(value) <= _CUT_IN_LINE else f"{value[:_CUT_IN_LINE]}…")
    if isinstance(value, list):
        line = f"[{', '.join(map(shown, value))}]"
        return line if len(line) <= _CUT_IN_LINE else f"a list of {len(value)} items"
    if isinstance(value, Mapping):
        return _shown_mapping(value)
    return print_scalar(value)


def moment_text(moment: Moment) -> str:
    """A moment in ISO 8601 with ``Z``, to the microsecond."""
    return moment.at.isoformat().replace("+00:00", "Z")


def _shown_mapping(value: Mapping[str, Any]) -> str:
    if value.keys() == {"…"}:
        return str(value["…"])
    line = "{" + ", ".join(f"{key}: {shown(inner)}" for key, inner in value.items()) + "}"
    return line if len(line) <= _CUT_IN_LINE else f"a mapping of {len(value)} fields"


class _Capping:
    """One value being cut; counts how many characters are left."""

    def __init__(self) -> None:
        self.room = _MOST_CHARACTERS

    def value(self, value: Any, cut: int, levels: int) -> Any:
        value = plain(value)
        self.room -= _PER_VALUE
        if isinstance(value, str):
            return self.text(value, cut)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return value if -HUGE < value < HUGE else _summary("number of over 300 digits")
        if not self.fits(value, levels):
            return _summary(_size(value))
        if isinstance(value, list | tuple):
            return [self.value(item, _CUT_INSIDE, levels - 1) for item in value]
        return self.mapping(value, levels)

    def text(self, text: str, most: int) -> str:
        """The beginning, as any encoder takes it: half a surrogate pair becomes ``?``."""
        start = text[:most].encode(errors="replace").decode()
        self.room -= len(start)
        return start if len(text) <= most else f"{start}… ({len(text):,} characters)"

    def mapping(self, mapping: dict[Any, Any] | Foreign, levels: int) -> Any:
        found = fields(mapping, _MOST_ENTRIES)
        if found is None:
            return _summary(_UNREADABLE)
        return {self.key(key): self.value(inner, _CUT_INSIDE, levels - 1) for key, inner in found}

    def key(self, key: Any) -> str:
        key = plain(key)
        if key is None or isinstance(key, bool | int | float):
            return print_scalar(key) if not isinstance(key, int) or -HUGE < key < HUGE else "…"
        return self.text(key, _CUT_INSIDE) if isinstance(key, str) else "…"

    def fits(self, value: Any, levels: int) -> bool:
        size = length(value)
        return isinstance(size, int) and (
            size == 0 or (size <= _MOST_ENTRIES and levels > 0 and self.room > 0)
        )


def _size(value: Any) -> str:
    size = length(value)
    if isinstance(size, int):
        is_list = isinstance(value, list | tuple)
        return f"list of {size:,} items" if is_list else f"mapping of {size:,} fields"
    return _UNREADABLE if isinstance(value, Foreign) else "no value of a condition"


def _summary(text: str) -> dict[str, str]:
    return {"…": text}
