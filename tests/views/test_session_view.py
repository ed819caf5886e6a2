"""A session's complete picture: five kinds of records in a cell, as data and as DataFrames."""

from __future__ import annotations

import json
import sys

import pytest
from html_check import problems, text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from record_examples import NOW, long_play, picture, records
from view_examples import Play, refund_done

from liman_nb.engine.records import records_of
from liman_nb.engine.tree import Tree
from liman_nb.errors import SetupError
from liman_nb.specs import load_graph
from liman_nb.views import SessionView

KINDS = ("conversation", "yields", "mesh_communications", "analyses", "decisions")


# ── data ─────────────────────────────────────────────────────────────────────────────────────────


def test_its_attributes_are_the_records():
    """Plain sequences, oldest first."""
    view, taken = picture(), records()
    for kind in KINDS:
        assert getattr(view, kind) == getattr(taken, kind) != ()
    assert (view.session_id, view.turns) == ("case-1042", 1)


def test_as_a_dictionary_an_entry_has_the_five_fields_of_the_page_and_no_other():
    """In the page's order."""
    entry = picture().to_dict()["conversation"][0]
    assert entry == {
        "role": "user",
        "content": "My jar arrived broken (order A-1042). I want my money back.",
        "timestamp": "2026-11-30T14:00:01Z",
        "agent_name": "intake",
        "type": "user_message",
    }
    assert list(entry) == ["role", "content", "timestamp", "agent_name", "type"]


json_objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    ),
    max_size=4,
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), json_objects, st.booleans()), max_size=4))
def test_the_dictionary_comes_back_equal_from_json(turns):
    """Whatever was said and yielded, also when some of it has expired."""
    specs = "{kind: FunctionNode, name: echo, func: f, nodes: [{target: echo, when: again}]}"
    play = Play(load_graph(specs, supplied_functions=["f"]))
    for said, output, fails in turns:
        error = ("ValueError", said) if fails else None
        play.turn(said).run("echo", output, ("echo", "not fired", output, said), error=error)
    for seconds in (None, 2_964.0):
        data = SessionView(records_of(play.tree, NOW, seconds)).to_dict()
        assert json.loads(json.dumps(data)) == data


def test_a_view_does_not_change_when_the_session_goes_on():
    """Nor when a reader writes to what it gives."""
    play = refund_done()
    view = picture(play)
    before = view.to_dict()
    play.turn("Again").run("intake", {"text": "x"}, ("triage", "fired", {}, ""))
    view.to_dict()["yields"][0]["yields"].clear()
    assert view.to_dict() == before


# ── pandas ───────────────────────────────────────────────────────────────────────────────────────


def test_there_is_a_frame_for_each_kind_with_a_column_for_each_field():
    """Times are moments, UTC; nested values stay as they are."""
    frames = picture().to_pandas()
    assert tuple(frames) == KINDS
    said = frames["conversation"]
    assert list(said) == ["role", "content", "timestamp", "agent_name", "type"]
    assert str(said.timestamp.dt.tz) == "UTC"
    assert said.timestamp.is_monotonic_increasing
    assert frames["yields"].set_index("agent_name").loc["policy", "yields"] == {"rule": "4.2"}
    assert frames["analyses"].valid.dtype == bool
    assert frames["analyses"].conditions[0] == [
        {"to_agent": "triage", "condition": "", "outcome": "fired", "reason": ""}
    ]
    assert frames["decisions"].turn.sum() == len(frames["decisions"])


def test_frames_without_rows_have_their_columns():
    """Before the first turn."""
    frames = SessionView(records_of(Tree("", ""), NOW)).to_pandas()
    assert [len(frame) for frame in frames.values()] == [0] * 5
    assert "timestamp" in frames["decisions"]


def test_a_time_that_is_none_is_no_time():
    """A stored row may say anything."""
    play = refund_done()
    for executor in play.tree.executors.values():
        executor.ended_at = "yesterday \ud800"
    assert picture(play).to_pandas()["analyses"].timestamp.isna().all()


