"""Open questions: who asks, what an answer must be, until when, and the line that gives it."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from typing import Any

import pytest
from hostile_texts import ENDLESS, HOSTILE, NEVER_SHOWN
from html_check import problems, text_of
from hypothesis import given
from hypothesis import strategies as st
from joining_agent import joining_agent
from view_examples import refund_asked

from liman_nb import Question
from liman_nb.engine.pending import open_questions
from liman_nb.tools.answers import answer_problems, filled_form
from liman_nb.views import PendingView
from liman_nb.views.palette import INK, PAPER, contrast

APPROVAL = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "description": "whether the call may be made"},
        "comment": {"type": "string", "description": "why"},
    },
    "required": ["approved"],
}


def question(node: str = "refund", form: dict[str, Any] | None = None, **more: Any) -> Question:
    """A question of a node."""
    asked = {"id": f"id-of-{node}", "kind": "approval", "text": "May it?", "input": None}
    return Question(node=node, form=APPROVAL if form is None else form, **{**asked, **more})


def given_by(line: str) -> tuple[Any, dict[str, Any]]:
    """The answer and the keywords of a line ``await agent.resume(…)``."""
    parsed = ast.parse(line, mode="eval").body
    assert isinstance(parsed, ast.Await)
    assert ast.unparse(parsed.value.func) == "agent.resume"
    (answer,) = parsed.value.args
    return ast.literal_eval(answer), {
        k.arg: ast.literal_eval(k.value) for k in parsed.value.keywords
    }


def test_it_is_a_sequence_of_questions():
    """As `result.pending` is."""
    view = PendingView(questions := (question("a"), question("b")))

    assert (len(view), view[0], view[-1:], list(view)) == (
        2,
        questions[0],
        questions[1:],
        list(questions),
    )
    assert not PendingView(())


def test_without_questions_it_says_so():
    """In text and in HTML."""
    view = PendingView(())

    assert str(view) == "No open questions"
    assert "No open questions." in text_of(view.html())
    assert "needs you" not in text_of(view.html())


def test_the_text_has_everything_that_is_needed_to_answer():
    """Who asks what, each field, and the lines with what must and what may be given."""
    assert str(PendingView([question(text="May it?\nReally?")])).splitlines() == [
        "◆ refund waits for approval: May it?",
        "  Really?",
        "  approved: true or false (whether the call may be made)",
        "  comment (may be left out): text (why)",
        "  → await agent.resume(True)",
        '  → await agent.resume({"approved": True, "comment": "…"})',
    ]


def test_where_several_are_open_each_line_says_which_it_answers():
    """By the node's name; by the question's id where that is no help."""
    view = PendingView([question("refund"), question("send"), question("send", id="id-2")])

    assert [view.line(q) for q in view] == [
        'await agent.resume(True, question="refund")',
        'await agent.resume(True, question="id-of-send")',
        'await agent.resume(True, question="id-2")',
    ]


def test_the_deadline_and_what_comes_after_it():
    """The fallback, or the failure of the node."""
    until = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)

    assert '  Until 2026-11-30 15:00:00 UTC; then the answer is {"approved": false}' in str(
        PendingView([question(deadline=until, fallback=({"approved": False},))])
    )
    assert "Until 2026-11-30 15:00:00 UTC; then refund fails." in text_of(
        PendingView([question(deadline=until)]).html()
    )


def test_the_html_is_a_box_in_the_colours_of_needs_you():
    """Known elements only, and dark text on light grounds, whatever the page."""
    html = PendingView([question(input={"amount": 148})]).html()
    text = text_of(html)

    assert problems(html) == []
    assert text.startswith("Questions◆ needs you1 open question◆ May it?refund waits for approval")
    assert "comment (may be left out): text (why)await agent.resume(True)await" in text
    assert '"amount": 148' in text
    assert f"color:{INK};background:#fff8c5" in html
    assert contrast(INK, PAPER) > 7


def test_many_questions_are_cut_and_counted():
    """A thousand branches that ask do not make a page of megabytes."""
    view = PendingView([question(f"node{n}") for n in range(1_000)])

    assert "… 980 more questions" in str(view)
    assert "… 980 more questions" in text_of(view.html())
    assert len(view.html()) < 100_000


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_only_text(text: str):
    """In the question, the node, the schema and the input; the line is Python nevertheless."""
    form = {
        "type": "object",
        "properties": {text: {"enum": [text, f"{text}2"], "description": text}},
        "required": [text],
    }
    view = PendingView([question(text, form, text=text, input=text, fallback=(text,))] * 2)
    html, plain = view.html(), view.text()

    assert problems(html) == []
    assert not set(NEVER_SHOWN) & set(html + plain)
    assert given_by(view.line(view[0])) == (text, {"question": f"id-of-{text}"})


def test_ten_megabytes_are_cut():
    """In every field."""
    form = {"type": "object", "properties": {ENDLESS: {"enum": [ENDLESS], "description": ENDLESS}}}
    form["required"] = [ENDLESS]
    view = PendingView([question(ENDLESS, form, text=ENDLESS, input=ENDLESS, fallback=(ENDLESS,))])

    assert len(view.html()) + len(view.text()) < 20_000
    assert view.line(view[0]) == "await agent.resume(…)"


SCALARS = st.sampled_from(
    [
        {"type": "boolean"},
        {"type": "string"},
        {"type": "integer"},
        {"type": "number", "minimum": 2.5},
        {"type": "null"},
        {"enum": ["a", 1, None, [True], {"b": 'c"\n'}]},
        {"const": "only this"},
        {"type": ["integer", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "boolean", "default": False},
        {"$ref": "#/$defs/color"},
        {},
    ]
)
NAMES = st.sampled_from(["a", "b", "c d", "é", "n\u202eame", "\U000e0041", "\ud800"])


def containers(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of lists and objects of such parts."""
    objects = st.tuples(st.dictionaries(NAMES, inner, max_size=3), st.booleans())
    return objects.map(
        lambda made: {
            "type": "object",
            "properties": made[0],
            "required": list(made[0]) if made[1] else [],
            "additionalProperties": False,
        }
    ) | inner.map(lambda items: {"type": "array", "items": items})


SCHEMAS = st.recursive(SCALARS, containers, max_leaves=4)


@given(SCHEMAS, st.booleans())
def test_the_line_is_python_whose_answer_fits(schema: dict[str, Any], every_field: bool):
    """What is shown can be pasted, whatever the schema of the question is made of."""
    form = {**schema, "$defs": {"color": {"enum": ["red", "blue"]}}}
    view = PendingView([question(form=form)])

    answer, keywords = given_by(view.line(view[0], every_field=every_field))

    assert keywords == {}
    assert answer_problems(form, filled_form(form, answer)) == []


def test_a_question_of_a_running_tool_is_not_open():
    """It was stored for the case that the process ends."""
    play = refund_asked()
    (asking,) = play.tree.asking

    assert [q.node for q in open_questions(play.tree)] == ["approve"]
    assert open_questions(play.tree, running={asking}) == ()


async def test_the_lines_shown_really_answer():
    """From the first question to the end of the turn."""
    agent = joining_agent()
    result = await agent.step("My jar arrived broken.")
    asked = []
    while pending := agent.pending():
        asked.append(pending[0].node)
        answer, keywords = given_by(pending.line(pending[0]))
        result = await agent.resume(answer, **keywords)

    assert asked == ["refund", "research", "approve"]
    assert (result.status, agent.pending().text()) == ("completed", "No open questions")
