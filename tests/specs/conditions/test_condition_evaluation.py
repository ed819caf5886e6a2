"""Evaluating conditions: what is read, kept and left alone."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from types import MappingProxyType, SimpleNamespace

import pytest
from condition_strategies import STRANGE, TOUCHED, FailingMapping, LazyMapping

from liman_nb.specs.conditions import ErrorView, Evaluation, View, parse_condition
from liman_nb.specs.conditions.words import ERROR


def evaluate(text, **given) -> Evaluation:
    """Parses and evaluates at once."""
    return parse_condition(text).evaluate(View(**given))


# ── foreign values ───────────────────────────────────────────────────────────────────────────────

QUESTIONS = [
    *("x", "not x", "x == x", "x != 1", "x == 'a'", "x == null", "x == [x]", "[x, y] == [y, x]"),
    *("x < 1", "x >= 'a'", "$now() > x", "x == $now()", "x == y", "y == x", "[x] == [1]"),
    *("x in [1, 'a']", "x in [x, y]", "x not in y", "1 in x", "'a' in x", "'a' not in x"),
    *("x + 1 > 2", "x + 'a' == 'aa'", "x + x == x", "-x < 0", "x * 2 == 6", "x % 2 == 1"),
    *("$len(x) > 0", "$len([x]) == 1", "x.a == 1", "x.a.b == 1", "x[0] == 1", "x[-1]", "x['a']"),
    *("a == 1", "input == output", "output.x == input.x", "state", "context", "session.x"),
]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("place", ["yields", "output", "input", "state", "context", "session"])
def test_no_question_raises_or_touches_a_foreign_object(name, place):
    """Every operator on every strange value, as a field, inside a list, and as the place itself."""
    make = STRANGE[name]
    for given in (
        {place: {"x": make(), "y": make()}},
        {place: {"x": [make()], "y": {"a": make()}}},
        {place: make()},
    ):
        TOUCHED.clear()
        for question in QUESTIONS:
            found = parse_condition(question).evaluate(View(**given))
            assert found.outcome in {"fired", "not fired", "undecided"}
            json.dumps([found.values, found.reason], allow_nan=False, ensure_ascii=False).encode()
        assert TOUCHED == []


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = str.__hash__


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Level.HIGH, "x == 3"),
        (Level.HIGH, "x > 2"),
        (Word("red"), "x == 'red'"),
        (Point(1, 2), "x == [1, 2]"),
        (Point(1, 2), "x[1] == 2"),
        ((1, 2), "1 in x"),
        (OrderedDict(a=1), "x.a == 1"),
        (MappingProxyType({"a": 1}), "x.a == 1 and $len(x) == 1 and 'a' in x"),
        (UserDict({"a": 1}), "x.a == 1 and x"),
        (LazyMapping({"a": {"b": [1]}}), "x.a.b[0] == 1"),
    ],
    ids=repr,
)
def test_subclasses_and_other_mappings_are_read_as_what_they_are(value, text):
    """Enum members, named tuples and mappings of any class work like the plain types."""
    assert evaluate(text, yields={"x": value}).outcome == "fired"


def test_mappings_of_different_classes_are_compared_by_their_fields():
    """A lazy mapping equals a dictionary with the same fields."""
    view = {"x": LazyMapping({"a": 1, "b": [2]}), "y": {"b": [2.0], "a": 1}}
    assert evaluate("x == y and y == x", yields=view).outcome == "fired"


@pytest.mark.parametrize(
    "value",
    [
        Color.RED,
        Decimal(1),
        SimpleNamespace(a=1),
        datetime.now(UTC),
        {1},
        b"x",
        float("nan"),
        print,
    ],
    ids=repr,
)
def test_other_objects_are_no_values(value):
    """They have neither truth nor equality here; what they are is not asked."""
    for question in ("x", "x == x", "x == null", "not x"):
        found = evaluate(question, yields={"x": value})
        assert found.outcome == "undecided"
        assert found.reason == "x is not a value that conditions can read"
        assert found.values == {}
    assert evaluate("x.a == 1", yields={"x": value}).reason == (
        "x.a is missing: x, which is not a value that conditions can read, has no field 'a'"
    )


def test_a_dictionary_that_fills_itself_is_not_filled():
    """Asking for a missing name changes nothing."""
    fields = defaultdict(list)
    assert evaluate("x == 1", yields=fields).outcome == "undecided"
    assert evaluate("a.x == 1", yields={"a": fields}).outcome == "undecided"
    assert fields == {}


def test_a_mapping_that_fails_is_undecided_and_says_so():
    """What it raises stays inside; another part may still decide."""
    found = evaluate("x.a == 1", yields={"x": FailingMapping()})
    assert found.reason == "x.a cannot be read: x fails"
    assert evaluate("a == 1", state=FailingMapping()).reason == (
        "a cannot be read: the mapping it stands in fails"
    )
    assert evaluate("x.a == 1 or y", yields={"x": FailingMapping(), "y": True}).outcome == "fired"
    assert evaluate("x", yields={"x": FailingMapping()}).reason == (
        "x has no answer: a mapping cannot be read (x = mapping that cannot be read)"
    )


class Hollow(LazyMapping):
    """A mapping that has a length and no field that could be read."""

    def __iter__(self):
        raise RuntimeError


def test_a_mapping_that_fails_half_way_is_summed_up():
    """It counts as true by its length; what cannot be read is not stored."""
    found = evaluate("x", yields={"x": Hollow({"a": 1})})
    assert found.outcome == "fired"
    assert found.values == {"x": {"…": "mapping that cannot be read"}}
    assert evaluate("x == y", yields={"x": Hollow({"a": 1}), "y": {"a": 1}}).reason == (
        "x == y has no answer: a mapping cannot be read "
        "(x = mapping that cannot be read, y = {a: 1})"
    )


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────


def nested(levels, inner):
    """A value in that many lists, one inside the other."""
    for _ in range(levels):
        inner = [inner]
    return inner


def test_values_are_cut_to_a_bounded_size():
    """Texts say how long they were; big and deep values are summed up in words."""
    found = evaluate(
        "long and many and wide and deep and huge and small",
        yields={
            "long": "x" * 1_234,
            "many": list(range(10_000)),
            "wide": {str(number): number for number in range(21)},
            "deep": {"a": {"b": {"c": {"d": {}}}}},
            "huge": 10**5_000,
            "small": ["x" * 100, {"a": [1, None, True, 0.5]}],
        },
    )
    assert found.outcome == "fired"
    assert found.values == {
        "long": "x" * 200 + "… (1,234 characters)",
        "many": {"…": "list of 10,000 items"},
        "wide": {"…": "mapping of 21 fields"},
        "deep": {"a": {"b": {"c": {"…": "mapping of 1 fields"}}}},
        "huge": {"…": "number of over 300 digits"},
        "small": ["x" * 80 + "… (100 characters)", {"a": [1, None, True, 0.5]}],
    }
    assert len(found.reason) <= 500


def test_many_small_values_are_cut_too():
    """A list of lists of lists within every single bound is still cut as a whole."""
    cube = [[["word"] * 20 for _ in range(20)] for _ in range(20)]
    stored = json.dumps(evaluate("x", yields={"x": cube}).values, ensure_ascii=False)
    assert len(stored) < 5_000


def test_data_too_big_to_compare_is_undecided():
    """Equality looks at 100,000 values and 32 levels, also of lists that contain themselves."""
    endless = []
    endless.append(endless)
    other = [endless]
    for x, y in (
        (endless, other),
        (nested(40, 1), nested(40, 1)),
        ([0] * 200_000, [0] * 200_000),
    ):
        found = evaluate("x == y", yields={"x": x, "y": y})
        assert found.outcome == "undecided"
        assert found.reason.startswith("x == y has no answer: too big to compare")
    assert evaluate("x == y", yields={"x": nested(30, 1), "y": nested(30, 1)}).outcome == "fired"
    assert evaluate("2 in x", yields={"x": [0] * 200_000}).outcome == "undecided"
    assert evaluate("2 in x", yields={"x": [2] + [0] * 200_000}).outcome == "fired"


def test_texts_and_lists_do_not_grow_without_bound():
    """Joining stops at 100,000 characters and 10,000 items."""
    text = {"x": "a" * 60_000, "y": "b" * 40_000, "z": "c"}
    assert evaluate("$len(x + y) == 100000", yields=text).outcome == "fired"
    assert evaluate("$len(x + y + z) > 0", yields=text).outcome == "undecided"
    items = {"x": [0] * 6_000, "y": [0] * 4_000, "z": [0]}
    assert evaluate("$len(x + y) == 10000", yields=items).outcome == "fired"
    assert evaluate("$len(x + y + z) > 0", yields=items).outcome == "undecided"


def test_numbers_do_not_grow_without_bound():
    """Products end at 300 digits, and numbers that arrive larger can still be compared."""
    assert evaluate(" * ".join(["x"] * 200) + " > 0", yields={"x": 10**9}).outcome == "undecided"
    assert evaluate("x > 1 and x != 2", yields={"x": 10**5_000}).outcome == "fired"
    assert evaluate("x + 0.5 > 1", yields={"x": 10**5_000}).outcome == "undecided"
    assert evaluate("x / 3 > 1", yields={"x": 10**5_000}).outcome == "undecided"


def test_the_deepest_condition_is_evaluated_within_a_bounded_stack():
    """Evaluation never meets Python's recursion limit: 400 frames do for all of it."""
    deepest = [
        "not " * 62 + "(x == y)",
        "[" * 60 + "x" + "]" * 60 + " == " + "[" * 60 + "y" + "]" * 60,
        "(x or y and x == y + " * 12 + "x" + ")" * 12,
        "$len([" * 31 + "x" + "])" * 31,
        "-" * 60 + "x == 1",
    ]
    data = {"x": nested(200, 1), "y": nested(200, 1)}
    conditions = [parse_condition(text) for text in deepest]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(stack()) + 400)
    try:
        found = [condition.evaluate(View(yields=data)) for condition in conditions]
        assert all(one.reason for one in found)
    finally:
        sys.setrecursionlimit(before)


