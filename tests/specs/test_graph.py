"""The graph: what documents form together, where a turn starts, and what does not fit together."""

from __future__ import annotations

import os
import subprocess
import sys
from types import MappingProxyType

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liman_nb.errors import Place, SpecError
from liman_nb.specs import SuppliedTool, build_graph, check_specs, load_graph, load_specs

MESH = """
kind: LLMNode
name: solver
description: Solves
yields: {answer: number, note?: string}
tools: [calc, lookup]
nodes:
  - {target: checker, when: answer >= 0}
  - {target: checker, when: answer < 0}
---
kind: FunctionNode
name: checker
func: check
auth: {service_account: desk}
edges: [{target: solver, when: "output == 'again'", id: back}]
---
kind: ToolNode
name: calc
func: tools.calc
---
kind: ServiceAccount
name: desk
context: {inject: [user_id]}
"""
LOOKUP = SuppliedTool("lookup", "Looks up", {"type": "object", "properties": {}})


def graph(text=MESH, **supplied):
    """The graph of the mesh, or of another text."""
    return load_graph(text, supplied_tools=[LOOKUP], **supplied)


def errors(text, **supplied) -> list[str]:
    """The errors alone, as they are printed."""
    return [str(p) for p in check_specs(text, **supplied) if p.level == "error"]


def warnings(text, **supplied) -> list[str]:
    """The warnings alone, as they are printed."""
    return [str(p) for p in check_specs(text, **supplied) if p.level == "warning"]


# ── what it holds ────────────────────────────────────────────────────────────────────────────────


def test_nodes_with_their_edges_tools_yields_and_account():
    """Everything that runs one, in one place."""
    found = graph(start_node="solver")
    solver, checker = found.nodes["solver"], found.nodes["checker"]
    assert (solver.kind, solver.tools, solver.place) == (
        "LLMNode",
        ("calc", "lookup"),
        Place("<specs>", 2, 1),
    )
    assert solver.yields.field_names == ("answer", "note")
    assert [(e.id, e.source, e.target, e.label, e.function) for e in solver.edges] == [
        ("solver>checker#0", "solver", "checker", "answer >= 0", None),
        ("solver>checker#1", "solver", "checker", "answer < 0", None),
    ]
    assert [e.id for e in checker.edges] == ["back"]
    assert checker.service_account is found.service_accounts["desk"]
    assert checker.service_account.context.inject == ("user_id",)


def test_a_tool_given_in_code_is_a_node():
    """It has a schema instead of a document."""
    node = graph(start_node="solver").nodes["lookup"]
    assert (node.kind, node.spec.name, node.spec.description) == ("ToolNode", "lookup", "Looks up")
    assert node.parameters == LOOKUP.parameters
    assert graph(start_node="solver").nodes["calc"].parameters is None


def test_a_tool_node_describes_a_tool_given_in_code():
    """Of the two, the document is the node."""
    tool = "kind: ToolNode\nname: lookup\ndescription: Mine\n"
    text = f"kind: LLMNode\nname: a\ntools: [lookup]\n---\n{tool}"
    found = graph(text)
    assert found.nodes["lookup"].spec.description == "Mine"
    assert found.nodes["lookup"].parameters is None
    assert found.warnings == ()


def test_a_graph_cannot_be_changed():
    """Neither it nor its mappings."""
    found = graph(start_node="solver")
    assert isinstance(found.nodes, MappingProxyType)
    with pytest.raises(AttributeError):
        found.entry = "checker"


def test_an_account_inside_a_node():
    """It is named after the node, or has a name of its own."""
    inline = "kind: LLMNode\nname: a\nauth:\n  service_account:\n    {}context: {{inject: [x]}}\n"
    found = load_graph(inline.format(""))
    assert found.nodes["a"].service_account.name == "a.auth"
    assert list(found.service_accounts) == ["a.auth"]
    assert load_graph(inline.format("name: s\n    ")).nodes["a"].service_account.name == "s"


