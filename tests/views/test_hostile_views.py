"""Hostile texts in every field come out as text in every view, and never as anything else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hostile_texts import ENDLESS, HOSTILE, NEVER_SHOWN
from html_check import problems, text_of

from liman_nb.engine.explain import explained
from liman_nb.engine.pending import open_questions
from liman_nb.engine.records import records_of
from liman_nb.engine.tree import Executor, Join, NodeActor, Tree, Turn
from liman_nb.specs.graph import Edge, Graph, Node
from liman_nb.state.rows import (
    AnswerRecord,
    ErrorRecord,
    LineageRecord,
    QuestionRecord,
    TransitionRecord,
)
from liman_nb.views import (
    AgentView,
    ExplanationView,
    GraphView,
    HistoryView,
    MessagesView,
    PendingView,
    ResultView,
    SessionRow,
    SessionsView,
    SessionView,
    TransitionsView,
    TreeView,
    View,
    YieldsView,
)
from liman_nb.views.escape import one_line

ASKS = "0f4b8a52-6a55-5f0e-9d43-0b0c5a6f7d11"
"""Id of the executor that asks a person."""
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Written:
    """A condition that was never parsed: only its text is shown."""

    text: str


def hostile_graph(text: str) -> Graph:
    """Two nodes whose names and conditions are the text, a loop and a tool among them."""
    first, second = text, f"{text}2"
    edges = (
        Edge(text, first, second, Written(text or "x")),
        Edge("loop", first, first, Written(text or "x")),
    )
    nodes = {
        first: Node(first, "LLMNode", None, edges, tools=(second,), yields=object()),
        second: Node(second, text, None),
    }
    return Graph(nodes, entry=first)


def hostile_tree(text: str) -> Tree:
    """A session that is made of the text."""
    first, second = text, f"{text}2"
    transition = TransitionRecord(
        edge=text,
        target=second,
        condition=text,
        values={text: text, "deep": [{text: text}]},
        from_context=(text,),
        reason=text,
    )
    error = ErrorRecord(type=text, message=text, where=text)
    root = Executor("root", first, text, status="failed", children=["turn"])
    turn = Executor(
        "turn",
        first,
        text,
        parent="root",
        turn=1,
        runs=1,
        status="failed",
        children=["call", "next"],
    )
    turn.input, turn.output, turn.transitions = text, {text: text}, [transition]
    turn.started_at = turn.ended_at = text
    call = Executor(
        "call", second, text, parent="turn", turn=1, runs=1, called=True, status="completed"
    )
    call.input, call.output = {text: text}, text
    after = Executor(
        "next", second, text, parent="turn", turn=1, runs=1, status="failed", error=error
    )
    answer = Executor(
        "end", second, text, parent="turn", turn=1, runs=1, status="completed", output=text
    )
    form = {"type": "object", "properties": {text: {"enum": [text]}}, "required": [text]}
    asks = Executor(ASKS, second, text, parent="turn", turn=1, status="suspended", input=text)
    asks.question = QuestionRecord(kind="human", text=text, form=form, fallback=(text,))
    asks.answers = [
        AnswerRecord(kind="human", question=text, at=text, value=text),
        AnswerRecord(kind="function", question=text, at=text, value={text: text}, late=True),
    ]
    joined = {("turn", 1, second): Join({first: "turn"}, gone=(text,), late=["call"])}
    turn.children += ["end", ASKS]
    messages = [
        {"role": text, "content": text},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": text, "type": text, "function": {"name": text, "arguments": text}}
            ],
        },
        {"role": "tool", "tool_call_id": text, "content": text},
        {"role": "user", "content": [{"type": "text", "text": text}, {text: text}]},
    ]
    return Tree(
        text,
        "root",
        executors={e.id: e for e in (root, turn, call, after, answer, asks)},
        actors={first: NodeActor("a", first, "LLMNode", messages=messages)},
        turns=[Turn(1, "turn", cancelled=text, joins=joined)],
        asking={ASKS: None},
        lineage=LineageRecord(session_id=text, root=text, turns=1),
    )


def views(text: str) -> list[View]:
    """Every view there is, of the text."""
    graph, tree = hostile_graph(text), hostile_tree(text)
    return [
        GraphView(graph),
        GraphView(graph, tree),
        TreeView(tree, graph=graph),
        MessagesView(text, tree.actors[text].messages),
        TransitionsView(tree, graph=graph),
        HistoryView(tree),
        YieldsView(graph, tree),
        PendingView(open_questions(tree)),
        AgentView(text, graph, tree),
        ResultView(text, graph, tree),
        SessionView(records_of(tree, NOW), text),
        SessionsView([hostile_row(text)], page=1, pages=1, total=1),
        *(ExplanationView(explained(graph, tree, node)) for node in (text, f"{text}2")),
    ]


def hostile_row(text: str) -> SessionRow:
    """A line of the list of sessions that is made of the text."""
    return SessionRow(text, text, 1, text, text, is_own=False, status=text, problem=text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_only_text(text: str):
    """Known tags, attributes and styles only; nothing hidden; balanced; the text itself is read."""
    for view in views(text):
        html, plain = view.html(), view.text()

        assert problems(html) == []
        assert not set(NEVER_SHOWN) & set(html + plain)
        assert one_line(text) in text_of(html).replace("\n", "↵").replace("\t", " ")
        assert html.encode()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_cannot_fake_a_row(text: str):
    """Names and ids stay on their line of the drawing."""
    drawing = str(TreeView(hostile_tree(text))).splitlines()

    assert len(drawing) == 6
    assert all(line.lstrip(" │").startswith(("Root", "├──", "└──")) for line in drawing)


def test_ten_megabytes_in_every_field_are_cut_at_once():
    """The output is small, counted, and there in an instant."""
    start = time.perf_counter()

    shown = [(view.html(), view.text()) for view in views(ENDLESS)]

    assert time.perf_counter() - start < 5
    assert max(len(html) + len(plain) for html, plain in shown) < 200_000
    assert all("more characters]" in html for html, _ in shown)
