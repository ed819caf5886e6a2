"""The table of a storage's sessions."""

from __future__ import annotations

from html_check import problems, text_of
from record_examples import row, table

from liman_nb.views import SessionRow

OTHER = SessionRow("b", "root-b", 1, "2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z", is_own=False)


def test_it_is_a_sequence_of_rows():
    """Of one page."""
    view = table(row("a", status="completed", shown="done"), OTHER)
    assert [r.session_id for r in view] == ["a", "b"]
    assert view[:1] == (view[0],)
    assert (view.page, view.pages, view.total) == (1, 1, 2)


def test_the_card_has_a_line_for_each_session():
    """Id, turns, created, used, status; another agent's is marked."""
    view = table(row("a", status="suspended", shown="suspended", questions=1), OTHER)
    text = text_of(view.html())
    assert problems(view.html()) == []
    assert text.startswith("Sessions2 sessionssessionturnscreatedusedstatus")
    assert "a22026-11-30 14:00:01 UTC2026-11-30 14:00:01 UTC⋯ suspended 1 question" in text
    assert text.endswith("b12026-11-29 10:00:00 UTC2026-11-29 10:00:00 UTC another agent's")


def test_the_text_has_a_line_for_each_session():
    """In columns."""
    view = table(row("alice", status="completed", shown="done"), OTHER, page=2, pages=3)
    assert str(view).splitlines() == [
        "Sessions (2 sessions · page 2 of 3)",
        "  alice  2 turns    used 2026-11-30 14:00:01 UTC  done",
        "  b      1 turn     used 2026-11-29 10:00:00 UTC  another agent's",
    ]


def test_a_session_that_cannot_be_read_says_why():
    """In its line."""
    view = table(row("a", problem="StorageError: row 3 is damaged"))
    assert "cannot be read: StorageError: row 3 is damaged" in text_of(view.html())
    assert "cannot be read: StorageError: row 3 is damaged" in str(view)


def test_as_a_frame_times_are_moments_and_numbers_are_numbers():
    """A row for each session of the page."""
    frame = table(row("a", status="completed", shown="done"), OTHER).to_pandas()
    assert list(frame.session_id) == ["a", "b"]
    assert list(frame.status) == ["completed", ""]
    assert list(frame.is_own) == [True, False]
    assert frame.turns.sum() == 3
    assert str(frame.used_at.dt.tz) == "UTC"
    assert list(table().to_pandas()) == list(frame)


def test_an_empty_store_and_an_empty_page_are_told_apart():
    """Neither is an error."""
    assert "No session is stored." in text_of(table().html())
    beyond = table(page=7, pages=3)
    beyond.total = 50
    assert "No session on this page." in text_of(beyond.html())
    assert str(beyond) == "Sessions (50 sessions · page 7 of 3)"
