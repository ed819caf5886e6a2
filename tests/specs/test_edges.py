"""Edges in every accepted spelling."""

from __future__ import annotations

import pytest

from liman_nb.errors import Place
from liman_nb.specs import check_specs, load_graph, load_specs

NODES = "\n---\n".join(f"kind: LLMNode\nname: {name}" for name in ("b", "c"))


def edges(written: str) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Id, target, condition and depends of the edges of a node."""
    text = f"kind: FunctionNode\nname: a\n{written}\n---\n{NODES}"
    first = load_specs(text).items[0]
    return [
        (e.id, str(e.target), e.condition.text if e.condition else "", e.depends)
        for e in first.edges
    ]


@pytest.mark.parametrize("field", ["nodes", "to", "edges", "can_call"])
@pytest.mark.parametrize("item", ["b", "{target: b}", "{ref: b}", "{agent: b}"])
@pytest.mark.parametrize("layout", ["{field}: {item}", "{field}: [{item}]", "{field}:\n  - {item}"])
def test_every_field_takes_every_item_alone_or_in_a_list(field, item, layout):
    """They all say the same."""
    assert edges(layout.format(field=field, item=item)) == [("a>b#0", "b", "", ())]


@pytest.mark.parametrize("written", ["LLMNode/b", "LLMNode:b", "{target: LLMNode/b}"])
def test_a_kind_before_the_name(written):
    """It must be the target's kind, which the graph checks."""
    assert edges(f"to: ['{written}']" if written[0] != "{" else f"to: [{written}]") == [
        ("a>b#0", "LLMNode/b", "", ())
    ]


def test_llm_nodes_leads_to_llm_nodes():
    """The field says the kind."""
    assert edges("llm_nodes: [b]") == [("a>b#0", "LLMNode/b", "", ())]


@pytest.mark.parametrize("key", ["when", "condition"])
def test_a_condition_under_either_key(key):
    """As Liman and as LeafMesh write it."""
    assert edges(f"to: [{{target: b, {key}: 'x > 1'}}]") == [("a>b#0", "b", "x > 1", ())]


@pytest.mark.parametrize(
    ("written", "text"), [("true", "true"), ("false", "false"), ("True", "true")]
)
def test_a_condition_that_is_a_yaml_boolean(written, text):
    """It is the word."""
    assert edges(f"to: [{{target: b, when: {written}}}]") == [("a>b#0", "b", text, ())]


def test_ids_and_what_depends_on_them():
    """Text or number, one or several; without an id, source, target and position make one."""
    written = (
        "to: [{target: b, id: 1}, {target: c, id: two, depends: 1}, {target: b, depends: [1, two]}]"
    )
    assert edges(written) == [
        ("1", "b", "", ()),
        ("two", "c", "", ("1",)),
        ("a>b#2", "b", "", ("1", "two")),
    ]


def test_several_targets_of_one_item():
    """As many edges."""
    assert edges("nodes: [{target: [b, c], when: x}]") == [
        ("a>b#0", "b", "x", ()),
        ("a>c#1", "c", "x", ()),
    ]


def test_several_fields_in_one_document():
    """One after the other, in the order of the document; positions go on."""
    assert edges("llm_nodes: [c]\nnodes: [b]") == [
        ("a>c#0", "LLMNode/c", "", ()),
        ("a>b#1", "b", "", ()),
    ]


def test_two_edges_to_one_target():
    """Two conditions, two edges."""
    graph = load_graph(
        f"kind: Node\nname: a\nto: [{{ref: b, when: x}}, {{ref: b, when: y}}]\n---\n{NODES}",
        start_node="a",
    )
    assert [(e.id, e.label) for e in graph.nodes["a"].edges] == [("a>b#0", "x"), ("a>b#1", "y")]


def test_an_edge_and_its_condition_have_places():
    """The item's, and the condition's own."""
    (edge,) = (
        load_specs("kind: Node\nname: a\nnodes:\n  - target: a\n    when: x > 1\n").items[0].edges
    )
    assert edge.place == Place("<specs>", 4, 5)
    assert edge.condition.place == Place("<specs>", 5, 11)


@pytest.mark.parametrize("field", ["nodes:", "to: []", "tools: []"])
def test_no_edges(field):
    """An empty field is none."""
    assert edges(field) == []


def test_a_condition_that_does_not_parse_says_where():
    """The place of the value, the document, and the caret of the condition itself."""
    (problem,) = check_specs("kind: Node\nname: a\nto:\n  - target: a\n    when: 'x ='\n")
    assert problem.place == Place("<specs>", 5, 11)
    assert problem.subject == "FunctionNode a"
    assert problem.message.splitlines()[1:] == ["  x =", "    ^"]


@pytest.mark.parametrize("written", ["{target: b, when: 'x ='}", "d", "ToolNode/b"])
def test_without_strictness_an_edge_that_cannot_be_followed_is_left_out(written):
    """With a warning; the other edges keep their ids."""
    text = f"kind: FunctionNode\nname: a\nto: [{written}, c]\n---\n{NODES}"
    graph = load_graph(text, start_node="a", strict=False)
    assert [edge.id for edge in graph.nodes["a"].edges] == ["a>c#1"]
    assert graph.warnings[0].place == Place("<specs>", 3, 6 if written[0] != "{" else 24)
