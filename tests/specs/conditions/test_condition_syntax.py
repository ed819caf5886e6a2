"""From text to tree and back: what the tables of conditions.md do not say."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import pytest

from liman_nb.errors import ConditionSyntaxError, Place, SpecError
from liman_nb.specs.conditions import View, parse_condition, print_condition
from liman_nb.specs.conditions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Items,
    Logic,
    Name,
    Negative,
    Not,
)

a, b, c = (Name((name,)) for name in "abc")
one = Constant(1)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", a),
        ("((a))", a),
        ("a or b and c", Logic("or", (a, Logic("and", (b, c))))),
        ("(a or b) and c", Logic("and", (Logic("or", (a, b)), c))),
        ("a or b or c", Logic("or", (a, b, c))),
        ("a or (b or c)", Logic("or", (a, Logic("or", (b, c))))),
        ("not a and b", Logic("and", (Not(a), b))),
        ("not a == 1", Not(Comparison(a, "==", one))),
        ("a not in [b, 1]", Comparison(a, "not in", Items((b, one)))),
        ("a - b + 1", Arithmetic(a, (("-", b), ("+", one)))),
        ("a - (b + 1)", Arithmetic(a, (("-", Arithmetic(b, (("+", one),))),))),
        ("a + b * c", Arithmetic(a, (("+", Arithmetic(b, (("*", c),))),))),
        ("-a", Negative(a)),
        ("-1", Constant(-1)),
        ("--1", one),
        ("a.b[0]['c d'][-1]", Name(("a", "b", 0, "c d", -1))),
        ("$is_error('X')", Call("is_error", (Constant("X"),))),
        ("always", Constant(True)),
        ("1.0", Constant(1.0)),
    ],
)
def test_a_text_has_this_tree(text, tree):
    """The ranks and groupings of the grammar, as trees."""
    assert parse_condition(text).tree == tree


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(a)and(b)", "a and b"),
        ("(a and b) or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("(a or b) or c", "(a or b) or c"),
        ("not (a)", "not a"),
        ("not (not a)", "not not a"),
        ("not (a and b)", "not (a and b)"),
        ("not (a == 1)", "not a == 1"),
        ("(not a) == b", "(not a) == b"),
        ("(a == b) == c", "(a == b) == c"),
        ("(a + b) == (c)", "a + b == c"),
        ("(a and b) == c", "(a and b) == c"),
        ("(a + b) + c", "(a + b) + c"),
        ("a + (b * c)", "a + b * c"),
        ("(a + b) * c", "(a + b) * c"),
        ("-(a)", "-a"),
        ("-(-a)", "--a"),
        ("-(a * b)", "-(a * b)"),
        ("(-a) * b", "-a * b"),
        ("a - (-1)", "a - -1"),
        ("[(a or b)]", "[a or b]"),
        ("$len((a + b))", "$len(a + b)"),
        ("! a||b&&TRUE", "not a or b and true"),
        ("x in [\"a\", 'b']", "x in ['a', 'b']"),
        ("x['y']['z-z']", "x.y['z-z']"),
        ("x == 1E3", "x == 1000.0"),
        (r"'\"\/' == '\u0007\U0001f600'", r"""'"/' == '\u0007😀'"""),
    ],
)
def test_the_canonical_text_has_only_the_brackets_it_needs(text, printed):
    """Printed conditions read well, and read back the same."""
    tree = parse_condition(text).tree
    assert print_condition(tree) == printed
    assert parse_condition(printed).tree == tree


def test_constants_of_different_types_make_different_trees():
    """Python's `1 == 1.0 == True` does not make three conditions one."""
    trees = [parse_condition(f"x == {value}").tree for value in ("1", "1.0", "true", "'1'")]
    assert all(x == y for x in trees for y in trees if x is y)
    assert not any(x == y for x in trees for y in trees if x is not y)


def test_a_condition_knows_the_names_it_reads():
    """Each name once, in order of appearance, as it is written."""
    condition = parse_condition("b.c[0] > $len(a) and not (x['my-key'] in [b . c [0], $now()])")
    assert condition.names == ("b.c[0]", "a", "x['my-key']")
    assert parse_condition("always").names == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("business_rules.is_safe", "business_rules.is_safe"),
        ("(is_safe)", "is_safe"),
        ("not is_safe", None),
        ("is_safe == true", None),
        ("rules['is-safe']", None),
        ("rules[0]", None),
        ("always", None),
        ("$is_error()", None),
    ],
)
def test_a_lone_dotted_name_may_be_a_function(text, name):
    """Whether there is such a function is for the graph to say."""
    assert parse_condition(text).function_name == name


