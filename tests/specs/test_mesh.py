"""Mesh documents: each agent is a node, wherever it is written and in whatever words."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.errors import Place, SpecError
from liman_nb.specs import SuppliedTool, check_specs, load_graph, load_specs
from liman_nb.specs.agents import AGENT_TYPES, SPELLINGS
from liman_nb.specs.conditions import View
from liman_nb.specs.documents import MODELS
from liman_nb.specs.graph import Graph
from liman_nb.specs.platform import AGENT, DOCUMENT, MESH

PAGE = """
agents:
  # Step 1: Solver stores its yields automatically
  solver:
    name: "solver"
    model: "gpt-4o-mini"
    yields:
      answer: "number"
      steps: "array"
    can_call:
      - agent: "checker"
        condition: "answer >= 0"
  # Step 2: Checker receives solver's yields as input_data
  checker:
    name: "checker"
    model: "gpt-4o-mini"
    yields:
      is_correct: "boolean"
      explanation: "string"
"""
"""As LeafMesh's page on sessions prints it."""

KINDS = """
kind: LLMNode
name: solver
memory: session
model: gpt-4o-mini
yields: {answer: number, steps: array}
edges: [{target: checker, when: answer >= 0}]
---
kind: LLMNode
name: checker
memory: session
model: gpt-4o-mini
yields: {is_correct: boolean, explanation: string}
"""
"""The same in Liman's words."""


def said(graph: Graph) -> Graph:
    """A graph without the places where it is written."""
    nodes = {
        name: replace(
            node,
            place=None,
            edges=tuple(
                replace(
                    edge,
                    place=None,
                    condition=edge.condition and replace(edge.condition, place=None),
                )
                for edge in node.edges
            ),
        )
        for name, node in graph.nodes.items()
    }
    return replace(graph, nodes=nodes)


def spec(agent: str, name: str = "a"):
    """The node of one agent, whose fields are given in YAML's braces."""
    return (
        load_graph(f"agents:\n  {name}: {agent}\n  other: {{can_call: [{name}]}}").nodes[name].spec
    )


def errors(*sources, **supplied) -> list[str]:
    """The errors of several sources together."""
    return [str(p) for p in check_specs(list(sources), **supplied) if p.level == "error"]


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def test_the_page_loads_as_it_is_printed():
    """Two agents, one edge with its condition, typed yields; the solver is where a turn starts."""
    graph = load_graph(PAGE)
    solver, checker = graph.nodes["solver"], graph.nodes["checker"]
    assert (graph.entry, list(graph.nodes)) == ("solver", ["solver", "checker"])
    assert {node.kind for node in graph.nodes.values()} == {"LLMNode"}
    assert solver.spec.model == checker.spec.model == "gpt-4o-mini"
    assert [(e.id, e.target, e.label) for e in solver.edges] == [
        ("solver>checker#0", "checker", "answer >= 0")
    ]
    assert {n: f.kind for n, f in solver.yields.fields.items()} == {
        "answer": "number",
        "steps": "array",
    }
    assert {n: f.kind for n, f in checker.yields.fields.items()} == {
        "is_correct": "boolean",
        "explanation": "string",
    }


def test_the_page_s_document_and_liman_s_words_are_one_graph():
    """Only the places differ; the fingerprint does not."""
    assert said(load_graph(PAGE)) == said(load_graph(KINDS))
    assert load_graph(PAGE).fingerprint == load_graph(KINDS).fingerprint


def test_every_value_keeps_its_place():
    """Nodes stand at their keys, edges and conditions where they are written."""
    graph = load_graph(PAGE)
    assert graph.nodes["solver"].place == Place("<specs>", 4, 3)
    assert graph.nodes["checker"].place == Place("<specs>", 14, 3)
    (edge,) = graph.nodes["solver"].edges
    assert edge.place == Place("<specs>", 11, 9)
    assert edge.condition.place == Place("<specs>", 12, 20)


