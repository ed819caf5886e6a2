"""Making JSON values from what Python functions return.

The result holds None, bool, int, finite float, str, list and dict with text keys, and comes back
equal from JSON. What has no such form is refused with its path, never dropped or changed to
something near.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from liman_nb.specs.json_text import MAX_DEPTH, JsonProblem, check_text

MAX_VALUES = 200_000
"""Values in one result. A list that occurs in several places counts in each of them."""

MAX_ROWS = 100
"""Rows of a data frame that are kept; the result says how many there were."""

_AS_TEXT = (date, time, timedelta, Decimal, UUID)
_ARRAYS = (list, tuple, set, frozenset, deque)
_PLAIN: dict[type, Callable[[Any], Any]] = {  # subclasses (NumPy's float, a Markup) become plain
    type(None): lambda _: None,
    bool: bool,
    int: int,
    float: float,
    str: str.__str__,
}


def jsonable(value: Any, name: str = "value") -> Any:
    """A Python value as JSON values.

    Pydantic models, dataclasses, named tuples and mappings with text keys become objects; lists,
    tuples, deques and (sorted) sets become arrays; enums their value; dates, times, durations (ISO
    8601), decimals, UUIDs and paths text; NumPy scalars and arrays numbers and arrays. A pandas
    DataFrame becomes ``{"records": [...], "rows": n}`` with at most `MAX_ROWS` records and a
    ``"note"`` when there were more; its missing values are null, its index a column unless it just
    counts the rows. A Series becomes a frame of one column.

    Args:
        value: anything.
        name: what the paths in errors start with.

    Raises:
        JsonProblem: NaN or an infinity, bytes, a key that is no text, a cycle or more than
            `MAX_DEPTH` levels, more than `MAX_VALUES` values, or an object of another type.
    """
    return _Conversion().convert(value, name, 0)


class _Conversion:
    """One call of `jsonable`, which counts what it has seen."""

    def __init__(self) -> None:
        self._seen = 0

    def convert(self, value: Any, path: str, depth: int) -> Any:
        self._seen += 1
        if self._seen > MAX_VALUES or depth > MAX_DEPTH:
            raise JsonProblem(
                f"{path} is too much: over {MAX_DEPTH} levels deep or {MAX_VALUES:,} values, or it "
                "holds itself"
            )
        value = _simplified(value)
        if value is None or isinstance(value, bool | int | float | str):
            return _scalar(value, path)
        if (members := _members(value, path)) is not None:
            return self._object(members, path, depth)
        if isinstance(value, _ARRAYS):
            return self._array(value, path, depth)
        return self.convert(_scientific(value, path), path, depth + 1)

    def _object(self, members: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        return {
            _key(key, path): self.convert(item, f"{path}.{key}", depth + 1)
            for key, item in members.items()
        }

    def _array(self, items: Iterable[Any], path: str, depth: int) -> list[Any]:
        array = [self.convert(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(items)]
        return _in_order(array) if isinstance(items, set | frozenset) else array


def _simplified(value: Any) -> Any:
    """What stands for a single value, as that value; anything else as it is."""
    while isinstance(value, Enum):
        value = value.value
    if isinstance(value, PurePath):
        return str(value)
    return to_jsonable_python(value) if isinstance(value, _AS_TEXT) else value


def _in_order(array: list[Any]) -> list[Any]:
    try:
        return sorted(array)
    except TypeError:
        return sorted(array, key=repr)


def _scalar(value: Any, path: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise JsonProblem(f"{path} is {value}, which is not JSON; use None for a missing number")
    if isinstance(value, str):
        try:
            check_text(value)
        except JsonProblem as exc:
            raise JsonProblem(f"{path}: {exc}") from None
    return _PLAIN[next(kind for kind in _PLAIN if isinstance(value, kind))](value)


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        what = f"the key {key!r:.60} of type {type(key).__name__}"
        raise JsonProblem(f"{path} has {what}; keys of a JSON object are texts")
    return str(_scalar(key, f"a key of {path}"))


def _members(value: Any, path: str) -> Mapping[Any, Any] | None:
    """What an object-like value holds by name; None for other values."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, BaseModel):
        return _dumped(value, path)
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return None


def _dumped(value: BaseModel, path: str) -> dict[str, Any]:
    """A model in its own JSON form (serialisers and all), NaN still in it."""
    try:
        return value.model_dump(mode="json")
    except (PydanticSerializationError, ValueError) as exc:
        raise JsonProblem(f"{path} cannot be made into JSON: {exc}") from exc


def _scientific(value: Any, path: str) -> Any:
    """NumPy and pandas values as plain ones. Neither library is imported for it."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.Series):
        value = value.to_frame("value" if value.name is None else value.name)
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return _records(value, pandas, path)
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return _plain_numpy(value, path)
    raise JsonProblem(
        f"{path} is of type {type(value).__name__}, which has no JSON form; return text, numbers, "
        "lists, dictionaries, dataclasses or pydantic models"
    )


def _plain_numpy(value: Any, path: str) -> Any:
    plain = (value.astype(str) if value.dtype.kind in "mM" else value).tolist()
    if type(plain) is type(value) or isinstance(plain, bytes | complex):
        raise JsonProblem(f"{path} is of type {type(value).__name__}, which has no JSON form")
    return plain


def _records(frame: Any, pandas: Any, path: str) -> dict[str, Any]:
    shown = frame.head(MAX_ROWS)
    if not isinstance(frame.index, pandas.RangeIndex):
        shown = shown.reset_index(allow_duplicates=True)
    names = [str(column) for column in shown.columns]
    if len(set(names)) < len(names):
        raise JsonProblem(f"{path} is a data frame with two columns (or an index) of one name")
    rows = shown.itertuples(index=False, name=None)
    result = {
        "records": [
            {name: _cell(cell, pandas) for name, cell in zip(names, row, strict=True)}
            for row in rows
        ],
        "rows": len(frame),
    }
    if len(frame) > MAX_ROWS:
        result["note"] = f"only the first {MAX_ROWS} of {len(frame)} rows are here"
    return result


def _cell(cell: Any, pandas: Any) -> Any:
    return None if pandas.api.types.is_scalar(cell) and pandas.isna(cell) else cell
