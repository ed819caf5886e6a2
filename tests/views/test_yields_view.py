"""What each node yielded: a mapping for programs, fields for people."""

from __future__ import annotations

from html_check import problems, text_of
from view_examples import Play, refund_done, refund_graph

from liman_nb.views import YieldsView


def test_it_is_a_mapping_by_node():
    """Only nodes that declare yields, with their latest."""
    play = refund_done()
    view = YieldsView(play.graph, play.tree)

    assert list(view) == ["triage", "policy", "research", "draft", "approve"]
    assert view["policy"] == {"rule": "4.2"}
    assert "merge" not in view
    assert dict(view)["approve"] == {"approved": True}


def test_it_is_a_copy():
    """A later run, or a change of the stored value, is not seen."""
    play = refund_done()
    view = YieldsView(play.graph, play.tree)

    for executor in play.tree.executors.values():
        if executor.node == "research":
            executor.output["sources"].clear()

    assert view["research"] == {"sources": ["A-0981", "A-0777", "A-1003"]}


def test_only_one_turn_counts_when_asked_for():
    """For the record of one result."""
    play = refund_done().turn("Again")

    assert dict(YieldsView(play.graph, play.tree, turn=2)) == {}


def test_text_and_html_list_the_fields():
    """A line per field."""
    play = refund_done()
    view = YieldsView(play.graph, play.tree)

    assert str(view).splitlines()[:4] == [
        "Yields (5)",
        "  triage",
        '    intent = "refund"',
        "    confidence = 0.71",
    ]
    assert problems(view.html()) == []
    assert 'intent = "refund"' in text_of(view.html())


def test_no_yields_are_said_to_be_none():
    """Before the first run."""
    graph = refund_graph()

    assert "No node has yielded anything yet." in text_of(
        YieldsView(graph, Play(graph).tree).html()
    )