def test_a_mistake_says_where_the_condition_stands():
    """The place of the spec leads the message, and the error is one of the specs' errors."""
    with pytest.raises(SpecError) as caught:
        parse_condition("x = 1", Place("specs/triage.yaml", 12, 11))
    assert str(caught.value) == (
        "specs/triage.yaml:12:11: '=' is no operator; write == to compare\n  x = 1\n    ^"
    )


def test_a_mistake_in_a_long_condition_is_shown_with_its_surroundings():
    """The caret stays under the mistake when only a part of the text is shown."""
    text = " and ".join(f"field_{number} == {number}" for number in range(30)) + " = 1"
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition(text)
    _, shown, caret = caught.value.problems[0].message.split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^")] == "="


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("x" * 4_001, "a condition has at most 4,000 characters, this one has 4,001", 4_000),
        ("(" * 100_000, "a condition has at most 4,000 characters, this one has 100,000", 4_000),
        ("(" * 4_000, "a condition is nested at most 64 levels deep", 64),
        ("[" * 4_000, "a condition is nested at most 64 levels deep", 64),
        ("$len(" * 800, "a condition is nested at most 64 levels deep", 324),
        ("not " * 1_000, "a condition is nested at most 64 levels deep", 256),
        ("!" * 4_000, "a condition is nested at most 64 levels deep", 64),
        ("-" * 2_000, "a condition is nested at most 64 levels deep", 64),
        ("not (" * 800, "a condition is nested at most 64 levels deep", 320),
        (
            "(a or b and c == d + e * " * 20 + "a" + ")" * 20,
            "a condition is nested at most 64 levels deep",
            475,
        ),
        ("a + " * 1_000, "a condition has at most 500 names, values and operators", 1_000),
        ("a." * 2_000, "a condition has at most 500 names, values and operators", 1_000),
        ("[1, " * 50 + "1, " * 600, "a condition has at most 500 names, values and operators", 0),
        ("'" + "x" * 3_999, "the text that starts here never ends", 0),
        ("'" + "\\" * 3_999, "the text that starts here never ends", 0),
        ("\ud800", "half of a surrogate pair is no character", 0),
        ("1" * 301, "the number is too large", 0),
        ("x[" + "9" * 301 + "]", "the number is too large", 2),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_a_condition_without_measure_is_refused_at_once(text, message, position):
    """Every bound is one clear error, in milliseconds; a generous second is the limit here."""
    start = time.monotonic()
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition(text)
    assert time.monotonic() - start < 1
    assert caught.value.problems[0].message.startswith(message)
    if position:
        assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "x" * 4_000,
        "(" * 64 + "a" + ")" * 64,
        "not " * 63 + "a",
        "-" * 63 + "a",
        "[" * 63 + "]" * 63,
        " or ".join(["a"] * 250),
        " + ".join(["1"] * 240) + " > 1",
    ],
    ids=lambda text: text[:12],
)
def test_a_condition_within_its_bounds_is_accepted(text):
    """The bounds leave room for all that a person would write."""
    condition = parse_condition(text)
    assert parse_condition(print_condition(condition.tree)).tree == condition.tree


def test_a_reading_of_liman_too_deep_to_print_is_still_announced():
    """The sentence does without the reading when that is nested without end."""
    condition = parse_condition(" or ".join(["a and b"] * 100))
    assert condition.reads_differently == (
        "Liman's grammar, which ranks no operators, reads this otherwise; brackets settle it"
    )


def test_a_condition_can_be_pickled():
    """A graph may be sent to another process."""
    condition = parse_condition("a > 1", Place("triage.yaml", 3))
    assert condition.evaluate(View(yields={"a": 2})).outcome == "fired"
    again = pickle.loads(pickle.dumps(condition))  # noqa: S301 (our own bytes)
    assert again == condition
    assert again.evaluate(View(yields={"a": 2})).outcome == "fired"


def test_the_parser_library_is_loaded_with_the_first_condition():
    """Importing the package costs nothing of it."""
    script = (
        "import sys, liman_nb.specs.conditions as conditions\n"
        "assert 'lark' not in sys.modules\n"
        "conditions.parse_condition('a')\n"
        "assert 'lark' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