def test_reading_and_linking_in_two_steps_gives_the_same_graph():
    """`load_graph` is both, with the errors of both."""
    documents = load_specs(MESH)
    assert build_graph(documents, start_node="solver", supplied_tools=[LOOKUP]) == graph(
        start_node="solver"
    )
    with pytest.raises(SpecError, match="there is no tool 'lookup'"):
        build_graph(documents, start_node="solver")


def test_a_networkx_graph():
    """Kinds and conditions are data; two conditions between two nodes are two edges."""
    drawn = graph(start_node="solver").to_networkx()
    assert isinstance(drawn, networkx.MultiDiGraph)
    fields = ("name", "kind", "description", "entry", "wait_for")
    assert dict(drawn.nodes(data=True)) == {
        row[0]: dict(zip(fields, row, strict=True))
        for row in (
            ("solver", "LLMNode", "Solves", True, ""),
            ("checker", "FunctionNode", "", False, ""),
            ("calc", "ToolNode", "", False, ""),
            ("lookup", "ToolNode", "Looks up", False, ""),
        )
    }
    assert sorted(drawn.edges(keys=True, data=True), key=lambda e: e[2]) == [
        ("checker", "solver", "back", {"condition": "output == 'again'", "via": "edge"}),
        ("solver", "checker", "solver>checker#0", {"condition": "answer >= 0", "via": "edge"}),
        ("solver", "checker", "solver>checker#1", {"condition": "answer < 0", "via": "edge"}),
        ("solver", "calc", "tool:calc", {"condition": "", "via": "tool"}),
        ("solver", "lookup", "tool:lookup", {"condition": "", "via": "tool"}),
    ]


def test_a_networkx_graph_tells_what_a_node_waits_for():
    """As one text, whichever way it is written."""
    text = "{kind: LLMNode, name: a, to: [b, j]}\n---\n{kind: Node, name: b, to: j}\n---\n"
    drawn = load_graph(text + "{kind: Node, name: j, wait_for: [a, b]}").to_networkx()
    assert dict(drawn.nodes(data="wait_for")) == {"a": "", "b": "", "j": "a and b"}


def test_specs_load_without_the_heavy_libraries():
    """Among them networkx: it is imported when a graph is asked for in its form."""
    code = (
        "import sys, liman_nb.specs as s; s.load_graph('kind: LLMNode\\nname: a\\n');"
        "print([m for m in ('networkx', 'openai', 'diskcache', 'matplotlib', 'ipywidgets') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ── function conditions ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("condition", "supplied", "function"),
    [
        ("is_late", {"supplied_functions": ["is_late"]}, "is_late"),
        ("rules.is_late", {"supplied_functions": ["rules.is_late"]}, "rules.is_late"),
        ("rules.is_late", {"allow_imports": ["rules"]}, "rules.is_late"),
        ("rules.time.is_late", {"allow_imports": ["rules.time"]}, "rules.time.is_late"),
        ("rules.time.is_late", {"allow_imports": ["rules"]}, "rules.time.is_late"),
        ("is_late", {}, None),
        ("is_late", {"allow_imports": ["is_late"]}, None),
        ("rules.is_late", {"allow_imports": ["rule"]}, None),
        ("not is_late", {"supplied_functions": ["is_late"]}, None),
        ("mood", {"supplied_functions": ["mood"]}, None),
    ],
)
def test_a_name_alone_may_be_a_function(condition, supplied, function):
    """One that was given, or below a module that may be imported; a yield is nearer."""
    text = (
        f"kind: LLMNode\nname: a\nyields: {{mood: boolean}}\nto: [{{ref: a, when: {condition}}}]\n"
    )
    (edge,) = load_graph(text, **supplied).nodes["a"].edges
    assert edge.function == function
    assert (edge.condition.text, edge.label) == (condition, condition)


# ── where a turn starts ──────────────────────────────────────────────────────────────────────────