def test_the_fingerprint_is_the_same_in_every_process():
    """Nothing of a process is in it."""
    code = f"from liman_nb.specs import load_graph; print(load_graph({PAGE!r}).fingerprint)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == load_graph(PAGE).fingerprint


def test_a_mesh_is_drawn_as_any_graph():
    """From networkx's form of it all views are made."""
    graph = load_graph(PAGE)
    drawn = graph.to_networkx()
    assert list(drawn.edges(data="condition")) == [("solver", "checker", "answer >= 0")]
    assert dict(drawn.nodes(data="entry")) == {"solver": True, "checker": False}


# ── forms ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "agents:\n  a: {name: a, can_call: [{agent: b}]}\n  b: {name: b}",
        "agents:\n  a: {can_call: [{agent: b}]}\n  b:\n",
        "agents:\n  - {name: a, can_call: [b]}\n  - name: b\n",
        "agents:\n  - {name: b}\n---\nagents:\n  - {name: a, can_call: {agent: b}}\n",
        "agents: {a: {agent_type: llm, can_call: b}, b: {agent_type: null, name: null}}",
        '{"agents": {"b": {}, "a": {"edges": ["LLMNode/b"]}}}',
    ],
)
def test_agents_by_name_or_as_a_list(text):
    """A key is a name; a list's items have theirs; several documents make one graph."""
    expected = load_graph("agents: {a: {can_call: [b]}, b: {}}")
    graph = load_graph(text)
    assert dict(said(graph).nodes) == dict(said(expected).nodes)
    assert (graph.entry, graph.fingerprint) == ("a", expected.fingerprint)


def test_agents_given_as_dictionaries():
    """As any spec."""
    graph = load_graph({"agents": {"a": {"can_call": [{"agent": "b"}]}, "b": {}}})
    assert graph.fingerprint == load_graph("agents: {a: {can_call: [b]}, b: }").fingerprint


@pytest.mark.parametrize(
    ("agent_type", "kind"),
    [
        ("llm", "LLMNode"),
        ("programmatic", "FunctionNode"),
        ("external", "FunctionNode"),
        ("human", "HumanNode"),
    ],
)
def test_the_type_of_an_agent_is_the_kind_of_its_node(agent_type, kind):
    """And every field of that kind is one of the agent's."""
    assert spec(f"{{agent_type: {agent_type}}}").kind == kind
    assert spec(f"{{agent_type: {agent_type}, description: x}}").description == "x"


def test_an_agent_s_function_has_its_name_or_is_named():
    """As a FunctionNode's."""
    assert spec("{agent_type: external}").func is None
    assert spec("{agent_type: programmatic, func: agency.solve}").func == "agency.solve"


def test_every_field_of_an_llm_agent():
    """Each where the engine reads it."""
    found = spec(
        "{description: d, model: m, temperature: 0.1, max_tokens: 800, prompt: 'Hi {name}', "
        "inputs: {query: string, context: object}, communication_type: dual, tools: [], "
        "max_tool_calls_per_message: 5, enforce_yields: true, enforce_yields_retry: 3, "
        "auto_store_yields: true, auto_store_response: false, wait_for: other, "
        "wait_for_timeout: 60, parallel: true, max_concurrent: 3, yields: {x: number}}"
    )
    assert (found.description, found.model, found.temperature, found.max_tokens) == (
        *("d", "m"),
        *(0.1, 800),
    )
    assert (found.system, found.memory) == ("Hi {name}", "session")
    assert found.inputs == {"query": "string", "context": "object"}
    assert (found.communication_type, found.max_tool_calls_per_message) == ("dual", 5)
    assert (found.enforce_yields, found.enforce_yields_retry) == (True, 3)
    assert (found.auto_store_yields, found.auto_store_response) == (True, False)
    assert (found.wait_for, found.wait_for_timeout) == (("other",), 60)
    assert (found.parallel, found.max_concurrent) == (True, 3)


