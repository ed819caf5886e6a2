"""Which status is shown of nodes and edges: those of the latest turn, by their own runs."""

from __future__ import annotations

from view_examples import Play, refund_asked, refund_done, refund_graph, refund_play

from liman_nb.specs import load_graph
from liman_nb.views.graph_model import graph_model
from liman_nb.views.statuses import executor_status, session_status

LOOP = """
kind: LLMNode
name: chat
tools: [look]
nodes: [{target: chat, when: again}, {target: last, when: done}]
---
kind: ToolNode
name: look
description: Look something up.
func: look
---
kind: FunctionNode
name: last
func: last
"""


def loop() -> Play:
    """A session of a node that calls a tool and leads to itself."""
    return Play(load_graph(LOOP, start_node="chat", supplied_functions=["look", "last"]))


def statuses(play: Play, running: frozenset[str] = frozenset()) -> dict[str, str | None]:
    """The status of each node."""
    model = graph_model(play.graph, play.tree, running)
    return {node.name: node.status for node in model.nodes}


def outcomes(play: Play) -> list[str | None]:
    """The outcome of each edge, tool links left out."""
    edges = graph_model(play.graph, play.tree).edges
    return [edge.outcome for edge in edges if not edge.is_call]


def test_a_graph_alone_has_no_statuses():
    """Without a session, or before its first turn, nothing is coloured."""
    graph = refund_graph()

    for model in (graph_model(graph), graph_model(graph, Play(graph).tree)):
        assert not model.has_session
        assert {node.status for node in model.nodes} == {None}
        assert {edge.outcome for edge in model.edges} == {None}


def test_kinds_the_entry_and_tool_links_are_taken_from_the_specs():
    """Every edge of the specs and one link per tool, in order."""
    graph = refund_graph()
    model = graph_model(graph)

    assert [node.name for node in model.nodes] == list(graph.nodes)
    assert [node.kind for node in model.nodes[:3]] == ["function", "LLM", "tool"]
    assert [node.name for node in model.nodes if node.is_entry] == ["intake"]
    links = [edge for edge in model.edges if edge.is_call]
    assert [(model.nodes[e.source].name, model.nodes[e.target].name) for e in links] == [
        ("triage", "get_order")
    ]
    edges = sum(len(node.edges) for node in graph.nodes.values())
    assert len(model.edges) == edges + 1


def test_a_node_is_done_as_soon_as_its_run_is_committed():
    """Its executor is suspended until its children end; the node has nothing left to do."""
    play = refund_play()

    assert play.tree.executors[play.tree.turns[0].executor].status == "suspended"
    assert statuses(play) == {
        "intake": "done",
        "triage": "done",
        "get_order": "done",
        "policy": "done",
        "research": "done",
        "merge": "done",
        "draft": "done",
        "approve": "waiting",
        "send": "waiting",
    }


def test_a_running_executor_makes_its_node_run():
    """Whoever runs it says so."""
    play = refund_play()

    assert statuses(play, frozenset(play.tree.idle))["approve"] == "running"


def test_who_asks_a_person_needs_you():
    """The node, its executor and the session; not those above it, nor after the answer."""
    play = refund_asked()
    (asking,) = play.tree.asking

    assert statuses(play)["approve"] == "needs you"
    assert statuses(play)["draft"] == "done"
    assert executor_status(play.tree.executors[asking]) == "needs you"
    assert executor_status(play.tree.executors[play.tree.root]) == "suspended"
    assert session_status(play.tree) == "needs you"
    play.answer("approve", {"approved": True})
    assert statuses(play)["approve"] == "waiting"
    assert session_status(play.tree) == "suspended"
    assert session_status(refund_asked().cancel("enough").tree) == "cancelled"


def test_what_runs_is_running_whatever_it_left_to_ask():
    """A tool that is marked ``on_crash: ask`` stores its question before its call."""
    play = refund_play().ask("approve", "What now?", {}, kind="crash")
    running = frozenset(play.tree.asking)

    assert statuses(play, running)["approve"] == "running"
    assert session_status(play.tree, running) == "running"
    assert statuses(play)["approve"] == "needs you"


def test_a_model_that_waits_for_its_tools_is_suspended():
    """Its output is still to come."""
    play = loop().turn("hi")
    play.calls("chat", None, ("c1", "look", "{}"), ("c2", "look", "{}"))

    assert statuses(play) == {"chat": "suspended", "look": "waiting", "last": "waiting"}
    play.run("look", 1)
    assert statuses(play)["look"] == "waiting"
    play.run("look", 2)
    assert statuses(play) == {"chat": "waiting", "look": "done", "last": "waiting"}


def test_nodes_that_a_finished_turn_left_out_are_skipped():
    """Waiting means that something may still come."""
    play = (
        loop()
        .turn("hi")
        .run("chat", "bye", ("chat", "not fired", {}, ""), ("last", "not fired", {}, ""))
    )

    assert statuses(play) == {"chat": "done", "look": "skipped", "last": "skipped"}


def test_a_failed_run_fails_its_node_and_not_those_before_it():
    """The ancestors' own runs were fine."""
    play = loop().turn("hi")
    play.run("chat", "on", ("chat", "not fired", {}, ""), ("last", "fired", {}, ""))
    play.run("last", error=("ValueError", "no"))

    assert play.tree.status == "failed"
    assert statuses(play) == {"chat": "done", "look": "skipped", "last": "failed"}


def test_a_cancelled_turn_cancels_what_had_not_run():
    """What was committed stays done."""
    play = refund_play().cancel("stopped")

    assert statuses(play)["draft"] == "done"
    assert statuses(play)["approve"] == "cancelled"
    assert statuses(play)["send"] == "skipped"


def test_the_last_run_of_a_loop_decides():
    """A node that failed once and then did not is done."""
    play = loop().turn("hi")
    play.run(
        "chat", None, ("chat", "fired", {}, ""), ("last", "undecided", {}, ""), error=("E", "x")
    )
    assert statuses(play)["chat"] == "waiting"
    play.run("chat", "fine", ("chat", "not fired", {}, ""), ("last", "not fired", {}, ""))

    assert statuses(play)["chat"] == "done"
    assert outcomes(play) == ["not fired", "not fired"]


def test_edges_show_their_outcome_in_the_latest_turn():
    """Fired, not fired, undecided, and those that were not considered."""
    assert outcomes(refund_done())[:4] == ["fired", "fired", "fired", "not fired"]
    assert outcomes(refund_play())[-5:] == [
        "fired",
        "undecided",
        "not fired",
        "not considered",
        "not considered",
    ]


def test_a_new_turn_starts_uncoloured():
    """Yesterday's way is not today's."""
    play = refund_done().turn("And now?")

    assert set(statuses(play).values()) == {"waiting"}
    assert set(outcomes(play)) == {"not considered"}
