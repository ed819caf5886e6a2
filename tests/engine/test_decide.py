"""What runs next is a function of the graph and the stored tree, without an event loop."""

import pytest

from liman_nb.engine.apply import apply
from liman_nb.engine.bounds import Bounds
from liman_nb.engine.decide import RunResult, cancel_row, ended_row, exceeded, runnable, turn_row
from liman_nb.engine.ids import root_id, turn_id
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.tree import UNKNOWN_TOOL, Tree
from liman_nb.errors import EngineError
from liman_nb.specs.check import load_graph
from liman_nb.state.rows import CallRecord, ErrorRecord, QuestionRecord, TransitionRecord

NOW = "2026-01-01T00:00:00.000Z"
ROOT = root_id("", "test", "s")
FIRST = turn_id(ROOT, 1)
SPECS = """
kind: LLMNode
name: chat
tools: [add]
edges: [log, {target: chat, when: again, id: loop}]
---
kind: ToolNode
name: add
func: add
---
kind: FunctionNode
name: log
func: log
"""


@pytest.fixture(scope="module")
def graph():
    """An LLM with a tool, a function behind it, and a loop."""
    return load_graph(SPECS, start_node="chat", supplied_functions=["add", "log"])


def started(graph, value="hi") -> Tree:
    """A session whose first turn has started."""
    tree = Tree("s", ROOT)
    apply(tree, turn_row(graph, tree, "chat", value, NOW, context_keys=["b", "a"]))
    return tree


def run(graph, tree: Tree, executor: str, **result):
    """Apply what a run came to; its row."""
    row = ended_row(graph, Joins(graph), tree, tree.executors[executor], RunResult(**result), NOW)
    apply(tree, row)
    return row


def fired(target: str, edge: str | None = None) -> TransitionRecord:
    """An edge that fired."""
    return TransitionRecord(edge=edge or f"to {target}", target=target)


def calls(*names: str) -> tuple[CallRecord, ...]:
    """Tool calls."""
    return tuple(CallRecord(id=f"c{i}", name=name) for i, name in enumerate(names))


def test_a_turn_s_row_has_the_names_of_the_context_keys_and_nothing_of_their_values(graph):
    """Context is not state."""
    row = turn_row(graph, Tree("s", ROOT), "chat", "hi", NOW, context_keys=["user_id", "org_id"])
    assert row.context_keys == ("org_id", "user_id")
    assert row.graph == graph.fingerprint
    assert (row.turn, row.node, row.node_type) == (1, "chat", "LLMNode")


def test_a_turn_cannot_start_on_an_open_one(graph):
    """The last turn must have ended."""
    tree = started(graph)
    with pytest.raises(EngineError, match="turn 1 has not ended"):
        turn_row(graph, tree, "chat", "hi", NOW, context_keys=[])
    apply(tree, cancel_row("given up", NOW))
    assert turn_row(graph, tree, "chat", "hi", NOW, context_keys=[]).turn == 2


def test_every_edge_that_fired_starts_a_child(graph):
    """Those that did not fire start none."""
    tree = started(graph)
    quiet = TransitionRecord(edge="loop", target="chat", outcome="undecided")
    row = run(graph, tree, FIRST, output="x", transitions=(fired("log"), quiet))
    assert [(c.node, c.node_type) for c in row.children] == [("log", "FunctionNode")]


def test_tool_calls_start_children_and_no_edge_is_considered_yet(graph):
    """Each call is a child; one of a tool that the node does not list is an unknown tool."""
    row = run(graph, started(graph), FIRST, calls=calls("add", "log", "nope"))
    assert [(c.via, c.node, c.node_type) for c in row.children] == [
        ("0:c0", "add", "ToolNode"),
        ("1:c1", "log", UNKNOWN_TOOL),
        ("2:c2", "nope", UNKNOWN_TOOL),
    ]


def test_what_may_run_comes_in_creation_order_and_within_the_limit(graph):
    """Calls of one reply run side by side, as many as the bound allows."""
    tree = started(graph)
    run(graph, tree, FIRST, calls=calls("add", "add", "add"))
    children = tree.executors[FIRST].children
    assert runnable(tree, {"chat"}, [], 16) == children
    assert runnable(tree, {"chat"}, [], 2) == children[:2]
    assert runnable(tree, {"chat"}, children[:1], 2) == children[1:2]
    assert runnable(tree, {"chat"}, children[:2], 2) == []


