"""Random sessions of a graph with everything in it, played by the engine's own rules."""

from hypothesis import strategies as st

from liman_nb.engine.apply import apply
from liman_nb.engine.decide import RunResult, cancel_row, ended_row, turn_row
from liman_nb.engine.ids import root_id
from liman_nb.engine.joins import Joins
from liman_nb.engine.tree import ENDED, Executor, Tree
from liman_nb.specs import load_graph
from liman_nb.state.rows import (
    AnswerRow,
    AnyRow,
    AttemptRecord,
    CallRecord,
    ErrorRecord,
    QuestionRecord,
    TokenRecord,
    TransitionRecord,
    dump_row,
    load_row,
)

GRAPH = load_graph("""
kind: LLMNode
name: chat
tools: [add, look]
edges: [one, two, ask]
---
{kind: ToolNode, name: add, func: f, edges: [note]}
---
{kind: ToolNode, name: look, func: f}
---
{kind: FunctionNode, name: note, func: f}
---
{kind: FunctionNode, name: one, func: f, edges: [both, deep]}
---
{kind: FunctionNode, name: two, func: f, edges: [both]}
---
{kind: HumanNode, name: ask, question: Well?, edges: [both]}
---
{kind: FunctionNode, name: deep, func: f}
---
{kind: LLMNode, name: both, wait_for: one? and (two or ask), edges: [deep]}
""")
JOINS = Joins(GRAPH)
ROOT = root_id("", "test", "s")
BOOM = ErrorRecord(type="ValueError", message="boom", where="f.py:1")


@st.composite
def sessions(draw) -> list[AnyRow]:
    """The rows of a session; its last turn may be open."""
    tree, rows = Tree("s", ROOT), []

    def add(row: AnyRow) -> None:
        row = load_row(dump_row(row))
        apply(tree, row)
        rows.append(row)

    def at() -> str:
        return f"2026-01-01T00:00:00.{len(rows) // 3:03}Z"  # several rows share a moment

    turns = draw(st.integers(1, 4))
    for number in range(1, turns + 1):
        entry = draw(st.sampled_from(["chat", "chat", "one", "note"]))
        add(turn_row(GRAPH, tree, entry, {"n": number}, at(), context_keys=["user"]))
        left = draw(st.integers(0, 12)) if number == turns else 60
        while tree.status not in ENDED and left:
            left -= 1
            if draw(st.integers(0, 25)) == 0:
                add(cancel_row("stopped", at()))
            elif tree.idle and draw(st.integers(0, 3)):
                executor = tree.executors[draw(st.sampled_from(sorted(tree.idle)))]
                add(ended_row(GRAPH, JOINS, tree, executor, draw(_results(executor)), at()))
            elif tree.asking:
                executor = draw(st.sampled_from(sorted(tree.asking)))
                add(AnswerRow(kind="answer", at=at(), executor=executor, value="yes"))
        if tree.status not in ENDED and number < turns:
            add(cancel_row("", at()))
    return rows


@st.composite
def _results(draw, executor: Executor) -> RunResult:
    """What a run may come to."""
    is_llm, is_person = executor.node_type == "LLMNode", executor.node == "ask"
    extras = None if is_llm else draw(st.none() | st.dictionaries(st.just("k"), st.integers()))
    asks = is_person or (executor.node in ("one", "add") and draw(st.integers(0, 4)) == 0)
    if asks and executor.asked < 2 and not executor.answers:
        question = QuestionRecord(kind="human" if is_person else "function", text="Well?")
        return RunResult(question=question, state=extras)
    if draw(st.integers(0, 7)) == 0:
        return RunResult(error=BOOM, state=extras, transitions=draw(_considered(executor)))
    if executor.node == "chat" and executor.runs < 2 and draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(["add", "look", "unknown"]), min_size=1, max_size=3))
        calls = tuple(CallRecord(id=f"c{i % 2}", name=n) for i, n in enumerate(names))
        return RunResult(says=draw(st.sampled_from([None, "hm"])), calls=calls)
    return RunResult(
        output=draw(st.sampled_from(["x", {"a": 1}])),
        says="{…}" if is_llm else None,
        state=extras,
        transitions=draw(_considered(executor)),
        attempts=(AttemptRecord(error=BOOM),) * draw(st.integers(0, 1)),
        tokens=TokenRecord(input_tokens=3, output_tokens=1) if is_llm else None,
    )


@st.composite
def _considered(draw, executor: Executor) -> tuple[TransitionRecord, ...]:
    edges = GRAPH.nodes[executor.node].edges if executor.node in GRAPH.nodes else ()
    outcomes = st.sampled_from(["fired", "fired", "not fired"])
    return tuple(
        TransitionRecord(edge=e.id, target=e.target, outcome=draw(outcomes)) for e in edges
    )
