"""The SVG drawing: complete, safe, and readable on light and dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from drawn_graphs import HARD, model
from hostile_texts import ENDLESS, HOSTILE
from html_check import svg_problems

from liman_nb.views.layout import lay_out
from liman_nb.views.palette import OUTCOMES, STATUSES
from liman_nb.views.svg import drawing_order, svg

NS = "{http://www.w3.org/2000/svg}"


def drawn(graph) -> str:
    """The SVG of a graph."""
    return svg(graph, lay_out(graph, without_graphviz=True))


def texts(document: str) -> list[str]:
    """Every line of text of a drawing."""
    return [e.text or "" for e in ET.fromstring(document).iter(f"{NS}text")]  # noqa: S314 - ours


@pytest.mark.parametrize("name", HARD)
def test_every_hard_graph_is_clean_svg(name: str):
    """Only shapes and text; no script, style sheet, link or external resource."""
    assert svg_problems(drawn(HARD[name])) == []


def test_every_edge_is_drawn_with_its_arrow():
    """Seven edges and the start give eight lines with heads, labelled ones in two parts."""
    graph = HARD["cycles"]
    document = drawn(graph)

    heads = re.findall(r'Z" fill="#', document)
    lines = re.findall(r'<path d="[^"]*" fill="none" stroke="#', document)
    labelled = sum(bool(edge.condition) for edge in graph.edges)
    assert len(heads) == len(graph.edges) + 1
    assert len(lines) == len(graph.edges) + labelled + 1


def test_names_and_conditions_are_written_out():
    """What fits is there in full, as text."""
    shown = texts(drawn(HARD["tools"]))

    assert {"chat", "LLM", "tool_5", "tool", "after", "function", "done", "not ok"} <= set(shown)


def test_the_full_condition_is_its_label_s_title():
    """A browser that opens the file shows what was elided."""
    condition = "customer.tier == 'gold' and amount > 1000 and not (country in ['a', 'b'])"
    titles = [
        e.text
        for e in ET.fromstring(drawn(model(["a", "b"], [("a", "b", condition)]))).iter(f"{NS}title")  # noqa: S314 - ours
    ]

    assert titles == [condition, "a", "b"]


def test_the_lines_of_a_node_stand_within_its_box():
    """Two of them, or three with what it waits for, which its title says too."""
    graph = model(["a", "b"], waits={"b": "waits for a and (b or c?)"})
    layout = lay_out(graph, without_graphviz=True)
    document = ET.fromstring(svg(graph, layout))  # noqa: S314 - ours
    a, b = (e for e in document.iter(f"{NS}g") if e.find(f"{NS}title") is not None)

    assert a.findtext(f"{NS}title") == "a"
    assert b.findtext(f"{NS}title") == f"b\n{graph.nodes[1].waits}"
    for group, box, count in zip((a, b), layout.nodes, (2, 3), strict=True):
        heights = [float(e.get("y", 0)) for e in group.findall(f"{NS}text")]
        assert len(heights) == count
        assert box.top + 10 < heights[0] < heights[-1] < box.bottom - 4
        assert heights == sorted(heights)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_shown_by_word_colours_and_icon(status: str):
    """Nothing depends on the colour alone."""
    document = drawn(model(["a"], statuses=[status]))

    assert f"{status} · LLM" in texts(document)
    assert f'fill="{STATUSES[status].light.ground}"' in document


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_is_shown_by_line_and_icon(outcome: str):
    """The line has the outcome's colour, width and dashes."""
    style = OUTCOMES[outcome]
    document = drawn(model(["a", "b"], [("a", "b", "x")], statuses=["done"], outcomes=[outcome]))

    assert f'stroke="{style.both}" stroke-width="{style.width}"' in document
    assert ("stroke-dasharray" in document) == bool(style.dashes)


def test_edges_that_fired_lie_on_top():
    """Where lines cross, the way that was taken is not covered."""
    graph = model(
        ["a", "b"],
        [("a", "b", f"{i}") for i in range(4)],
        statuses=["done"],
        outcomes=["fired", "not considered", "undecided", "not fired"],
    )

    assert drawing_order(graph) == [1, 3, 2, 0]


def test_text_of_unknown_width_is_clipped_to_its_box():
    """Scripts that are not measured cannot run over other things."""
    document = drawn(model(["\ufdfd" * 9]))

    assert document.count("<svg") == 2


@pytest.mark.parametrize("text", [*HOSTILE, ENDLESS], ids=range(len(HOSTILE) + 1))
def test_hostile_names_and_conditions_are_text(text: str):
    """Nothing of them becomes an element or an attribute."""
    graph = model([text, f"{text}2"], [(text, f"{text}2", text or "x")])

    assert svg_problems(drawn(graph)) == []
    assert len(drawn(graph)) < 20_000
