"""The language of conditions, case by case: every row of conditions.md."""

from __future__ import annotations

import json

import pytest
from condition_cases import (
    Case,
    LimanCase,
    MistakeCase,
    liman_cases,
    mistake_cases,
    outcome_cases,
)

from liman_nb.errors import ConditionSyntaxError
from liman_nb.specs.conditions import parse_condition, print_condition

OUTCOMES = outcome_cases()


def test_the_document_is_read_whole():
    """No row is lost between the document and the tests."""
    assert len(OUTCOMES) >= 150
    assert {case.outcome for case in OUTCOMES} == {"fired", "not fired", "undecided"}
    assert len(liman_cases()) >= 15
    assert len(mistake_cases()) >= 40


@pytest.mark.parametrize("case", OUTCOMES, ids=[case.condition for case in OUTCOMES])
def test_a_case_of_the_document(case: Case):
    """Outcome, values read, names read from the context, and the reason where one is given."""
    found = parse_condition(case.condition).evaluate(case.view)
    assert found.outcome == case.outcome
    assert json.dumps(found.values, sort_keys=True) == json.dumps(case.values, sort_keys=True)
    assert found.from_context == case.from_context
    assert found.reason.startswith(case.reason)
    assert case.reason in {"", found.reason}


@pytest.mark.parametrize("case", OUTCOMES, ids=[case.condition for case in OUTCOMES])
def test_the_canonical_text_means_the_same(case: Case):
    """Printing a condition changes neither its tree nor what comes of it."""
    condition = parse_condition(case.condition)
    again = parse_condition(print_condition(condition.tree))
    assert again.tree == condition.tree
    assert again.evaluate(case.view) == condition.evaluate(case.view)


@pytest.mark.parametrize("case", liman_cases(), ids=lambda case: case.condition)
def test_a_reading_of_liman(case: LimanCase):
    """The sentence quotes the reading with its brackets, or is empty."""
    said = parse_condition(case.condition).reads_differently
    if case.reading:
        assert said == (
            "Liman's grammar, which ranks no operators, reads this "
            f"as: {case.reading}; brackets settle it"
        )
    else:
        assert said == ""


@pytest.mark.parametrize("case", mistake_cases(), ids=lambda case: case.condition)
def test_a_mistake(case: MistakeCase):
    """One clear sentence, the caret under the mistake, and what to write instead."""
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition(case.condition)
    (problem,) = caught.value.problems
    message, shown, caret = problem.message.split("\n")
    assert message == case.message
    assert shown == f"  {case.condition}"
    assert caret == f"  {' ' * case.position}^"
    assert caught.value.position == case.position
    assert problem.hint == case.hint
