"""Rules of conditions that hold for every condition and all data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import product

from condition_strategies import (
    TOUCHED,
    any_data,
    json_data,
    made_view,
    questions,
    shapes,
    trees,
    views,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from liman_nb.errors import ConditionSyntaxError
from liman_nb.specs.conditions import Condition, View
from liman_nb.specs.conditions.liman import otherwise
from liman_nb.specs.conditions.syntax import MAX_CHARACTERS, parse_tree
from liman_nb.specs.conditions.tree import Logic, Name, Not, Tree, print_condition

RANK = {"not fired": 0, "undecided": 1, "fired": 2}
WORDS = "a b.c x[0] ['k'] 1 0.5 'text' \"text\" true null always and or not in ! && || == != < <= >"
SIGNS = ">= = === + - * / % ** ( ) [ ] , . $now() $len( $is_error( $ ' \" \\ { } ; ? 💥"
TOKENS = [*WORDS.split(" "), *SIGNS.split(" ")]


def rank(tree: Tree, view: View) -> int:
    """The outcome as a number: Kleene's and is the least of its parts, or the greatest."""
    return RANK[Condition("", tree).evaluate(view).outcome]


@given(trees | shapes)
def test_a_printed_tree_is_read_back_as_it_was(tree):
    """Parse → print → parse gives the same tree, and printing again the same text."""
    text = print_condition(tree)
    assume(len(text) <= MAX_CHARACTERS)
    assert parse_tree(text) == tree
    assert print_condition(parse_tree(text)) == text


@given(shapes)
def test_no_bracket_is_printed_that_could_be_left_out(tree):
    """Leaving out any pair of brackets changes the tree or breaks the text."""
    text = print_condition(tree)
    for opened, closed in bracket_pairs(text):
        without = text[:opened] + text[opened + 1 : closed] + text[closed + 1 :]
        try:
            assert parse_tree(without) != tree
        except ConditionSyntaxError:
            continue


def bracket_pairs(text):
    """Offsets of the brackets around parts of a condition; not those of texts and functions."""
    open_at, quoted, skip = [], False, False
    for at, char in enumerate(text):
        if skip:
            skip = False
        elif quoted and char == "\\":
            skip = True
        elif char == "'":
            quoted = not quoted
        elif not quoted and char == "(":
            open_at.append((at, text[:at].endswith(("$now", "$len", "$is_error"))))
        elif not quoted and char == ")":
            opened, is_call = open_at.pop()
            if not is_call:
                yield opened, at


@given(
    st.text() | st.lists(st.sampled_from(TOKENS)).map(" ".join) | st.text(alphabet="ab.[](')!=<")
)
def test_any_text_is_a_condition_or_has_a_mistake(text):
    """Whatever the text, there is a tree or a ConditionSyntaxError with its place, nothing else."""
    mistake = None
    try:
        tree = parse_tree(text)
    except ConditionSyntaxError as error:
        mistake = error
    if mistake is None:
        assert parse_tree(print_condition(tree)) == tree
    else:
        assert 0 <= mistake.position <= len(text)
        assert mistake.problems[0].message.count("\n") == 2


@given(questions, views(any_data))
def test_evaluating_never_raises_and_touches_no_object(tree, view):
    """Whatever stands in the view, there is an outcome, and no object notices."""
    real = made_view(view)
    TOUCHED.clear()
    found = Condition("", tree).evaluate(real)
    assert found.outcome in RANK
    assert isinstance(found.reason, str)
    assert TOUCHED == []


@given(questions, views(any_data))
def test_what_was_read_can_be_stored(tree, view):
    """The values are JSON of a bounded size, and all text can be encoded."""
    found = Condition("", tree).evaluate(made_view(view))
    for name, value in found.values.items():
        stored = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        assert len(stored) < 20_000, name
        assert json.loads(stored) == value
    assert len(found.reason.encode()) < 4_000


