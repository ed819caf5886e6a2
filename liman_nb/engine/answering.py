"""A caller's answer: to which open question, and whether it fits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from liman_nb.engine.ids import question_id
from liman_nb.engine.questions import is_overdue
from liman_nb.engine.times import stamp
from liman_nb.engine.tree import Executor, Tree
from liman_nb.errors import AnswerInvalid, UsageError, YieldsError
from liman_nb.specs.graph import Graph
from liman_nb.state.json_values import read_back
from liman_nb.state.rows import AnswerRow
from liman_nb.tools.answers import answer_problems, filled_form


def answer_row(
    graph: Graph, tree: Tree, question: str | None, answer: Any, now: datetime
) -> AnswerRow:
    """The row of an answer.

    Args:
        graph: the graph that runs.
        tree: the session.
        question: the question's id, or the name of the node that asks; the only one for ``None``.
        answer: JSON-able.
        now: the current time, UTC.

    Raises:
        UsageError: no such question, several that it may be, or one whose deadline has passed.
        AnswerInvalid: the answer does not fit; the question stays.
        NotStorable: the answer would not come back equal from JSON.
    """
    executor = _asking(tree, question)
    asked, at = executor.question, stamp(now)
    assert asked is not None, "only executors that ask are found"
    if is_overdue(asked, at):
        raise UsageError(
            f"session {tree.session_id!r}: {executor.node} could be answered until "
            f"{asked.deadline}. Go on without the answer: await agent.resume()"
        )
    value = filled_form(asked.form, read_back(answer, "answer"))
    problems = _problems(graph, executor, value)
    if problems:
        raise AnswerInvalid(
            f"session {tree.session_id!r}: the answer to {executor.node} does not fit its "
            f"question, which stays open: {'; '.join(problems)}",
            problems,
        )
    return AnswerRow(kind="answer", at=at, executor=executor.id, value=value)


def _problems(graph: Graph, executor: Executor, value: Any) -> list[str]:
    """What does not fit. A person's answer is the node's output, so it must fit its yields."""
    assert executor.question is not None, "only executors that ask are answered"
    node = graph.nodes.get(executor.node)
    if executor.question.kind == "human" and node is not None and node.yields is not None:
        try:
            node.yields.validate(value)
        except YieldsError as error:
            return list(error.errors)
        return []
    return answer_problems(executor.question.form, value)


def _asking(tree: Tree, question: str | None) -> Executor:
    asking = [tree.executors[identity] for identity in tree.asking]
    if not asking:
        raise UsageError(f"session {tree.session_id!r}: nothing is asked, so there is no answer")
    meant = asking if question is None else [e for e in asking if question in _names(e)]
    if len(meant) == 1:
        return meant[0]
    open_ = "; ".join(f"{e.node} ({question_id(e.id, e.asked)}): {_text(e)}" for e in asking)
    trouble = f"there is no open question {question!r}" if not meant else "several are open"
    raise UsageError(
        f"session {tree.session_id!r}: {trouble}. Say which with question=, by its id or its "
        f"node's name: {open_}"
    )


def _names(executor: Executor) -> tuple[str, str, str]:
    return question_id(executor.id, executor.asked), executor.id, executor.node


def _text(executor: Executor) -> str:
    return executor.question.text if executor.question else ""
