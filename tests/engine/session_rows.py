"""Rows of invented sessions, for tests of what the engine does with rows."""

from typing import NamedTuple

from hypothesis import strategies as st
from join_rows import walks

from liman_nb.engine.apply import apply
from liman_nb.engine.ids import call_via, child_id, root_id, turn_id
from liman_nb.engine.tree import UNKNOWN_TOOL, Tree
from liman_nb.state.rows import (
    AnswerRow,
    AnyRow,
    AskRow,
    CallRecord,
    CancelRow,
    ChildRecord,
    ErrorRecord,
    QuestionRecord,
    RunRow,
    TurnRow,
    dump_row,
    load_row,
)

ROOT = root_id("", "test", "s")
BOOM = ErrorRecord(type="ValueError", message="boom")


def turn(number: int, value="hi", node="chat", node_type="LLMNode") -> TurnRow:
    """The row of a turn."""
    return TurnRow(
        kind="turn",
        at="2026-01-01T00:00:00.000Z",
        session_id="s",
        turn=number,
        node=node,
        node_type=node_type,
        input=value,
    )


def ran(executor: str, output=None, *, to=(), calls=(), tools=None, **more) -> RunRow:
    """A run: `to` are the nodes that its edges started, `calls` the tools that it called."""
    children = [ChildRecord(via=f"e{i}", node=n, node_type=t) for i, (n, t) in enumerate(to)]
    for position, call in enumerate(calls):
        node_type = "ToolNode" if tools is None or call.name in tools else UNKNOWN_TOOL
        via = call_via(position, call.id)
        children.append(ChildRecord(via=via, node=call.name, node_type=node_type))
    return RunRow(
        kind="run",
        at="2026-01-01T00:00:01.000Z",
        executor=executor,
        output=output,
        calls=tuple(calls),
        children=tuple(children),
        **more,
    )


def asks(executor: str, state=None, kind="function") -> AskRow:
    """An executor asks a person."""
    question = QuestionRecord(kind=kind, text="really?")
    at = "2026-01-01T00:00:01.000Z"
    return AskRow(kind="ask", at=at, executor=executor, question=question, state=state)


def answers(executor: str, value="yes", **more) -> AnswerRow:
    """A person answers."""
    return AnswerRow(
        kind="answer", at="2026-01-01T00:00:01.000Z", executor=executor, value=value, **more
    )


def cancel() -> CancelRow:
    """The row that closes a turn."""
    return CancelRow(kind="cancel", at="2026-01-01T00:00:02.000Z", reason="stopped")


def tree_of(*rows) -> Tree:
    """The tree that rows add up to."""
    tree = Tree("s", ROOT)
    for row in rows:
        apply(tree, row)
    return tree


FIRST = turn_id(ROOT, 1)
FUNCTION = "FunctionNode"


def edge(parent: str, position: int, run: int = 1) -> str:
    """Id of the executor that a run's edge started."""
    return child_id(parent, run, f"e{position}")


def call(position: int, name: str = "add", arguments: str = '{"a": 1}') -> CallRecord:
    """A tool call."""
    return CallRecord(id=f"c{position}", name=name, arguments=arguments)


def called(position: int, run: int = 1) -> str:
    """Id of the executor that answers a call of the turn's entry node."""
    return child_id(FIRST, run, call_via(position, f"c{position}"))


class History(NamedTuple):
    """A session and the rows that made it."""

    tree: Tree
    rows: list[AnyRow]

    def __repr__(self) -> str:
        return "\n".join(str(dump_row(row)) for row in self.rows[:30])


def histories():
    """Rows of a random session, and the tree that they add up to."""
    return st.one_of(_invented(), walks().map(lambda walk: History(walk.tree, walk.rows)))


@st.composite
def _invented(draw):
    """Any rows that fit: fan-outs, failures, tool calls, questions, cancellations."""
    tree, rows = Tree("s", ROOT), []

    def add(row):
        row = load_row(dump_row(row))
        apply(tree, row)
        rows.append(row)

    for number in range(1, draw(st.integers(1, 3)) + 1):
        add(turn(number, node=draw(st.sampled_from("ab"))))
        while tree.idle or tree.asking:
            executor = tree.executors[draw(st.sampled_from([*tree.idle, *tree.asking]))]
            if executor.question and (executor.question.kind != "crash" or draw(st.booleans())):
                add(answers(executor.id, draw(st.sampled_from(["yes", None, {"a": [1]}]))))
                continue
            what = draw(st.sampled_from(["out", "out", "fail", "calls", "fan", "handled", "ask"]))
            deep = executor.depth >= 4 or executor.runs >= 2
            if draw(st.integers(0, 30)) == 0:
                add(cancel())
            elif what == "calls" and executor.node_type == "LLMNode" and not deep:
                add(ran(executor.id, calls=[call(i) for i in range(draw(st.integers(1, 3)))]))
            elif what in ("fan", "handled") and not deep:
                to = [("c", FUNCTION)] * draw(st.integers(1, 3))
                error = BOOM if what == "handled" else None
                add(ran(executor.id, None if error else 1, to=to, error=error))
            elif what == "ask" and executor.asked < 3 and executor.node_type == FUNCTION:
                kind = draw(st.sampled_from(["function", "crash"]))
                add(asks(executor.id, draw(st.sampled_from([None, {"n": 1}])), kind))
            elif what == "fail":
                add(ran(executor.id, error=BOOM))
            else:
                add(ran(executor.id, "x"))
    return History(tree, rows)
