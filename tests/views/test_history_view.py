"""The turns of a session: records for programs, lines for people."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from html_check import problems, text_of
from view_examples import Play, refund_done, refund_graph, refund_play

from liman_nb.engine.tree import Tree
from liman_nb.state.rows import LineageRecord
from liman_nb.views import AgentView, HistoryView
from liman_nb.views.history import HTML_LIMIT, TEXT_LIMIT


def test_a_turn_is_a_record():
    """What went in, what came out, and what it took."""
    (turn,) = HistoryView(refund_done().tree)

    assert (turn.number, turn.node, turn.status) == (1, "intake", "completed")
    assert turn.input == "My jar arrived broken (order A-1042). I want my money back."
    assert turn.outcome.splitlines()[-1] == "Sent, 148.00 EUR refunded."
    assert (turn.node_runs, turn.tokens) == (10, 1554)
    assert turn.started_at == "2026-11-30T14:00:01Z"
    assert turn.ended_at == "2026-11-30T14:00:13Z"
    with pytest.raises(FrozenInstanceError):
        turn.number = 2


def test_it_is_a_sequence():
    """Oldest first."""
    history = HistoryView(refund_done().turn("Thanks").cancel("stopped").tree)

    assert [turn.number for turn in history] == [1, 2]
    assert len(history) == 2
    assert history[-1].status == "cancelled"
    assert history[-1].outcome == "stopped"
    assert history[:1] == (history[0],)


def test_the_text_has_the_latest_turn_last():
    """A line for the turn, one for its input, one for what it came to."""
    lines = str(HistoryView(refund_done().turn("Thanks").cancel("stopped").tree)).splitlines()

    assert lines[0] == "History of case-1042 (2)"
    assert lines[1] == ("  1 intake - DONE (2026-11-30 14:00:01 UTC · 10 node runs · 1,554 tokens)")
    assert lines[2] == "      in: My jar arrived broken (order A-1042). I want my money back."
    assert lines[3].endswith("Sent, 148.00 EUR refunded.")
    assert lines[-3].startswith("  2 intake - CANCELLED (")
    assert lines[-2:] == ["      in: Thanks", "      out: stopped"]


def test_the_html_says_the_same():
    """The latest turn first."""
    html = HistoryView(refund_done().turn("Thanks").cancel("stopped").tree).html()
    text = text_of(html)

    assert problems(html) == []
    assert text.startswith("History of case-1042 (2)2intake⊘ cancelled2026-11-30 14:00:14 UTC · ")
    assert text.index("Thanks") < text.index("My jar arrived broken")


def test_structured_values_stand_on_one_line_where_they_fit():
    """What goes in and what comes out; a long one has a line for each field."""
    play = Play(refund_graph())
    short, long = {"answer": 4, "steps": ["2 + 2 = 4"]}, {"answer": 4, "steps": ["x" * 100]}
    for value in (short, long):
        play.turn(value).run("intake", value)
    first, second = HistoryView(play.tree)

    assert first.input == first.outcome == '{"answer": 4, "steps": ["2 + 2 = 4"]}'
    assert second.input.splitlines()[1] == second.outcome.splitlines()[1] == '  "answer": 4,'


def test_an_open_turn_is_shown_as_it_is():
    """Running while a node runs; else as it is stored."""
    play = refund_play()

    assert HistoryView(play.tree)[0].status == "suspended"
    assert HistoryView(play.tree)[0].ended_at == ""
    running = HistoryView(play.tree, set(play.tree.idle))
    assert running[0].status == "running"
    assert "RUNNING" in str(running)
    assert "◐ running" in text_of(running.html())


def test_the_lineage_stands_at_the_top():
    """Of the history and of the record."""
    play = refund_done()
    play.tree.lineage = LineageRecord(session_id="case-1", root="r", turns=3)
    record = AgentView("desk", play.graph, play.tree)

    assert str(HistoryView(play.tree)).splitlines()[0] == (
        "History of case-1042 (1) - forked from case-1 after turn 3"
    )
    for view in (HistoryView(play.tree), record):
        assert text_of(view.html()).count("forked from case-1 after turn 3") == 1
    assert "forked from case-1 after turn 3" in str(record).splitlines()[0]


def test_no_turn_is_said_to_be_none():
    """Before the first turn, with the lineage of a fork without turns."""
    tree = Play(refund_graph()).tree
    tree.lineage = LineageRecord(session_id="case-1", root="r", turns=0)

    assert str(HistoryView(tree)) == (
        "History of case-1042 (0) - forked from case-1 before its first turn"
    )
    assert "No turn yet." in text_of(HistoryView(tree).html())
    assert str(HistoryView(Tree("", ""))) == "History (0)"


def test_a_long_session_is_cut_at_the_older_end():
    """And the rest is counted."""
    play = Play(refund_graph())
    for number in range(TEXT_LIMIT + 5):
        play.turn(f"turn {number}").cancel("")
    history = HistoryView(play.tree)

    assert "… 5 earlier" in str(history)
    assert f"… {TEXT_LIMIT + 5 - HTML_LIMIT} earlier turns" in text_of(history.html())
    assert len(history) == TEXT_LIMIT + 5