@given(questions, views(json_data))
def test_an_outcome_depends_on_nothing_but_the_view(tree, view):
    """The same condition, compiled again, says the same of the same view at the same time."""
    fixed = View(
        view.yields,
        view.output,
        view.input,
        view.state,
        view.context,
        view.session,
        view.error,
        now=lambda: datetime(2025, 1, 1, tzinfo=UTC),
    )
    assert Condition("", tree).evaluate(fixed) == Condition("", tree).evaluate(fixed)


@given(questions, questions, questions, views(json_data))
def test_logic_is_that_of_kleene(a, b, c, view):
    """`and` gives the least, `or` the greatest of fired > undecided > not fired."""
    ranks = [rank(tree, view) for tree in (a, b, c)]
    assert rank(Logic("and", (a, b, c)), view) == min(ranks)
    assert rank(Logic("or", (a, b, c)), view) == max(ranks)
    assert rank(Not(a), view) == 2 - ranks[0]
    assert rank(Not(Logic("and", (a, b))), view) == rank(Logic("or", (Not(a), Not(b))), view)


@given(questions, views(json_data))
def test_a_missing_name_never_decides(tree, view):
    """A part that cannot be answered changes no outcome but to undecided."""
    unknown = Name(("nowhere_at_all",))
    alone = rank(tree, view)
    assert rank(Logic("and", (unknown, tree)), view) == min(alone, 1)
    assert rank(Logic("or", (tree, unknown)), view) == max(alone, 1)


secrets = st.recursive(
    st.sampled_from(["SECRET", "SECRET and more", 8675309, -8675309.5]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), parts),
)


@given(questions, views(json_data), st.fixed_dictionaries({"a": secrets, "b": secrets}))
def test_no_value_of_the_context_is_stored_or_said(tree, view, context):
    """Names read from the context are listed; their values are nowhere."""
    hidden = View(yields=view.yields, input=view.input, state=view.state, context=context)
    found = Condition("", tree).evaluate(hidden)
    kept = json.dumps([found.values, found.from_context, found.reason])
    assert "SECRET" not in kept
    assert "8675309" not in kept
    assert not set(found.from_context) & set(found.values)


logic_words = st.recursive(
    st.sampled_from(["a", "b", "c > 1"]).map(lambda text: [text]),
    lambda parts: (
        st.builds(lambda word, part: [word, *part], st.sampled_from(["not", "!"]), parts)
        | st.builds(
            lambda left, word, right: [*left, word, *right],
            parts,
            st.sampled_from(["and", "or", "&&", "||"]),
            parts,
        )
        | parts.map(lambda part: ["(", *part, ")"])
    ),
    max_leaves=6,
)


def rightmost(words: list[str]) -> str:
    """The reading of a grammar without ranks, with every bracket written; takes what it read."""
    word = words.pop(0)
    if word in {"not", "!"}:
        return f"(not {rightmost(words)})"
    operand = rightmost(words) if word == "(" else word
    following = words.pop(0) if words else ")"
    if following == ")":
        return operand
    return f"({operand} {following} {rightmost(words)})"


@given(logic_words)
def test_the_reading_without_ranks_takes_all_to_the_right(words):
    """The sentence about Liman's grammar appears exactly when the meaning may differ."""
    tree = parse_tree(" ".join(words))
    other = parse_tree(rightmost(list(words)))
    said = otherwise(tree)
    if said:
        reading = parse_tree(said.partition(" as: ")[2].removesuffix("; brackets settle it"))
        assert meanings(reading) == meanings(other)
    else:
        assert meanings(tree) == meanings(other)


def meanings(tree: Tree) -> list[int]:
    """The outcomes for every combination of what its names may be."""
    a_and_b = product([True, False], repeat=2)
    fields = [{"a": a, "b": b, "c": c} for a, b in a_and_b for c in (0, 2, None)]
    return [rank(tree, View(yields=values)) for values in fields]
