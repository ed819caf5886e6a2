"""Why an edge fired or not: outcome, condition, the values it read, the reason."""

from __future__ import annotations

from html_check import problems, text_of
from view_examples import refund_done, refund_play

from liman_nb.engine.tree import Tree
from liman_nb.views import Transition, TransitionsView


def test_it_is_a_sequence_of_transitions():
    """Oldest first, each with everything that decided it."""
    view = TransitionsView(refund_done().tree)

    assert len(view) == 13
    assert view[9] == Transition(
        turn=1,
        at="2026-11-30T14:00:09Z",
        source="draft",
        target="approve",
        condition="customer.tier == 'new' or risk != 'low'",
        outcome="undecided",
        values=(("customer.tier", '"new"'),),
        from_context=(),
        reason="risk is missing",
    )
    assert [t.outcome for t in view[:2]] == ["fired", "fired"]


def test_a_value_read_from_the_context_is_only_named():
    """Its value was never stored."""
    view = TransitionsView(refund_play().tree)
    read = next(t for t in view if t.from_context)

    assert read.from_context == ("customer.risk",)
    assert "customer.risk from the context" in str(view)
    assert "customer.risk from the context, not kept" in text_of(view.html())


def test_the_text_has_a_line_for_the_edge_and_one_for_the_reason():
    """Always for an edge without a condition."""
    lines = str(TransitionsView(refund_done().tree)).splitlines()

    assert lines[:4] == [
        "Transitions (13)",
        "  ✓ fired      intake → triage  when always",
        "  ✓ fired      triage → policy  when intent == 'refund'",
        "               intent = \"refund\" · 'refund' == 'refund'",
    ]


def test_the_html_shows_the_latest_first():
    """Outcome as a chip, values as code, the reason in words, the time."""
    html = TransitionsView(refund_done().tree).html()
    text = text_of(html)

    assert problems(html) == []
    assert text.index("approve → draft") < text.index("intake → triage")
    assert "? undecideddraft → approve customer.tier == 'new' or risk != 'low'" in text
    assert 'customer.tier = "new" — risk is missing  · 14:00:09 UTC' in text


def test_only_one_turn_is_shown_when_asked_for():
    """For the record of one result."""
    play = refund_done().turn("Again").run("intake", "x", ("triage", "fired", {}, ""))

    assert [t.source for t in TransitionsView(play.tree, turn=2)] == ["intake"]
    assert len(TransitionsView(play.tree)) == 14


def test_many_transitions_are_cut_and_counted():
    """The latest hundred in a notebook."""
    play = refund_done()
    for _ in range(500):
        play.turn("Again").run("intake", "x", ("triage", "fired", {}, "")).cancel("enough")
    view = TransitionsView(play.tree)

    assert "… 413 earlier" in text_of(view.html())
    assert str(view).splitlines()[1] == "… 113 earlier"
    assert len(view.html()) < 200_000


def test_no_transition_is_said_to_be_none():
    """Before the first run."""
    view = TransitionsView(Tree("s", "r"))

    assert len(view) == 0
    assert "No edge was considered yet." in text_of(view.html())