def test_every_field_of_a_human_agent():
    """The question, its deadline in seconds, and the answer when nobody gives one."""
    found = spec(
        "{agent_type: human, human_prompt_template: 'Pay {amount}?', human_timeout_seconds: 300, "
        "fallback_on_timeout: true, fallback_response: {paid: false}, yields: {paid: boolean}}"
    )
    assert (found.question, found.timeout, found.fallback) == (
        "Pay {amount}?",
        300,
        {"paid": False},
    )


@pytest.mark.parametrize(
    ("written", "timeout", "fallback"),
    [
        ("timeout: 5m, fallback: {x: 1}", 300, {"x": 1}),
        ("human_timeout_seconds: 60, fallback_response: {x: 1}", 60, {"x": 1}),
        ("fallback_on_timeout: false, fallback_response: {x: 1}", None, None),
        ("fallback_on_timeout: null, fallback_response: null", None, None),
        ("fallback_response: no", None, "no"),
    ],
)
def test_timeouts_and_fallbacks_of_a_person(written, timeout, fallback):
    """In LeafMesh's words and in ours; a fallback that is switched off is none."""
    found = spec(f"{{agent_type: human, {written}}}")
    assert (found.timeout, found.fallback) == (timeout, fallback)


@pytest.mark.parametrize(
    ("written", "memory", "warned"),
    [
        ("{}", "session", False),
        ("{memory: actor}", "actor", False),
        ("{memory: none}", "none", False),
        ("{memory: null}", "session", False),
        ("{memory: false}", "session", False),
        ("{memory: true}", "session", True),
        ("{memory: {strategy: hybrid, limit: 10}}", "session", True),
    ],
)
def test_an_agent_remembers_the_session_s_conversation(written, memory, warned):
    """Unless it says otherwise; LeafMesh's memory across sessions is named as not run."""
    graph = load_graph(f"agents: {{a: {written}}}")
    assert graph.nodes["a"].spec.memory == memory
    beyond = [p for p in graph.warnings if "beyond the session" in p.message]
    assert bool(beyond) == warned


@pytest.mark.parametrize("condition", ["", ", condition: always", ", condition: 'true'"])
def test_an_edge_that_is_always_followed(condition):
    """Its condition is left out, `always` or `true`."""
    graph = load_graph(f"agents: {{a: {{can_call: [{{agent: b{condition}}}]}}, b: {{}}}}")
    (edge,) = graph.nodes["a"].edges
    assert edge.target == "b"
    assert edge.condition is None or edge.condition.evaluate(View()).outcome == "fired"


def test_an_edge_may_be_bounded():
    """`max_visits`, in every notation of edges that is a mapping."""
    graph = load_graph(
        "agents:\n"
        "  a: {can_call: [{agent: b, max_visits: 2}, {agent: a, condition: always}]}\n"
        "  b: {edges: [{target: a, when: always, max_visits: 1}]}",
        start_node="a",
    )
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    assert [edge.max_visits for edge in edges] == [2, None, 1]
    unbounded = load_graph(
        "agents:\n"
        "  a: {can_call: [{agent: b}, {agent: a, condition: always}]}\n"
        "  b: {edges: [{target: a, when: always}]}",
        start_node="a",
    )
    assert unbounded.fingerprint != graph.fingerprint


def test_tools_of_an_agent_are_those_of_the_graph():
    """ToolNodes, or functions passed in code."""
    tools = [SuppliedTool("word_count")]
    graph = load_graph("agents: {a: {tools: [word_count]}}", supplied_tools=tools)
    assert graph.nodes["a"].tools == ("word_count",)
    (error,) = errors("agents: {a: {tools: [word_cuont]}}", supplied_tools=tools)
    assert "there is no tool 'word_cuont'; did you mean 'word_count'?" in error