def nodes(**edges: str) -> str:
    """LLMNodes (capital letter) and FunctionNodes with edges, as `A="b C"`."""
    kinds = {name: "LLMNode" if name[0].isupper() else "FunctionNode" for name in edges}
    return "\n---\n".join(
        f"kind: {kinds[name]}\nname: {name}\nto: [{', '.join(targets.split())}]"
        for name, targets in edges.items()
    )


@pytest.mark.parametrize(
    ("text", "start_node", "entry"),
    [
        (nodes(A=""), None, "A"),
        (nodes(A="A"), None, "A"),
        (nodes(A="B", B=""), None, "A"),
        (nodes(A="B", B="A"), "B", "B"),
        (nodes(a="B", B="c", c=""), None, "a"),
        (nodes(A="b", b="A", c=""), None, "c"),
        (nodes(A="", b="", c=""), None, "A"),
        (nodes(A="", B=""), "B", "B"),
        (nodes(A="", B=""), "LLMNode/B", "B"),
        (nodes(A="", b=""), "Node/b", "b"),
        (nodes(A="") + "\n---\nkind: ToolNode\nname: t\nto: A\n", None, "A"),
    ],
)
def test_the_node_a_turn_starts_at(text, start_node, entry):
    """The one given, else the only one no edge leads to, else the only LLMNode."""
    if "ToolNode" in text:
        assert errors(text) == []
        return
    assert load_graph(text, start_node=start_node).entry == entry


@pytest.mark.parametrize(
    ("text", "start_node", "error"),
    [
        (
            nodes(A="", B=""),
            None,
            "it is not clear at which node a turn starts; pass start_node= with one of 'A', 'B'",
        ),
        (
            nodes(A="B", B="A"),
            None,
            "it is not clear at which node a turn starts; pass start_node= with one of 'A', 'B'",
        ),
        (nodes(Chat=""), "chta", "start_node: there is no node 'chta'; did you mean 'Chat'?"),
        (nodes(Chat=""), "x", "start_node: there is no node 'x'; the nodes are 'Chat'"),
        (
            nodes(Chat=""),
            "Node/Chat",
            "start_node: 'Node/Chat' is given, but 'Chat' is an LLMNode",
        ),
        (
            nodes(Chat="") + "\n---\nkind: ToolNode\nname: t\n",
            "t",
            "start_node: 't' is a tool; the nodes are 'Chat'",
        ),
        (
            "kind: ToolNode\nname: t\n",
            None,
            "there is no node a turn could start at; add for example an LLMNode",
        ),
    ],
)
def test_when_it_is_not_clear_where_a_turn_starts(text, start_node, error):
    """The candidates are named."""
    assert errors(text, start_node=start_node) == [error]


# ── what does not fit together ───────────────────────────────────────────────────────────────────

CALLER = "kind: LLMNode\nname: a\ntools: [{}]\n---\nkind: ToolNode\nname: weather\n"


@pytest.mark.parametrize(
    ("start_node", "error"),
    [
        (
            None,
            "it is not clear at which node a turn starts; pass start_node= with one of 'A', 'B'",
        ),
        ("C", "start_node: there is no node 'C'; the nodes are 'A', 'B'"),
    ],
)
def test_a_document_that_was_left_out_is_no_excuse_for_an_unclear_start(start_node, error):
    """Without strictness there is no other error that says so."""
    with pytest.raises(SpecError) as caught:
        load_graph(
            f"{nodes(A='', B='')}\n---\nkind: X\nname: C\n", start_node=start_node, strict=False
        )
    assert [str(p) for p in caught.value.problems] == [error]


@pytest.mark.parametrize(
    ("tools", "error"),
    [
        (
            ["a b"],
            "<tools>: the name 'a b' is not allowed; a tool's name is letters A to Z and a to z, "
            "digits, '_' or '-', at most 64 characters",
        ),
        (["f", "f"], "<tools>: two tools have the name 'f'"),
        (["A"], "<tools>: the tool 'A' has the name of the LLMNode at <specs>:1:1"),
    ],
)  # fmt: skip
def test_tools_given_in_code_that_do_not_fit(tools, error):
    """Names that no model could call, or that are taken."""
    assert errors(nodes(A=""), supplied_tools=[SuppliedTool(t) for t in tools]) == [error]


