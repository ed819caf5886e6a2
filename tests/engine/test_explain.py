"""Why each edge of a node fired, did not, or could not be decided, read off what is stored."""

from __future__ import annotations

import pytest
from four_methods import FourMethods

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, Suspend, call
from liman_nb.engine.explain import Explanation, explained
from liman_nb.engine.loading import load_tree
from liman_nb.errors import TurnFailed

DESK = """
kind: LLMNode
name: triage
tools: [look]
yields: {urgency: integer, risk?: string}
retry: {attempts: 1}
edges:
  - {target: page, when: urgency >= 4}
  - {target: file, when: urgency < 4}
  - {target: audit, when: risk == 'high'}
  - {target: page, when: "context.tier == 'gold' and urgency > 1"}
  - {target: oops, when: "$is_error('ModelError', 'ValueError')"}
---
{kind: ToolNode, name: look}
---
kind: HumanNode
name: page
question: "Call now?"
yields: {yes: boolean}
edges: [{target: file, when: not yes}]
---
{kind: LLMNode, name: file}
---
{kind: LLMNode, name: audit}
---
{kind: LLMNode, name: oops}
"""


def look(what: str) -> str:
    """Look something up."""
    return what


@pytest.fixture(params=[InMemoryStateStorage, FourMethods])
def storage(request):
    """With a journal, and with only Liman's four methods."""
    return request.param()


def agent(storage, script, specs=DESK, start="triage", **more) -> Agent:
    """An agent with a session `s`."""
    return Agent(
        specs,
        llm=ScriptedLLM(script),
        state_storage=storage,
        name="test",
        session_id="s",
        start_node=start,
        **more,
    )


async def why(agent: Agent, node: str, **more) -> Explanation:
    """The explanation of what is stored."""
    sessions = agent._workshop.sessions
    tree = await load_tree(agent.state_storage, sessions.root_of("s"), "s")
    return explained(agent._workshop.graph, tree, node, **more)


def outcomes(edges) -> list[tuple[str, str]]:
    """Target and outcome of each edge."""
    return [(edge.target, edge.outcome) for edge in edges]


async def test_each_edge_is_explained_with_its_values(storage):
    """Fired, not fired, undecided; the condition as written, and with what it read."""
    desk = agent(storage, {"triage": [{"urgency": 2}], "file": ["filed"]}, tools=[look])
    await desk.step("x", context={"tier": "new-secret"})
    (run,) = (await why(desk, "triage")).runs
    assert run.state == "ran to its end"
    assert outcomes(run.edges) == [
        ("page", "not fired"),
        ("file", "fired"),
        ("audit", "undecided"),
        ("page", "not fired"),
        ("oops", "not fired"),
    ]
    page, filed, audit, gold, _ = run.edges
    assert (page.condition, page.filled) == ("urgency >= 4", "2 >= 4")
    assert str(filed) == "triage → file fired: urgency = 2 is below 4"
    assert str(audit).startswith(
        "triage → audit could not be decided, so it did not fire: risk is missing"
    )
    assert audit.filled == ""
    assert gold.from_context == ("context.tier",)
    assert "secret" not in str(gold) + gold.filled


async def test_after_a_failure_only_conditions_on_errors_are_considered(storage):
    """The others say that they were not, and why."""
    desk = agent(storage, {"triage": [ValueError("boom")], "oops": ["sorry"]}, tools=[look])
    await desk.step("x")
    (run,) = (await why(desk, "triage")).runs
    assert run.state == "failed: ValueError: boom"
    assert outcomes(run.edges)[:2] == [("oops", "fired"), ("page", "not considered")]
    assert run.edges[1].why == (
        "triage failed: ValueError: boom; only conditions with $is_error are considered after "
        "a failure"
    )


async def test_a_node_that_waits_for_a_person_has_considered_nothing(storage):
    """The question is named."""
    desk = agent(storage, {"triage": [{"urgency": 5}]}, tools=[look])
    await desk.step("x", context={})
    (run,) = (await why(desk, "page")).runs
    assert run.state == "waits for a person: Call now?"
    (edge,) = run.edges
    assert (edge.outcome, edge.condition) == ("not considered", "not yes")
    assert edge.why == "page waits for a person: Call now?"


async def test_a_node_that_did_not_run_is_explained_by_the_edges_that_lead_to_it(storage):
    """Each with its outcome; a tool by the model that may call it."""
    desk = agent(storage, {"triage": [{"urgency": 2}], "file": ["filed"]}, tools=[look])
    await desk.step("x", context={"tier": "new"})
    audit = await why(desk, "audit")
    assert audit.runs == ()
    assert [str(edge)[:36] for edge in audit.towards] == ["triage → audit could not be decided,"]
    (tool,) = (await why(desk, "look")).towards
    assert str(tool) == "triage → look was not considered: its model did not call it"
    towards_file = await why(desk, "file")
    assert towards_file.towards == ()
    (page_to_file,) = [
        e for e in (await why(desk, "page")).towards if e.condition == "urgency >= 4"
    ]
    assert page_to_file.outcome == "not fired"


