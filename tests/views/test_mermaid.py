"""The Mermaid text: every node and edge, and no character that Mermaid could misread."""

from __future__ import annotations

import re

import pytest
from drawn_graphs import CALL, model
from hostile_texts import HOSTILE

from liman_nb.views.mermaid import mermaid


def test_a_graph_as_mermaid():
    """Shapes by kind, the start, conditions on the links, tools by dotted links."""
    graph = model(
        ["chat", "search", "check", "person in charge"],
        [("chat", "search", CALL), ("chat", "check", ""), ("check", "person in charge", "x > 3")],
        kinds=["LLM", "tool", "function", "person"],
    )

    assert mermaid(graph) == (
        "flowchart TB\n"
        '    n0["chat"]\n'
        "    start(( )) --> n0\n"
        '    n1{{"search"}}\n'
        '    n2[["check"]]\n'
        '    n3(["person in charge"])\n'
        "    n0 -.- n1\n"
        "    n0 --> n2\n"
        '    n2 -->|"x #62; 3"| n3\n'
    )


def test_a_session_colours_nodes_and_links():
    """Classes by status, link styles by outcome; the start's link is the first."""
    graph = model(
        ["a", "b"], [("a", "b", "x")], statuses=["done", "needs you"], outcomes=["not fired"]
    )

    assert mermaid(graph).splitlines()[-5:] == [
        "    classDef done fill:#dafbe1,stroke:#1a7f37,color:#116329",
        "    class n0 done",
        "    classDef needs-you fill:#fff8c5,stroke:#9a6700,color:#7d4e00",
        "    class n1 needs-you",
        "    linkStyle 1 stroke:#6e7781,stroke-width:1.4px,stroke-dasharray:5 4",
    ]


def test_parallel_edges_and_loops_are_links_of_their_own():
    """Nothing is merged."""
    graph = model(["a", "b"], [("a", "b", "x"), ("a", "b", "y"), ("a", "a", ""), ("b", "a", "")])

    assert re.findall(r"^    n\d .*$", mermaid(graph), re.M) == [
        '    n0 -->|"x"| n1',
        '    n0 -->|"y"| n1',
        "    n0 --> n0",
        "    n1 --> n0",
    ]


@pytest.mark.parametrize(
    "text", [*HOSTILE, 'quote " hash # bracket ] pipe | end', "$$x^2$$", "`md`"]
)
def test_hostile_labels_stay_labels(text: str):
    """Within quotes stand only harmless characters and entity codes."""
    graph = model([text, "b"], [(text, "b", text or "x")])
    lines = mermaid(graph).splitlines()

    assert len(lines) == 5
    label = r"([\w .,:+'=?!%/-]|#\d+;)*"
    assert re.fullmatch(rf'    n0\["{label}"\]', lines[1])
    assert re.fullmatch(rf'    n0 -->\|"{label}"\| n1', lines[4])


@pytest.mark.parametrize("text", [*HOSTILE, "a<br/>b"])
def test_a_hostile_text_of_what_a_node_waits_for_stays_a_label(text: str):
    """The one line break is ours."""
    line = mermaid(model(["a"], waits={"a": f"waits for {text}"})).splitlines()[1]

    assert re.fullmatch(r"""    n0\["a<br/>waits for ([\w .,:+'=?!%/-]|#\d+;)*"\]""", line)
