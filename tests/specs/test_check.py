"""What `check` says about specs that load: warnings, and what has no effect yet."""

from __future__ import annotations

import pytest

from liman_nb.specs import SuppliedTool, check_specs, load_graph
from liman_nb.specs.documents import MODELS
from liman_nb.specs.not_run import TABLE

A = "kind: LLMNode\nname: a\n"
TOOL = "kind: ToolNode\nname: t\n"
YIELDS = (
    "kind: LLMNode\nname: a\nyields: {mood: string, order: {type: object, fields: {id: integer}}}\n"
)


def warnings(*documents: str, **supplied) -> list[str]:
    """What is said about specs that must load."""
    problems = check_specs("---\n".join(documents), **supplied)
    assert [p for p in problems if p.level == "error"] == []
    return [str(p) for p in problems]


def test_nothing_to_say():
    """A spec as it should be."""
    assert warnings(f"{A}tools: [t]\n", TOOL) == []


@pytest.mark.parametrize(
    "condition",
    [
        "mood == 'x'",
        "order.id > 1",
        "output.mood == 'x'",
        "yields.order.id > 1",
        "calling_agent_response.mood == 'x'",
        "output == null",
        "context.tier == 'gold'",
        "input.x == 1",
        "session.turn > 1",
        "state.count > 1",
        "$is_error('ValueError')",
        "$now() > '2024'",
        "always",
        "context.rules.is_late",
    ],
)
def test_names_that_are_provided(condition):
    """Yields, bare or by prefix, and everything that says where it is."""
    assert warnings(f'{YIELDS}to: [{{ref: a, when: "{condition}"}}]\n') == []


def test_the_names_of_a_function_are_its_own():
    """A FunctionNode without yields may give any mapping."""
    assert warnings("kind: Node\nname: a\nto: [{ref: a, when: anything > 1}]\n") == []


def test_a_provider_given_in_code():
    """A function of its name is one, as Liman registers providers in code."""
    text = f"{A}auth: {{service_account: {{credentials_provider: gcp}}}}\n"
    assert warnings(text, supplied_functions=["gcp"]) == []
    graph = load_graph(text, supplied_functions=["gcp"])
    assert graph.credentials_providers["gcp"].func == "gcp"


def test_a_tool_given_in_code_that_no_node_lists():
    """The model would never see it."""
    assert warnings(A, supplied_tools=[SuppliedTool("f")]) == [
        "no LLMNode lists the tool 'f'; add 'tools: [f]' to one"
    ]
    assert warnings(f"{A}tools: f\n", supplied_tools=[SuppliedTool("f")]) == []


def test_a_tool_given_in_code_as_the_function_of_a_tool_node():
    """It is used under the node's name."""
    tools = [SuppliedTool("f")]
    assert warnings(f"{A}tools: t\n", f"{TOOL}func: f\n", supplied_tools=tools) == []


def test_a_tool_that_an_edge_leads_to_is_used():
    """With the output as its arguments."""
    assert warnings(f"{A}to: t\n", TOOL) == []


def test_warnings_come_with_the_graph_too():
    """As problems, for whoever shows them."""
    graph = load_graph(f"{A}---\n{TOOL}")
    assert [w.level for w in graph.warnings] == ["warning"]


# ── what has no effect yet ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        f"{A}memory: actor\n",
        f"{A}memory: none\n",
        f"{A}wait_for:\n",
        f"{A}tools: t\n---\n{TOOL}approval: false\non_crash: retry\n",
    ],
)
def test_values_that_do_have_their_effect(text):
    """Such as a default written out."""
    assert warnings(text) == []


def test_the_table_names_fields_that_exist():
    """Each is a field of its kind, or is marked as foreign."""
    for entry in TABLE:
        for kind in entry.kinds:
            fields = MODELS[kind].model_fields
            assert not entry.field or (entry.field in fields) != entry.foreign