async def test_every_run_of_the_turn_is_explained_and_no_other(storage):
    """The latest turn, or the one that is asked for."""
    script = {"triage": [{"urgency": 2}, {"urgency": 3}], "file": ["one", "two"]}
    desk = agent(storage, script, tools=[look])
    await desk.step("x", context={"tier": "a"})
    await desk.step("y", context={"tier": "a"})
    latest, first = await why(desk, "triage"), await why(desk, "triage", turn=1)
    assert (latest.turn, first.turn) == (2, 1)
    assert latest.runs[0].edges[1].filled == "3 < 4"
    assert first.runs[0].edges[1].filled == "2 < 4"


async def test_a_model_that_waits_for_its_tools_says_which(storage):
    """Nothing was considered yet; after the turn is given up, that it never will be."""

    def look(what: str) -> str:
        """Look something up."""
        raise Suspend("May I?")

    desk = agent(storage, {"triage": [[call("look", what="x")]]}, tools=[look])
    await desk.step("x")
    (run,) = (await why(desk, "triage")).runs
    assert run.state == "waits for its tools: look"
    assert {edge.outcome for edge in run.edges} == {"not considered"}

    await desk.abandon()
    (run,) = (await why(desk, "triage")).runs
    assert run.state == "was cancelled: given up by the caller"
    assert {edge.why for edge in run.edges} == {f"triage {run.state}"}


async def test_a_turn_that_failed_before_a_node_leaves_its_edges_unconsidered(storage):
    """Its source did not run."""
    desk = agent(storage, {"triage": [KeyError("k")]}, tools=[look])
    with pytest.raises(TurnFailed):
        await desk.step("x")
    (edge, *_) = [e for e in (await why(desk, "file")).towards if e.source == "page"]
    assert str(edge) == "page → file was not considered: page did not run"


async def test_a_condition_that_is_a_function_is_explained_by_what_it_returned(storage):
    """There are no values to put in."""
    specs = "{kind: LLMNode, name: a, edges: [{target: b, when: is_long}]}\n---\n"
    specs += "{kind: LLMNode, name: b}"

    def is_long(view) -> bool:
        """Whether the output is long."""
        return len(view.output) > 100

    one = agent(storage, ["short"], specs, "a", functions=[is_long])
    await one.step("x")
    ((edge,),) = [run.edges for run in (await why(one, "a")).runs]
    assert (edge.filled, edge.why) == ("", "is_long returned false")


async def test_an_edge_that_the_specs_got_later_was_not_considered(storage):
    """And one that they have lost is explained as it was."""
    specs = "{{kind: LLMNode, name: a, edges: [{{target: {}, id: {}}}]}}\n---\n"
    specs += "{{kind: LLMNode, name: b}}\n---\n{{kind: LLMNode, name: c}}"
    one = agent(storage, ["x", "y"], specs.format("b", "first"), "a")
    await one.step("x")
    two = agent(storage, [], specs.format("c", "second"), "a")
    ((old, new),) = [run.edges for run in (await why(two, "a")).runs]
    assert (old.target, old.outcome, old.why) == ("b", "fired", "it has no condition")
    assert (new.target, new.outcome) == ("c", "not considered")
    assert new.why == "the specs did not have it when the node ran"


# ── joins ────────────────────────────────────────────────────────────────────────────────────────

JOIN = """
{kind: LLMNode, name: start, edges: [a, {target: b, when: "output != 'alone'"}]}
---
{kind: LLMNode, name: a, edges: [{target: sum, when: "output != 'silent'"}]}
---
{kind: LLMNode, name: b, edges: [{target: sum, when: "output == 'go'"}]}
---
{kind: LLMNode, name: sum, wait_for: [a, b]}
"""


async def joined(storage, start: str, a: str, b: str) -> Agent:
    """A turn of the joining graph."""
    script = {"start": [start], "a": [a], "b": [b], "sum": ["2"]}
    one = agent(storage, script, JOIN, "start")
    await one.step("x")
    return one


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (("x", "1", "go"), "sum waits for a and b: started; arrived: a, b"),
        (("x", "1", "no"), "sum waits for a and b: halted; arrived: a; can no longer arrive: b"),
        (("alone", "1", ""), "sum waits for a and b: halted; arrived: a; can no longer arrive: b"),
        (("x", "silent", "no"), "sum waits for a and b: nothing arrived"),
    ],
)
async def test_of_a_join_it_is_said_what_arrived_and_what_is_gone(storage, said, sentence):
    """Of the node that joins, and of each node that it waits for."""
    one = await joined(storage, *said)
    for node in ("sum", "a", "b"):
        assert [str(join) for join in (await why(one, node)).joins] == [sentence]
    assert (await why(one, "start")).joins == ()


async def test_a_join_that_waits_says_what_may_still_arrive(storage):
    """While a person is asked on one of the branches."""
    specs = (
        JOIN.replace("{kind: LLMNode, name: b,", '{kind: HumanNode, name: b, question: "Go?",')
        .replace("when: \"output == 'go'\"", "when: yes")
        .replace('question: "Go?",', 'question: "Go?", yields: {yes: boolean},')
    )
    one = agent(storage, {"start": ["x"], "a": ["1"]}, specs, "start")
    await one.step("x")
    (join,) = (await why(one, "sum")).joins
    assert str(join) == "sum waits for a and b: waits; arrived: a; may still arrive: b"


async def test_before_the_first_turn_there_is_nothing_to_explain(storage):
    """No turn, no run."""
    assert await why(agent(storage, [], tools=[look]), "triage") == Explanation("s", "triage", 0)
