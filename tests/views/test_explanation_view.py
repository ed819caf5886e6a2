"""Why each edge of a node fired or not, in words and as a table."""

from __future__ import annotations

from html_check import problems, text_of
from record_examples import explanation
from view_examples import Play, refund_graph, refund_play

from liman_nb.specs import load_graph


def test_it_is_a_sequence_of_edges():
    """In the order of considering."""
    view = explanation("draft")
    assert [edge.outcome for edge in view] == ["fired", "undecided", "not fired"]
    assert view[0].filled == "148.0 > 100"
    assert (view.node, view.turn, len(view.runs), view.joins) == ("draft", 1, 1, ())


def test_the_text_has_a_sentence_for_each_edge():
    """Under it the condition as written, with its values, and what is not kept."""
    assert str(explanation("draft")).splitlines() == [
        "draft: turn 1 of session case-1042",
        "  run 1: ran to its end · 14:00:09 UTC",
        "    ✓ draft → approve fired: 148.0 > 100",
        "      condition   amount > 100",
        "      with values 148.0 > 100",
        "    ? draft → approve could not be decided, so it did not fire: risk is missing",
        "      condition   customer.tier == 'new' or risk != 'low'",
        "      with values 'new' == 'new' or risk != 'low'",
        "    ✕ draft → send did not fire: 148.0 is not <= 100",
        "      condition   amount <= 100 and risk == 'low'",
        "      with values 148.0 <= 100 and risk == 'low'",
        "      not kept    customer.risk (from the context)",
    ]


def test_the_card_has_a_table_for_each_run():
    """Outcome, edge, condition, the same with its values, why."""
    html = explanation("draft").html()
    text = text_of(html)
    assert problems(html) == []
    assert text.startswith(
        "draftturn 1 · session case-1042run 1: ran to its end · 14:00:09 UTC"
        "outcomeedgeconditionwith its valueswhy"
        "✓ fireddraft → approveamount > 100148.0 > 100148.0 > 100"
    )
    assert "not kept: customer.risk (from the context)" in text


def test_what_was_not_considered_says_so():
    """A person has not answered yet."""
    view = explanation("approve", refund_play())
    assert [edge.outcome for edge in view] == ["not considered"] * 2
    assert "• not consideredapprove → sendapproved" in text_of(view.html())
    assert "approve has not run yet" in str(view)


def test_a_node_that_did_not_run_shows_what_leads_to_it():
    """And one without edges that none leads on from it."""
    play = refund_play()
    assert "It did not run in this turn; these edges lead to it." in text_of(
        explanation("send", play).html()
    )
    assert [edge.source for edge in explanation("send", play)] == ["draft", "approve"]
    assert "No edge leads on from here." in text_of(explanation("get_order").html())
    assert str(explanation("get_order")).endswith("No edge leads on from here.")


def test_before_the_first_turn_nothing_has_run():
    """Not an error."""
    view = explanation("triage", Play(refund_graph()))
    assert str(view) == "triage: no turn yet\n  Nothing has run in this session."
    assert problems(view.html()) == []


def test_as_a_frame_every_edge_is_a_row():
    """With the id of its run."""
    frame = explanation("draft").to_pandas()
    assert list(frame.outcome) == ["fired", "undecided", "not fired"]
    assert frame.executor.nunique() == 1
    assert list(explanation("triage", Play(refund_graph())).to_pandas()) == list(frame)


def test_many_runs_show_the_latest_and_count_the_others():
    """A loop of hundreds makes a small output."""
    specs = "{kind: FunctionNode, name: loop, func: f, nodes: [{target: loop, when: more}]}"
    play = Play(load_graph(specs, supplied_functions=["f"])).turn("x")
    for _ in range(300):
        play.run("loop", {"more": True}, ("loop", "fired", {"more": True}, "more is true"))
    view = explanation("loop", play)
    assert "… 281 earlier runs" in text_of(view.html())
    assert "  … 201 earlier runs" in str(view).splitlines()
    assert "run 300: ran to its end" in text_of(view.html())
    assert len(view) == 301
    assert len(view.html()) < 100_000
