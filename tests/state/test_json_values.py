"""What may be stored is what comes back from JSON equal; everything else is refused by its path."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import sys
import time
from collections import OrderedDict, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_core import from_json, to_json

from liman_nb.errors import NotStorable, StorageError
from liman_nb.state.json_values import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_VALUES,
    check_json,
    copied,
    read_back,
    same_json,
)

plain_texts = st.text(st.characters(exclude_categories=["Cs"]))
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | plain_texts,
    lambda inner: st.lists(inner) | st.dictionaries(plain_texts, inner),
)  # fmt: skip


@dataclasses.dataclass
class Customer:
    name: str


class Order(BaseModel):
    number: int


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    SMALL = 1


class Plain(enum.Enum):
    ONE = 1


def _nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(plain_values)
def test_plain_values_are_allowed_and_come_back_equal(value):
    """Whatever the check lets through is the same after JSON, types included."""
    check_json(value, "output")
    assert repr(from_json(to_json(value))) == repr(value)


all_texts = st.text(st.characters(exclude_categories=()), max_size=5)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | all_texts | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(all_texts | st.integers() | st.none(), inner)
    | st.tuples(inner) | st.frozensets(st.integers()),
)  # fmt: skip


@given(anything)
def test_what_is_allowed_comes_back_equal_and_what_would_not_is_refused(value):
    """The check and JSON agree on every value: there is no third outcome."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        storable = json.loads(text) == value
    except (TypeError, ValueError):
        storable = False
    try:
        check_json(value, "output")
        allowed = True
    except NotStorable:
        allowed = False
    assert allowed == storable


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "output cannot be stored: nan has no form in JSON: use None or text"),
        (-math.inf, "output cannot be stored: -inf has no form in JSON: use None or text"),
        ((1, 2), "output cannot be stored: a tuple would come back as a list: use a list"),
        ({1}, "output cannot be stored: a set has no form in JSON: use a sorted list"),
        (b"x", "output cannot be stored: bytes have no form in JSON: use text, such as base64"),
        (
            {1: "a"},
            "output[1] cannot be stored: its key is of type int and would come back as text",
        ),
        (
            {None: "a"},
            "output[None] cannot be stored: its key is of type NoneType and would come back as "
            "text",
        ),
        (
            "a\ud83d",
            "output cannot be stored: character 1 is the lone surrogate U+D83D, which UTF-8 has "
            "not",
        ),
        (
            {"\udfff": 1},
            r"output['\udfff'] cannot be stored: character 0 is the lone surrogate U+DFFF, which "
            "UTF-8 has not",
        ),
        pytest.param(
            10**MAX_DIGITS,
            "output cannot be stored: an integer of more than 4300 digits cannot be read back",
            id="huge integer",
        ),
        (
            Customer("Ann"),
            "output cannot be stored: Customer is a dataclass: use dataclasses.asdict(…)",
        ),
        (
            Order(number=1),
            "output cannot be stored: Order is a pydantic model: use its .model_dump(mode='json')",
        ),
        (
            datetime.date(2030, 1, 1),
            "output cannot be stored: date has no form in JSON: use its .isoformat()",
        ),
        (
            Plain.ONE,
            "output cannot be stored: Plain has no form in JSON: use text, numbers, lists and "
            "dictionaries",
        ),
        (
            len,
            "output cannot be stored: builtin_function_or_method has no form in JSON: use text, "
            "numbers, lists and dictionaries",
        ),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_use(value, message):
    """One sentence: where, why, what instead."""
    with pytest.raises(NotStorable) as caught:
        check_json(value, "output")
    assert str(caught.value) == message
    assert isinstance(caught.value, StorageError)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"items": [0, 1, 2, {4}]}, "output.items[3]"),
        ({"a": {"b": [[math.inf]]}}, "output.a.b[0][0]"),
        ({"two words": ()}, "output['two words']"),
        ({"": {"class": b""}}, "output[''].class"),
        ({"it's": [None, {"x.y": ()}]}, "output[\"it's\"][1]['x.y']"),
        ([{}, {"ok": 1, "bad": ()}], "output[1].bad"),
    ],
)
def test_a_refusal_names_the_path(value, path):
    """The path reads as in Python, and is an attribute of the error."""
    with pytest.raises(NotStorable) as caught:
        check_json(value, "output")
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path} cannot be stored: ")