def test_prompts_have_languages():
    """As any bundle."""
    text = "agents: {a: {prompt: {en: Hello, de: Hallo}}}"
    assert load_graph(text).nodes["a"].spec.system == "Hello"
    assert load_graph(text, language="de").nodes["a"].spec.system == "Hallo"


# ── together with other documents ────────────────────────────────────────────────────────────────


def test_a_folder_may_hold_a_mesh_and_liman_s_kinds(tmp_path):
    """They make one graph: edges lead from each to each, tools and accounts are shared."""
    (tmp_path / "mesh.yaml").write_text(
        "agents:\n"
        "  start: {tools: [look], can_call: [{agent: report}]}\n"
        "  boss: {agent_type: human, wait_for: report AND start, can_call: [Last]}\n"
        "entry_points: [{name: begin, target: start}]\n"
    )
    (tmp_path / "kinds.yaml").write_text(
        "{kind: ToolNode, name: look}\n---\n{kind: Node, name: report, edges: [boss]}\n---\n"
        "{kind: LLMNode, name: Last}\n---\n{kind: Overlay, to: 'LLMNode:start', edges: [boss]}\n"
    )
    graph = load_graph(tmp_path)
    assert {name: node.kind for name, node in graph.nodes.items()} == {
        "look": "ToolNode",
        "report": "FunctionNode",
        "Last": "LLMNode",
        "start": "LLMNode",
        "boss": "HumanNode",
    }
    assert graph.nodes["boss"].join.sources == ("report", "start")
    assert graph.nodes["start"].tools == ("look",)
    assert {e.target for e in graph.nodes["start"].edges} == {"report", "boss"}
    assert graph.nodes["Last"].spec.memory == "actor"
    assert graph.entry == "start"


def test_an_overlay_changes_an_agent():
    """In the words of its node: `to: LLMNode:solver`."""
    overlay = """
kind: Overlay
to: LLMNode:solver
model: other
memory: actor
prompts: {system: Solve.}
yields: {steps: [string]}
"""
    solver = load_graph([PAGE, overlay]).nodes["solver"]
    assert (solver.spec.model, solver.spec.memory, solver.spec.system) == (
        "other",
        "actor",
        "Solve.",
    )
    assert solver.yields.fields["steps"].items.kind == "string"


def test_an_agent_that_is_not_valid_is_not_missed_as_well():
    """What refers to it is not reported beside it."""
    (error,) = errors("agents: {a: {can_call: [b]}, b: {agent_type: robot}}\nentry_points: [b, a]")
    assert "agent_type" in error


def test_without_strictness_what_is_unknown_is_left_out():
    """In agents and beside them, with a warning for each."""
    text = "agents: {a: {modle: x}}\nentry_point: []\nmesh: {max_events: 1}\n"
    graph = load_graph(text, strict=False)
    assert [p.message for p in graph.warnings if "unknown" in p.message] == [
        "unknown field 'modle'",
        "unknown field 'entry_point'",
        "unknown field 'mesh.max_events'",
    ]
    with pytest.raises(SpecError):
        load_graph(f"{text}store: redis", strict=False)


# ── the graph as a whole ─────────────────────────────────────────────────────────────────────────

TWO = "agents: {a: {can_call: [b]}, b: {can_call: [a]}, c: {}}\n"


@pytest.mark.parametrize(
    ("entry_points", "start_node", "entry"),
    [
        ("[{name: begin, target: b}]", None, "b"),
        ("[b]", None, "b"),
        ("[LLMNode/b]", None, "b"),
        ("[{target: b, description: d, condition: always}]", None, "b"),
        ("[{name: one, target: b}, {name: two, target: b}]", None, "b"),
        ("[{name: one, target: b}, {name: two, target: c}]", "two", "c"),
        ("[{name: one, target: b}, {name: two, target: c}]", "a", "a"),
        ("[{name: a, target: b}]", "a", "a"),
        ("[]", "LLMNode/a", "a"),
    ],
)
def test_where_a_turn_starts(entry_points, start_node, entry):
    """At the node or entry point that is named, else at the only node of the entry points."""
    graph = load_graph(f"{TWO}entry_points: {entry_points}", start_node=start_node)
    assert graph.entry == entry


