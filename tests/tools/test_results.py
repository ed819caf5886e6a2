"""What becomes of a tool's result: JSON values that come back equal, and a text for the model."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from liman_nb.errors import ToolError
from liman_nb.tools.results import as_json, tool_text


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Mood(str, Enum):  # noqa: UP042 - the older spelling is what is tested
    GOOD = "good"


class Place(BaseModel):
    name: str
    since: date | None = None


@dataclass
class Trip:
    place: Place
    days: tuple[int, ...]


Pair = namedtuple("Pair", ["left", "right"])
IDENTITY = "12345678-1234-5678-1234-567812345678"

CONVERSIONS = [
    (None, None),
    (True, True),
    (3, 3),
    (0.5, 0.5),
    ("é\n", "é\n"),
    ([1, (2, 3)], [1, [2, 3]]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({1, "a"}, ["a", 1]),
    (deque([1]), [1]),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Counter("aa"), {"a": 2}),
    (Pair(1, [2]), {"left": 1, "right": [2]}),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (Mood.GOOD, "good"),
    ({Mood.GOOD: 1}, {"good": 1}),
    (date(2024, 2, 29), "2024-02-29"),
    (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00Z"),
    (time(12, 30), "12:30:00"),
    (timedelta(hours=36), "P1DT12H"),
    (Decimal("1.10"), "1.10"),
    (UUID(IDENTITY), IDENTITY),
    (PurePosixPath("a/b"), "a/b"),
    (Place(name="Rome", since=date(2024, 1, 1)), {"name": "Rome", "since": "2024-01-01"}),
    (Trip(Place(name="Rome"), (1, 2)), {"place": {"name": "Rome", "since": None}, "days": [1, 2]}),
    (np.float64(0.5), 0.5),
    (np.int32(3), 3),
    (np.bool_(True), True),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.datetime64("2024-02-29"), "2024-02-29"),
    ({"mean": np.array([0.5]).mean()}, {"mean": 0.5}),
]


@pytest.mark.parametrize(("value", "result"), CONVERSIONS, ids=[str(v) for v, _ in CONVERSIONS])
def test_each_type_has_its_json(value: Any, result: Any) -> None:
    """The usual return types become plain values, which JSON gives back equal."""
    made = as_json(value)
    assert made == result
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert {type(made)} <= {type(None), bool, int, float, str, list, dict}


class Opaque:
    """A class that JSON knows nothing of."""


REFUSALS = [
    ({"mean": float("nan")}, "result.mean is nan, which is not JSON; use None for a missing"),
    ([1, {"x": [float("-inf")]}], "result[1].x[0] is -inf, which is not JSON"),
    ({"raw": b"abc"}, "result.raw is of type bytes, which has no JSON form"),
    ({"n": {1: "a"}}, "result.n has the key 1 of type int; keys of a JSON object are texts"),
    ({"o": Opaque()}, "result.o is of type Opaque, which has no JSON form; return text, numbers"),
    (Opaque, "result is of type type, which has no JSON form"),
    ((i for i in [1]), "result is of type generator, which has no JSON form"),
    (3j, "result is of type complex, which has no JSON form"),
    (np.complex64(3j), "result is of type complex64, which has no JSON form"),
    (np.array([1.0, np.nan]), "result[1] is nan, which is not JSON"),
    ("\ud800", "result: a text holds half a surrogate pair (\\ud800)"),
    ({"\ud800": 1}, "a key of result: a text holds half a surrogate pair (\\ud800)"),
]


@pytest.mark.parametrize(("value", "message"), REFUSALS, ids=[m for _, m in REFUSALS])
def test_what_json_cannot_say_is_refused_with_its_path(value: Any, message: str) -> None:
    """Nothing is changed to something near, and nothing is dropped."""
    with pytest.raises(ToolError) as caught:
        as_json(value)
    assert str(caught.value).startswith(f"the result cannot be used: {message}")


def test_a_result_within_itself_is_refused() -> None:
    """A cycle ends in an error, not in a hang."""
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ToolError, match=r"is too much: over 64 levels deep .* or it holds itself"):
        as_json(cycle)


def test_a_result_that_multiplies_is_refused() -> None:
    """A list of twice the same list, forty times over, has 2^40 values."""
    doubled: list[Any] = []
    for _ in range(40):
        doubled = [doubled, doubled]
    with pytest.raises(ToolError, match="200,000 values"):
        as_json(doubled)


def test_a_data_frame_becomes_records() -> None:
    """One record a row; missing values are null, dates are text."""
    frame = pd.DataFrame(
        {"city": ["Rome", None], "t": [1.5, np.nan], "at": pd.to_datetime(["2024-01-01", None])}
    )
    assert as_json({"table": frame}) == {
        "table": {
            "records": [
                {"city": "Rome", "t": 1.5, "at": "2024-01-01T00:00:00"},
                {"city": None, "t": None, "at": None},
            ],
            "rows": 2,
        }
    }


def test_an_index_that_says_something_is_a_column() -> None:
    """Labels are kept; an index that only counts is not. Labels become text."""
    frame = pd.DataFrame({1: [10]}, index=pd.Index(["a"], name="key"))
    assert as_json(frame) == {"records": [{"key": "a", "1": 10}], "rows": 1}
    series = pd.Series([1, 2], index=["a", "b"])
    records = [{"index": "a", "value": 1}, {"index": "b", "value": 2}]
    assert as_json(series) == {"records": records, "rows": 2}


def test_a_long_data_frame_is_cut_and_says_so() -> None:
    """The first hundred rows, the count, and a note."""
    result = as_json(pd.DataFrame({"n": range(250)}))
    assert len(result["records"]) == 100
    assert result["rows"] == 250
    assert result["note"] == "only the first 100 of 250 rows are here"


def test_columns_of_one_name_are_refused() -> None:
    """A record could hold only one of them."""
    with pytest.raises(ToolError, match="two columns"):
        as_json(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_text_reaches_the_model_as_it_is() -> None:
    """No quotes around it; anything else is compact JSON."""
    assert tool_text("sunny, 21 °C") == "sunny, 21 °C"
    assert tool_text({"sky": "blau", "t": [1, None]}) == '{"sky":"blau","t":[1,null]}'


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    """The model knows that it does not see everything."""
    assert tool_text("x" * 25, limit=10) == "xxxxxxxxxx\n[cut: 15 more characters]"
    assert tool_text("x" * 10, limit=10) == "x" * 10
    assert tool_text("x" * 1_020_000).endswith("\n[cut: 1,000,000 more characters]")


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=3),
    st.dates(),
    st.decimals(),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from([Colour.RED, Level.HIGH, Place(name="x"), Opaque(), np.float32(0.1)]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES)
def test_a_result_is_json_or_refused(value: Any) -> None:
    """Whatever is accepted comes back equal from JSON; nothing else is raised."""
    try:
        made = as_json(value)
    except ToolError:
        return
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert as_json(made) == made
