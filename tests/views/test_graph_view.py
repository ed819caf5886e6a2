"""The graph in a notebook, in a terminal, and on its way elsewhere."""

from __future__ import annotations

import pytest
from html_check import alts_of, images_of, problems, text_of
from view_examples import Play, refund_done, refund_graph

from liman_nb.errors import UsageError
from liman_nb.specs import load_graph
from liman_nb.views import GraphView
from liman_nb.views.palette import OUTCOMES


def large(count: int) -> GraphView:
    """A view of a long chain of functions, whose first third leads to its last as well."""
    documents = []
    for i in range(count):
        targets = [f"n{i + 1}"] if i + 1 < count else []
        targets += [f"n{count - 1 - i}"] if i < count // 3 else []
        nodes = f"nodes: [{', '.join(targets)}]"
        documents.append(f"kind: FunctionNode\nname: n{i}\nfunc: f\n{nodes}\n")
    specs = "---\n".join(documents)
    return GraphView(load_graph(specs, start_node="n0", supplied_functions=["f"]))


def test_nodes_and_edges_are_those_of_the_specs():
    """The view passes through what programs ask for."""
    graph = refund_graph()
    view = GraphView(graph)

    assert view.specs is graph
    assert view.nodes is graph.nodes
    assert len(view.edges) == 13
    assert view.edges[1].target == "policy"
    assert view.to_networkx().number_of_edges() == graph.to_networkx().number_of_edges()


def test_the_text_lists_nodes_with_their_edges():
    """For terminals: conditions in full."""
    lines = str(GraphView(refund_graph())).splitlines()

    assert lines[0] == "Graph: 9 nodes, 13 edges, 1 tool link"
    assert lines[1:3] == ["intake (function, start)", "  → triage"]
    assert lines[3:8] == [
        "triage (LLM)",
        "  → policy when intent == 'refund'",
        "  → research when confidence < 0.8 and not resolved",
        "  → draft when intent == 'smalltalk'",
        "  ⚙ get_order as a tool",
    ]


JOIN = """
{kind: LLMNode, name: ask, edges: [a, b, c]}
---
{kind: Node, name: a, edges: [merge]}
---
{kind: Node, name: b, edges: [merge]}
---
{kind: Node, name: c, edges: [merge]}
---
{kind: Node, name: merge, wait_for: [a, b or c?], edges: [end]}
---
{kind: Node, name: end}
"""


def test_a_node_that_waits_says_for_what():
    """In the list, in the picture's alternative text and in the picture."""
    view = GraphView(load_graph(JOIN))
    (alt,) = alts_of(view.html())

    assert str(view).splitlines()[-4:] == [
        "merge (function)",
        "  waits for a and (b or c?)",
        "  → end",
        "end (function)",
    ]
    assert "; merge (function), waits for a and (b or c?); end (function)." in alt
    assert ">waits for a and (b or c?)</text>" in view.to_svg()
    assert '[["merge<br/>waits for a and #40;b or c?#41;"]]' in view.to_mermaid()


def test_the_text_of_a_session_tells_statuses_and_outcomes():
    """The same list, with what happened."""
    play = refund_done()
    lines = str(GraphView(play.graph, play.tree)).splitlines()

    assert "triage (LLM) done" in lines
    assert "  → draft when intent == 'smalltalk': not fired" in lines
    assert "  → approve when customer.tier == 'new' or risk != 'low': undecided" in lines


def test_the_picture_s_alternative_text_says_all_of_it():
    """Every node with its status, every edge with condition and outcome."""
    play = refund_done()
    (alt,) = alts_of(GraphView(play.graph, play.tree).html())

    assert alt.startswith(
        "Graph of 9 nodes, 13 edges, 1 tool link. Nodes: intake (function, start) done; "
    )
    assert "triage to policy when intent == 'refund': fired; " in alt
    assert "triage to get_order as a tool; " in alt
    for source, edges in ((n.name, n.edges) for n in play.graph.nodes.values()):
        assert all(f"{source} to {edge.target}" in alt for edge in edges)


def test_the_html_is_one_image_with_a_legend_and_a_list():
    """Readable where nothing runs."""
    play = refund_done()
    html = GraphView(play.graph, play.tree).html()
    text = text_of(html)

    assert problems(html) == []
    assert len(images_of(html)) == 1
    assert all(f"{style.icon} {word}" in text for word, style in OUTCOMES.items())
    assert "● tool of an LLM" in text
    assert "Nodes and edges as a list" in text


def test_a_graph_alone_has_no_legend():
    """All its lines are alike."""
    assert "not considered" not in text_of(GraphView(refund_graph()).html())


def test_the_svg_is_the_picture():
    """What is written to a file is what is shown."""
    view = GraphView(refund_graph())

    assert images_of(view.html()) == [view.to_svg()]


def test_mermaid_and_figure_are_made_from_the_same_model():
    """One graph, three drawings."""
    view = GraphView(refund_graph())

    assert view.to_mermaid().count("-->|") == 11
    assert view.draw().get_size_inches()[0] > 3


def test_a_graph_too_large_to_draw_is_listed():
    """The output says so and what to use; asking for the drawing is an error."""
    view = large(420)
    text = text_of(view.html())

    assert images_of(view.html()) == []
    assert "too large to draw; use .to_mermaid() or .to_networkx()" in text
    assert "n0 (function, start)" in text
    assert "more lines" in text
    with pytest.raises(UsageError, match="too large to draw"):
        view.draw()
    assert view.to_mermaid().count("-->") == 1 + len(view.edges)
    assert str(view).splitlines()[-1].startswith("… ")


def test_a_view_is_a_snapshot():
    """A later turn does not recolour an earlier output."""
    play = refund_done()
    view = GraphView(play.graph, play.tree)
    before = view.to_svg(), str(view)

    play.turn("And now?")

    assert (view.to_svg(), str(view)) == before


def test_a_wide_graph_scrolls_instead_of_shrinking():
    """Labels stay readable: the image has a least width."""
    specs = "kind: FunctionNode\nname: hub\nfunc: f\nnodes: [" + ", ".join(
        f"leaf_number_{i}" for i in range(14)
    )
    leaves = "".join(
        f"\n---\nkind: FunctionNode\nname: leaf_number_{i}\nfunc: f" for i in range(14)
    )
    graph = load_graph(f"{specs}]{leaves}", start_node="hub", supplied_functions=["f"])
    html = GraphView(graph, Play(graph).tree).html()

    assert "overflow:auto" in html
    assert "min-width:" in html