def test_without_pandas_one_clear_error_says_what_to_install(monkeypatch):
    """And everything else works."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    view = picture()
    with pytest.raises(SetupError, match="pip install pandas"):
        view.to_pandas()
    assert view.to_dict()["turns"] == 1
    assert "Conversation" in str(view)


# ── shown ────────────────────────────────────────────────────────────────────────────────────────


def test_the_tokens_of_the_session_are_counted():
    """Prompts and replies of all turns, in the head and as data."""
    view = picture()
    assert view.usage.input_tokens + view.usage.output_tokens == 1554
    assert view.to_dict()["usage"] == {
        "input_tokens": view.usage.input_tokens,
        "output_tokens": view.usage.output_tokens,
    }


def test_the_card_has_a_part_that_opens_for_each_kind():
    """The conversation is open; the others are folded with their counts."""
    html = picture().html()
    text = text_of(html)
    titles = [
        "Conversation (",
        "Yields (7)",
        "Mesh communications (7)",
        "Coordination analyses (9)",
        "Coordination decisions (14)",
    ]
    assert problems(html) == []
    assert text.startswith(
        "refund-desk/case-1042✓ done1 turn · 1,554 tokens · recorded 2026-11-30 14:49:24 UTC"
    )
    positions = [text.index(title) for title in titles]
    assert positions == sorted(positions)
    assert html.count('open="open"') == 1


def test_each_kind_of_record_is_read_in_the_cell():
    """Who, to whom, under which condition, with what, and why."""
    text = text_of(picture().html())
    assert "user · intake · user_message · 14:00:01 UTC" in text
    assert 'rule = "4.2"' in text
    assert "triage → policy intent == 'refund' turn 1 · 14:00:05 UTC" in text
    assert "? undecided→ approve customer.tier == 'new' or risk != 'low'" in text
    assert "skipdraft → approve  turn 1 · 14:00:09 UTCrisk is missing" in text


def test_the_text_has_a_line_for_each_record():
    """For terminals."""
    lines = str(picture()).splitlines()
    assert lines[0] == (
        "refund-desk/case-1042 - DONE (1 turn · 1,554 tokens · recorded 2026-11-30 14:49:24 UTC)"
    )
    assert lines[2].startswith("  user      intake, user_message: My jar arrived broken")
    assert '  policy, turn 1: rule = "4.2"' in lines
    assert "  fire     draft → approve, turn 1: 148.0 > 100" in lines
    assert "    ? undecided → approve when customer.tier == 'new' or risk != 'low'" in lines


def test_what_has_expired_is_counted_and_the_reason_is_given():
    """The conversation stays: it lives as long as its session."""
    view = picture(seconds=60)
    assert view.expired == {
        "yields": 7,
        "mesh_communications": 7,
        "analyses": 9,
        "decisions": 14,
    }
    assert view.record_ttl == 60
    said = (
        "Expired: 7 yields, 7 mesh communications, 9 analyses, 14 decisions older than 60 seconds"
    )
    for text in (str(view), text_of(view.html())):
        assert said in text
        assert "record_ttl" in text
        assert "Yields (0, 7 expired)" in text
    assert view.conversation
    assert problems(view.html()) == []


def test_a_long_session_shows_its_latest_records_and_counts_the_others():
    """The output stays small; the attributes have all."""
    view = picture(long_play(600, "x" * 3_000))
    html, text = view.html(), str(view)
    assert len(view.conversation) == 2_400
    assert "… 2,350 earlier; .conversation has all" in text_of(html)
    assert "  … 2,300 earlier" in text.splitlines()
    assert len(html) < 300_000
    assert len(text) < 200_000


def test_before_the_first_turn_there_is_nothing_on_record():
    """With or without a session."""
    assert str(SessionView(records_of(Tree("", ""), NOW), "desk")).splitlines()[0] == (
        "desk - no session is opened - WAITING (no turn yet)"
    )
    view = SessionView(records_of(Tree("s", "r"), NOW), "desk")
    assert text_of(view.html()).startswith("desk/s○ waitingno turn yetConversation (0)")
    assert problems(view.html()) == []