def stack():
    """The frames of the callers."""
    frame, frames = sys._getframe(), []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


# ── what an evaluation keeps ─────────────────────────────────────────────────────────────────────


def test_nothing_of_the_view_is_kept():
    """Not even an evaluation whose reason was never asked for holds a value of the context."""

    class Secret(str):
        __slots__ = ("__weakref__",)

    secret = Secret("secret")
    gone = weakref.ref(secret)
    found = evaluate("context.key == 'secret' and not $is_error()", context={"key": secret})
    del secret
    gc.collect()
    assert gone() is None
    assert found.from_context == ("context.key",)
    assert found.reason == (
        "context.key equals 'secret' and there is no error (values of the context are not shown)"
    )


def test_later_changes_of_the_data_change_no_evaluation():
    """The values are those at the time of the evaluation."""
    items = [1]
    found = evaluate("x == [1]", yields={"x": items})
    items.append(2)
    assert found.values == {"x": [1]}
    assert found.reason == "x = [1] equals [1]"


def test_the_clock_is_asked_once():
    """All of a condition sees the same moment; without `$now()` the clock is not asked."""
    asked = []

    def now():
        asked.append(1)
        return datetime(2025, 6, 1, 12, len(asked))

    condition = parse_condition("$now() == $now() and $now() > '2025'")
    found = condition.evaluate(View(now=now))
    assert found.values == {"$now()": "2025-06-01T12:01:00Z"}
    evaluate("always", now=now)
    assert asked == [1]