def test_several_entry_points_want_a_choice():
    """They are listed, and those that do not exist are told with the others."""
    (error,) = errors(f"{TWO}entry_points: [{{name: x, target: a}}, c]")
    assert error == (
        "a turn may start at several nodes: 'a', 'c'; pass start_node= with one of 'x', 'c'"
    )
    (error,) = errors(f"{TWO}entry_points: [{{name: begin, target: a}}]", start_node="begni")
    assert "did you mean 'begin'?" in error


def test_entry_points_of_several_documents_come_together():
    """And each counts for what can be reached."""
    graph = load_graph(
        ["agents: {a: {}}\nentry_points: [a]", "agents: {b: {}}\nentry_points: [{target: b}]"],
        start_node="a",
    )
    assert graph.entry_points == {"a": "a", "b": "b"}
    assert not [p for p in graph.warnings if "no way leads here" in p.message]
    with pytest.raises(TypeError):
        graph.entry_points["c"] = "c"


@pytest.mark.parametrize(
    ("texts", "bound"),
    [
        (["agents: {a: {}}"], None),
        (["agents: {a: {}}\nmesh:"], None),
        (["agents: {a: {}}\nmesh: {max_chain_events: 50}"], 50),
        (
            [f"agents: {{{n}: {{}}}}\nmesh: {{max_chain_events: {m}}}" for n, m in ("a9", "b7")],
            7,
        ),
    ],
)
def test_the_bound_of_node_runs(texts, bound):
    """`mesh.max_chain_events`; of several the lowest."""
    assert load_graph(texts, start_node="a").max_node_runs == bound


def test_the_fingerprint_tells_settings_apart():
    """Entry points and the bound are things that the specs say."""
    texts = ["", "entry_points: [a]", "entry_points: [{name: x, target: a}]"]
    texts += ["mesh: {max_chain_events: 50}", "mesh: {max_chain_events: 51}"]
    prints = {load_graph(f"agents: {{a: {{}}}}\n{text}").fingerprint for text in texts}
    assert len(prints) == len(texts)


# ── what is not run ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", sorted(DOCUMENT))
def test_a_platform_field_beside_the_agents_is_named(field):
    """One warning, at its place, whatever stands in it."""
    found = [str(p) for p in check_specs(f"agents: {{a: {{memory: none}}}}\n{field}: {{x: [1]}}")]
    assert found == [f"<specs>:2:1: {field} is loaded but not run: {DOCUMENT[field]}"]


@pytest.mark.parametrize("field", sorted(MESH))
def test_a_platform_field_of_the_mesh_block_is_named(field):
    """With its path."""
    (found,) = check_specs(f"agents: {{a: {{memory: none}}}}\nmesh: {{{field}: 1}}")
    assert found.message == f"mesh.{field} is loaded but not run: {MESH[field]}"


@pytest.mark.parametrize("agent_type", sorted(AGENT_TYPES))
@pytest.mark.parametrize("field", sorted(AGENT))
def test_a_platform_field_of_an_agent_is_named(field, agent_type):
    """One warning for an agent of any type, unless its node has a field of that name."""
    kind = AGENT_TYPES[agent_type]
    if field in MODELS[kind].model_fields:
        return
    found = check_specs(f"agents:\n  a:\n    agent_type: {agent_type}\n    {field}: {{x: 1}}\n")
    named = [str(p) for p in found if "not run:" in p.message]
    assert named == [f"<specs>:4:5: {kind} a: {field} is loaded but not run: {AGENT[field]}"]
    assert not [p for p in found if p.level == "error"]


# ── in general ───────────────────────────────────────────────────────────────────────────────────