def test_a_long_key_is_shortened_in_the_path():
    """A key of a megabyte makes no message of a megabyte."""
    with pytest.raises(NotStorable) as caught:
        check_json({"- " * 500_000: ()}, "output")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Colour.RED, "red"),
        (Size.SMALL, 1),
        ({Colour.RED: Size.SMALL}, {"red": 1}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (defaultdict(list, a=[1]), {"a": [1]}),
    ],
)
def test_subclasses_come_back_equal_as_the_plain_type(value, plain):
    """Named constants and special dictionaries are values like others."""
    check_json(value, "output")
    assert from_json(to_json(value)) == value == plain


def test_integers_of_any_useful_size_are_allowed():
    """Up to the number of digits that Python itself reads from text."""
    for number in (2**53 + 1, 2**64, -(2**200), 10**MAX_DIGITS - 1):
        check_json(number, "output")
        assert from_json(to_json(number)) == number
    assert sys.int_info.default_max_str_digits == MAX_DIGITS


def test_depth_is_bounded():
    """Deep values end in a sentence, not in a recursion error of the parser that reads them."""
    check_json(_nested(MAX_DEPTH), "output")
    assert from_json(to_json(_nested(MAX_DEPTH))) == _nested(MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(NotStorable, match="nested deeper than 100 levels, or it contains its"):
            check_json(_nested(depth), "output")


def test_a_value_that_contains_itself_is_refused():
    """A cycle is found at the depth bound, whatever its width."""
    for value in ([], {}):
        inner = [value] * 3
        value.append(inner) if isinstance(value, list) else value.update(a=inner)
        with pytest.raises(NotStorable, match="contains itself"):
            check_json(value, "output")


def test_a_value_that_multiplies_is_refused_soon():
    """Sixty levels of the same list twice would be 2^60 values of JSON."""
    value = [1]
    for _ in range(60):
        value = [value, value]
    began = time.perf_counter()
    with pytest.raises(NotStorable, match=f"more than {MAX_VALUES:,} values"):
        check_json(value, "output")
    assert time.perf_counter() - began < 10


def test_big_plain_structures_are_checked_quickly():
    """Half a million values are a fraction of a second."""
    value = [{"id": i, "name": "x" * 20, "tags": [1.5, None]} for i in range(100_000)]
    began = time.perf_counter()
    check_json(value, "output")
    assert time.perf_counter() - began < 5


def test_nothing_is_changed():
    """The check only looks."""
    value = {"a": [1, {"b": (2,)}]}
    with pytest.raises(NotStorable):
        check_json(value, "output")
    assert value == {"a": [1, {"b": (2,)}]}


# ── copies ───────────────────────────────────────────────────────────────────────────────────────


class Level(enum.IntEnum):
    """A number with a name."""

    HIGH = 3


def test_what_a_storage_would_give_back_is_plain_and_nobody_else_s():
    """Subclasses become what they are stored as; the original is not shared."""
    value = OrderedDict(level=Level.HIGH, items=[1.5, None])
    back = read_back(value, "input")
    assert back == value
    assert (type(back), type(back["level"])) == (dict, int)
    back["items"].append(2)
    assert value["items"] == [1.5, None]


def test_what_cannot_be_stored_cannot_be_read_back():
    """With its path."""
    with pytest.raises(NotStorable, match=r"input\.a\[0\]"):
        read_back({"a": [math.nan]}, "input")


@given(plain_values)
def test_a_copy_is_equal_and_shares_no_list_and_no_dictionary(value):
    """Whatever is changed in it is changed nowhere else."""
    copy = copied(value)
    assert copy == value

    def containers(thing):
        if isinstance(thing, dict | list):
            yield id(thing)
            for inner in thing.values() if isinstance(thing, dict) else thing:
                yield from containers(inner)

    assert not set(containers(copy)) & set(containers(value))


def test_a_copy_shares_objects_and_keeps_circles():
    """An object of somebody's class is passed on as it is; what contains itself still does."""
    thing, circle = object(), []
    circle.append(circle)
    copy = copied({"thing": thing, "circle": circle, "kept": defaultdict(list)})
    assert copy["thing"] is thing
    assert copy["circle"][0] is copy["circle"] is not circle
    assert type(copy["kept"]) is defaultdict


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), ([0], [False]), ("1", 1)])
def test_values_that_are_stored_differently_differ(one, other):
    """Python takes some of them for equal."""
    assert not same_json(one, other)
    assert same_json(one, one)