def test_the_default_clock_is_utc():
    """Without a clock of its own, a view has the machine's."""
    before = datetime.now(UTC).isoformat()
    assert evaluate(f"$now() >= '{before}'").outcome == "fired"


def test_an_error_is_seen_by_its_classes():
    """The view of an exception has the names of its class and its base classes."""
    error = ErrorView.of(TimeoutError("after 3 s"))
    assert error == ErrorView(
        "TimeoutError", ("TimeoutError", "OSError", "Exception", "BaseException"), "after 3 s"
    )
    found = evaluate("$is_error('OSError')", error=error)
    assert found.outcome == "fired"
    assert found.values == {ERROR: "TimeoutError"}


def test_evaluations_compare_by_what_they_say():
    """Reasons that are made late count like those given at once."""
    found = evaluate("x > 1", yields={"x": 2})
    same = Evaluation("fired", {"x": 2}, (), "x = 2 is above 1")
    assert found == same
    assert hash(found) == hash(same)
    assert found != Evaluation("fired", {"x": 2}, (), "")
    assert repr(found) == "Evaluation('fired', {'x': 2}, (), 'x = 2 is above 1')"


def test_a_long_reason_is_cut():
    """Long parts and many facts end in an ellipsis."""
    texts = ", ".join(f"'{letter * 50}'" for letter in "abcdef")
    found = evaluate(f"x in [{texts}]", yields={"x": "a" * 50})
    assert found.reason.endswith("…")
    assert len(found.reason) < 300
