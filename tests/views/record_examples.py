"""Records of invented sessions, for the views that show them."""

from __future__ import annotations

from datetime import UTC, datetime

from view_examples import Play, refund_done

from liman_nb.engine.explain import explained
from liman_nb.engine.records import SessionRecords, records_of
from liman_nb.specs import load_graph
from liman_nb.views import ExplanationView, SessionRow, SessionsView, SessionView

NOW = datetime(2026, 11, 30, 14, 49, 24, tzinfo=UTC)


def records(play: Play | None = None, seconds: float | None = None) -> SessionRecords:
    """The refund desk's records, or another session's."""
    return records_of((play or refund_done()).tree, NOW, seconds)


def picture(play: Play | None = None, seconds: float | None = None) -> SessionView:
    """The same as a view."""
    return SessionView(records(play, seconds), "refund-desk", "done", recorded=NOW)


def explanation(node: str, play: Play | None = None, **more) -> ExplanationView:
    """A node of the refund desk, or of another session."""
    shown = play or refund_done()
    return ExplanationView(explained(shown.graph, shown.tree, node, **more))


def row(session_id: str, **more) -> SessionRow:
    """A line of the table of sessions."""
    at = "2026-11-30T14:00:01Z"
    return SessionRow(session_id, f"root-{session_id}"[:60], 2, at, at, is_own=True, **more)


def table(*shown: SessionRow, page: int = 1, pages: int = 1) -> SessionsView:
    """A page of the table."""
    return SessionsView(shown, page=page, pages=pages, total=len(shown))


def long_play(turns: int, text: str = "said") -> Play:
    """A session of many turns."""
    specs = "{kind: FunctionNode, name: echo, func: f, nodes: [last]}\n---\n"
    specs += "{kind: FunctionNode, name: last, func: f}"
    play = Play(load_graph(specs, start_node="echo", supplied_functions=["f"]))
    for number in range(turns):
        play.turn(f"{text} {number}").run(
            "echo", {"a": f"{text} {number}"}, ("last", "fired", {}, "")
        )
        play.run("last", text)
    return play