def test_what_refers_to_a_broken_document_is_not_reported_as_well():
    """One mistake, one error."""
    broken = "kind: ToolNode\nname: t\nx: 1\n---\nkind: Nod\nname: b\n"
    text = f"kind: LLMNode\nname: a\ntools: t\nto: b\n---\n{broken}"
    assert errors(text, start_node="a") == [
        "<specs>:8:1: ToolNode t: unknown field 'x'",
        "<specs>:10:7: unknown kind 'Nod'; did you mean 'Node'?",
    ]
    assert warnings(text, start_node="a") == []


def test_errors_of_documents_and_of_the_graph_are_raised_together():
    """By line."""
    with pytest.raises(SpecError) as caught:
        load_graph("kind: LLMNode\nname: a\nto: x\n---\nkind: ToolNode\nname: t\nfoo: 1\n")
    assert [p.place.line for p in caught.value.problems] == [3, 7]


def test_without_strictness_unknown_tools_are_left_out():
    """With a warning."""
    found = load_graph(CALLER.format("wether, weather"), strict=False)
    assert found.nodes["a"].tools == ("weather",)
    assert [w.message for w in found.warnings] == ["tools: there is no tool 'wether'"]


# ── the fingerprint ──────────────────────────────────────────────────────────────────────────────

PARTS = MESH.split("---\n")


@settings(max_examples=25, deadline=None)
@given(st.permutations(PARTS), st.data())
def test_the_order_and_the_names_of_files_do_not_change_the_fingerprint(
    tmp_path_factory, parts, data
):
    """What is said counts, not where."""
    folder = tmp_path_factory.mktemp("specs")
    names = data.draw(st.permutations(["a.yaml", "b.yaml", "sub/c.yaml", "d.json"]))
    for name, part in zip(names, parts, strict=True):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {name}\n{part}", encoding="utf-8")
    assert graph(folder, start_node="solver").fingerprint == graph(start_node="solver").fingerprint


def test_the_fingerprint_is_equal_in_every_process():
    """It does not depend on Python's hash seed."""
    text = MESH.replace(", lookup", "")
    code = (
        "from liman_nb.specs import load_graph;"
        f"print(load_graph({text!r}, start_node='solver').fingerprint)"
    )
    path = os.pathsep.join(["", *sys.path])
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": path}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.strip() == load_graph(text, start_node="solver").fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("answer >= 0", "answer > 0"),
        ("Solves", "Solves it"),
        ("{answer: number", "{answer: integer"),
        ("tools.calc", "tools.calculate"),
        ("id: back", "id: again"),
        ("inject: [user_id]", "inject: [org_id]"),
        ("tools: [calc, lookup]", "tools: [lookup, calc]"),
    ],
)
def test_whatever_is_said_otherwise_changes_the_fingerprint(old, new):
    """A turn that was begun with other specs can be told."""
    assert old in MESH
    changed = MESH.replace(old, new)
    assert graph(changed, start_node="solver").fingerprint != graph(start_node="solver").fingerprint


def test_spelling_does_not_change_the_fingerprint():
    """Quotes, comments, flow or block, and other words for the same field."""
    one = 'kind: Node\nname: "a"\nnodes: [{target: a, when: x}]  # loop\n'
    other = "kind: FunctionNode\nname: a\ncan_call:\n  - agent: a\n    condition: x\n"
    assert load_graph(one).fingerprint == load_graph(other).fingerprint


def test_another_language_is_another_fingerprint():
    """Prompts decide behaviour."""
    text = "kind: LLMNode\nname: a\nprompts: {system: {en: A, de: B}}\n"
    assert load_graph(text).fingerprint != load_graph(text, language="de").fingerprint
    assert load_graph(text).fingerprint == load_graph(text, language="fr").fingerprint