WORDS = st.text("abc {}", max_size=6)
LLM_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "description": WORDS,
        "model": st.sampled_from(["m", "gpt-4o-mini"]),
        "temperature": st.floats(0, 2),
        "max_tokens": st.integers(1, 900),
        "prompt": WORDS,
        "yields": st.just({"x": "number", "y": ["string"]}),
        "inputs": st.just({"query": "string"}),
        "memory": st.sampled_from(["actor", "session", "none"]),
        "enforce_yields": st.booleans(),
        "enforce_yields_retry": st.integers(0, 3),
        "max_tool_calls_per_message": st.integers(0, 20),
        "parallel": st.booleans(),
        "max_concurrent": st.integers(1, 4),
        "communication_type": st.sampled_from(["dual", "chain", "execute"]),
    },
)
HUMAN_FIELDS = st.fixed_dictionaries(
    {"agent_type": st.just("human")},
    optional={
        "description": WORDS,
        "human_prompt_template": WORDS,
        "human_timeout_seconds": st.integers(1, 3_600),
        "fallback_response": st.just({"x": 1}),
        "yields": st.just({"x": "number"}),
    },
)
FUNCTION_FIELDS = st.fixed_dictionaries(
    {"agent_type": st.sampled_from(["programmatic", "external"])},
    optional={"func": st.just("f"), "timeout": st.integers(1, 9), "retry": st.integers(1, 3)},
)
NAMES = ["a", "b", "c"]
EDGES = st.lists(
    st.fixed_dictionaries(
        {"agent": st.sampled_from(NAMES)},
        optional={
            "condition": st.sampled_from(["x > 1", "always", "not x"]),
            "max_visits": st.integers(1, 3),
        },
    ),
    max_size=3,
)


def by_hand(name: str, agent: dict) -> dict:
    """An agent as one writes its node."""
    kind = AGENT_TYPES[agent.get("agent_type", "llm")]
    document = {SPELLINGS[kind].get(k, k): v for k, v in agent.items() if k != "agent_type"}
    if kind == "LLMNode":
        document.setdefault("memory", "session")
        if "prompts" in document:
            document["prompts"] = {"system": document["prompts"]}
    edges = [
        {{"agent": "target", "condition": "when"}.get(k, k): v for k, v in edge.items()}
        for edge in document.pop("can_call")
    ]
    return {"kind": kind, "name": name, **document, "edges": edges}


@given(st.data())
def test_a_mesh_and_documents_written_by_hand_are_one_graph(data):
    """Whatever the agents say; only the places differ."""
    agents = {
        name: {
            **data.draw(st.one_of(LLM_FIELDS, HUMAN_FIELDS, FUNCTION_FIELDS)),
            "can_call": data.draw(EDGES),
        }
        for name in NAMES
    }
    mesh = load_graph({"agents": agents}, start_node="a")
    kinds = load_graph([by_hand(n, agent) for n, agent in agents.items()], start_node="a")
    assert said(mesh) == said(kinds)
    assert mesh.fingerprint == kinds.fingerprint
    listed = [{"name": name, **agent} for name, agent in agents.items()]
    assert load_graph({"agents": listed}, start_node="a").fingerprint == mesh.fingerprint


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.text(max_size=3) | st.sampled_from(NAMES),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "target", "agent_type", "prompt", "memory", "can_call", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["entry_points", "mesh", "name", "store", "x"]), VALUES),
    VALUES | st.dictionaries(st.sampled_from(NAMES), VALUES),
)
def test_any_mesh_document_is_checked_without_an_exception(beside, agents):
    """Whatever stands in it."""
    assert all(p.message for p in check_specs([{"agents": agents, **beside}]))


def test_documents_tell_what_a_mesh_says():
    """Reading and linking may be done in two steps."""
    documents = load_specs("agents: {a: {}}\nentry_points: [{name: x, target: a}]")
    (point,) = documents.mesh.entry_points
    assert (point.name, str(point.target), point.place) == ("x", "a", Place("<specs>", 2, 16))
