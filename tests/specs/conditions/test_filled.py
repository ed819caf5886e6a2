"""A condition with the values put in that it read."""

from __future__ import annotations

import pytest
from condition_strategies import trees
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.specs.conditions import View, parse_condition, print_condition
from liman_nb.specs.conditions.filled import filled

HIDDEN = "xyzzy"


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("answer > 100", {"answer": 200}, "200 > 100"),
        ("a.b[0] - x", {"a.b[0]": -1, "x": -2}, "-1 - -2"),
        ("not (done or late)", {"done": False, "late": True}, "not (false or true)"),
        ("tier in ['gold', best]", {"tier": "new", "best": "x"}, "'new' in ['gold', 'x']"),
        ("$len(topics) >= 3", {"topics": ["a", "b"]}, "$len(['a', 'b']) >= 3"),
        ("$now() > at", {"$now()": "2026-01-01T00:00:00Z"}, "'2026-01-01T00:00:00Z' > at"),
        ("$is_error('ValueError')", {"$is_error": "KeyError"}, "$is_error('ValueError')"),
        ("risk != 'low'", {}, "risk != 'low'"),
        ("always", {}, "true"),
    ],
)
def test_values_stand_in_the_place_of_names(text, values, shown):
    """What has no value stays a name; brackets are those that are needed."""
    assert filled(text, values) == shown


def test_a_part_that_reads_the_context_stays_as_it_is_written():
    """The value on its other side, beside the outcome, would tell about the context's."""
    text = "context.limit < amount and amount > 100"
    assert filled(text, {"amount": 148}, ["context.limit"]) == (
        "context.limit < amount and 148 > 100"
    )


def test_a_text_that_is_no_condition_gives_nothing():
    """It may come from another version, or from anybody who can write to the store."""
    assert filled("a >", {"a": 1}) == ""
    assert filled("x" * 5_000, {"x": 1}) == ""


@given(trees)
def test_without_values_it_is_the_canonical_text(tree):
    """Nothing is put in."""
    assert filled(print_condition(tree), {}) == print_condition(tree)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(), inner, max_size=30),
)


@given(json_values)
def test_whatever_value_is_put_in_the_line_stays_short(value):
    """Lists and texts of any size and depth are cut as in the reason."""
    assert len(filled("value == 1", {"value": value})) < 700


@given(st.text(min_size=1, alphabet="abcdef"), st.integers())
def test_no_value_of_the_context_is_put_in(secret, number):
    """From the evaluation to the line."""
    condition = parse_condition("context.key == 'x' or number > 5")
    found = condition.evaluate(View(yields={"number": number}, context={"key": HIDDEN + secret}))
    line = filled(condition.text, found.values, found.from_context)
    assert HIDDEN not in line
    assert line.startswith("context.key == 'x'")