def test_an_exclusive_node_takes_one_run_at_a_time(graph):
    """Two branches that reach one LLM ask it one after the other."""
    tree = started(graph)
    run(graph, tree, FIRST, output="x", transitions=(fired("chat", "a"), fired("chat", "b")))
    first, second = tree.executors[FIRST].children
    assert runnable(tree, {"chat"}, [], 16) == [first]
    assert runnable(tree, {"chat"}, [first], 16) == []
    assert runnable(tree, set(), [first], 16) == [second]


def test_an_llm_with_unanswered_calls_keeps_its_actor(graph):
    """Nobody else speaks into an exchange that is not finished."""
    tree = started(graph)
    run(graph, tree, FIRST, output="x", transitions=(fired("chat", "a"), fired("chat", "b")))
    first, second = tree.executors[FIRST].children
    run(graph, tree, first, calls=calls("add"))
    (tool,) = tree.executors[first].children
    assert runnable(tree, {"chat"}, [], 16) == [tool]
    run(graph, tree, tool, output=1)
    assert runnable(tree, {"chat"}, [], 16) == [first]
    run(graph, tree, first, output="done")
    assert runnable(tree, {"chat"}, [], 16) == [second]


def test_a_call_that_names_an_exclusive_node_cannot_block_it(graph):
    """A model that calls its own node's name as a tool is answered, not deadlocked."""
    tree = started(graph)
    run(graph, tree, FIRST, calls=calls("chat"))
    (tool,) = tree.executors[FIRST].children
    assert runnable(tree, {"chat"}, [], 16) == [tool]


def test_the_bound_of_node_runs_counts_those_under_way(graph):
    """The run that would be one too many is refused by name."""
    tree = started(graph)
    executor = tree.executors[FIRST]
    assert exceeded(tree, executor, Bounds(node_runs=3), under_way=2) is None
    error = exceeded(tree, executor, Bounds(node_runs=3), under_way=3)
    assert error is not None
    assert (error.bound, error.limit) == ("node_runs", 3)
    assert "node_runs=3" in str(error)
    assert "session 's'" in str(error)


def test_the_bound_of_model_calls_is_per_node(graph):
    """A loop through one LLM ends at its bound; the message says how to raise it."""
    tree, at = started(graph), FIRST
    bounds = Bounds(llm_calls_per_node=3)
    for _ in range(3):
        assert exceeded(tree, tree.executors[at], bounds, 0) is None
        run(graph, tree, at, output="x", transitions=(fired("chat", "loop"),))
        at = tree.executors[at].children[-1]
    error = exceeded(tree, tree.executors[at], bounds, 0)
    assert error is not None
    assert error.bound == "llm_calls_per_node"
    assert "Agent(bounds=Bounds(llm_calls_per_node=…))" in str(error)


def test_the_bound_of_depth_counts_executors_below_each_other(graph):
    """A chain is cut where it becomes too deep."""
    tree, at = started(graph), FIRST
    for _ in range(2):
        run(graph, tree, at, output="x", transitions=(fired("chat", "loop"),))
        at = tree.executors[at].children[-1]
    assert exceeded(tree, tree.executors[at], Bounds(depth=3), 0) is None
    error = exceeded(tree, tree.executors[at], Bounds(depth=2), 0)
    assert error is not None
    assert error.bound == "depth"


def test_a_run_that_asks_makes_a_question_s_row(graph):
    """With what it noted; it does not run again before the answer."""
    tree = started(graph)
    question = QuestionRecord(kind="function", text="?")
    row = run(graph, tree, FIRST, question=question, state={"n": 1})
    assert (row.kind, row.question, row.state) == ("ask", question, {"n": 1})
    assert runnable(tree, {"chat"}, [], 16) == []


def test_an_executor_that_asks_does_not_hold_its_actor(graph):
    """Another one of the same node may run meanwhile."""
    tree = started(graph)
    run(graph, tree, FIRST, output="x", transitions=(fired("log", "a"), fired("log", "b")))
    first, second = tree.executors[FIRST].children
    assert runnable(tree, {"log"}, [], 16) == [first]
    run(graph, tree, first, question=QuestionRecord(kind="function", text="?"))
    assert runnable(tree, {"log"}, [], 16) == [second]


@pytest.mark.parametrize("field", ["node_runs", "llm_calls_per_node", "depth", "concurrent"])
def test_a_bound_of_nothing_is_refused(field):
    """A bound that allows nothing is a mistake."""
    with pytest.raises(ValueError, match=f"Bounds.{field} must be at least 1"):
        Bounds(**{field: 0})


def test_a_failed_run_without_a_reaction_has_no_children(graph):
    """An error alone starts nothing."""
    row = run(graph, started(graph), FIRST, error=ErrorRecord(type="E", message="m"))
    assert row.children == ()
