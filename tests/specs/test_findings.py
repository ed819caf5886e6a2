"""Collecting problems: their order, what strictness changes, and hints at near words."""

from __future__ import annotations

import pytest

from liman_nb.errors import Place, Problem, SpecError
from liman_nb.specs.findings import Findings, did_you_mean, listed


def test_problems_come_by_file_line_and_column():
    """In whatever order they were found; those without a place last; none twice."""
    findings = Findings()
    findings.error("five")
    for place in (Place("b", 1), Place("a", 10, 1), Place("a", 2, 7), Place("a", 2, 3)):
        findings.error("x", place)
        findings.error("x", place)
    assert [str(p.place) for p in findings.problems] == ["a:2:3", "a:2:7", "a:10:1", "b:1", "None"]


def test_what_can_be_left_out_is_a_warning_without_strictness():
    """Errors stay errors, warnings warnings."""
    for strict, levels in (
        (True, ["error", "error", "warning"]),
        (False, ["error", "warning", "warning"]),
    ):
        findings = Findings(strict=strict)
        findings.error("a")
        findings.refuse("b")
        findings.warn("c")
        assert [p.level for p in findings.problems] == levels


def test_only_errors_are_raised():
    """All of them at once."""
    findings = Findings()
    findings.warn("odd")
    findings.raise_errors()
    assert not findings.has_errors
    findings.error("wrong")
    with pytest.raises(SpecError) as caught:
        findings.raise_errors()
    assert caught.value.problems == (Problem("wrong"),)
    assert findings.warnings == (Problem("odd", level="warning"),)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("promts", "did you mean 'prompts'?"),
        ("PROMPTS", "did you mean 'prompts'?"),
        ("llmnode", "did you mean 'LLMNode'?"),
        ("xyz", ""),
        ("", ""),
    ],
)
def test_the_nearest_known_word(word, hint):
    """Whatever its case; nothing when nothing is near."""
    assert did_you_mean(word, ["prompts", "tools", "LLMNode"]) == hint


def test_words_in_a_row():
    """In quotes."""
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([]) == "none"
