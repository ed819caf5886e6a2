"""The questions that executors ask, and what the answers mean to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from liman_nb.engine.decide import RunResult
from liman_nb.engine.messages import as_text
from liman_nb.engine.run import NodeRun
from liman_nb.engine.times import stamp
from liman_nb.engine.tree import Executor, Tree
from liman_nb.errors import NodeError, NotApproved, QuestionExpired, ToolError
from liman_nb.specs.documents import HumanNodeSpec, ToolNodeSpec
from liman_nb.specs.graph import Graph
from liman_nb.specs.shapes import SchemaStyle, schema_of
from liman_nb.specs.templates import fill
from liman_nb.state.rows import AnswerRecord, AnswerRow, QuestionKind, QuestionRecord
from liman_nb.tools.suspend import Suspend

AGAIN, RESULT, GIVE_UP = "call again", "use this result", "give up"
"""What a person may say about a call that a crash may have cut short."""

_APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "description": "whether the call may be made"},
        "comment": {"type": "string", "description": "why, for the model that asked for it"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}

_CRASH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"enum": [AGAIN, RESULT, GIVE_UP]},
        "result": {"description": f"what the call gave, for {RESULT!r}"},
    },
    "required": ["action"],
    "additionalProperties": False,
}

# ── people ───────────────────────────────────────────────────────────────────────────────────────


def run_human(run: NodeRun, spec: HumanNodeSpec) -> RunResult:
    """Ask a person; after the answer, give it as the node's output.

    Raises:
        QuestionExpired: the deadline passed, and the node has no fallback.
        YieldsError: the fallback does not fit the node's yields.
        NodeError: the question names something that the input does not have.
    """
    answer = last_answer(run.executor, "human")
    if answer is None:
        return RunResult(question=_human_question(run, spec))
    value, yields = _value(run, answer), run.node.yields
    return RunResult(output=value if yields is None else yields.validate(value))


def _human_question(run: NodeRun, spec: HumanNodeSpec) -> QuestionRecord:
    yields, given = run.node.yields, run.executor.input
    values = {**(given if isinstance(given, Mapping) else {}), "input": given}
    try:
        text = fill(spec.question, values) or as_text(given)
    except LookupError as missing:
        raise NodeError(
            f"{run.node.name}: the question names {{{missing.args[0]}}}, which the input does not "
            f"have; let the node before it yield it, or double the braces to show them"
        ) from None
    return QuestionRecord(
        kind="human",
        text=text,
        form={} if yields is None else schema_of(yields.shape, SchemaStyle()),
        deadline=_deadline(run, spec.timeout),
        fallback=() if spec.fallback is None else (spec.fallback,),
    )


# ── tools and functions ──────────────────────────────────────────────────────────────────────────


def question_first(
    run: NodeRun, spec: ToolNodeSpec, arguments: Mapping[str, Any]
) -> RunResult | None:
    """What keeps a tool from being called now: a question, or an answer that ends the run.

    Raises:
        NotApproved: a person did not allow the call.
        ToolError: a person gave up a call that a crash may have cut short.
    """
    if spec.approval:
        approval = last_answer(run.executor, "approval")
        if approval is None:
            text = f"May {run.node.name} be called with {as_text(arguments)}?"
            return RunResult(question=QuestionRecord(kind="approval", text=text, form=_APPROVAL))
        if not approval.value["approved"]:
            comment = approval.value.get("comment", "")
            because = f": {comment}" if comment else ""
            raise NotApproved(f"a person did not allow this call of {run.node.name}{because}")
    return _after_a_crash(run)


def _after_a_crash(run: NodeRun) -> RunResult | None:
    answer = run.executor.answers[-1] if run.executor.answers else None
    if answer is None or answer.kind != "crash" or answer.value["action"] == AGAIN:
        return None
    if answer.value["action"] == RESULT:
        return RunResult(output=answer.value.get("result"))
    raise ToolError(f"this call of {run.node.name} was cut short, and a person gave it up")


def asks_beforehand(graph: Graph, executor: Executor) -> bool:
    """Whether a question must be stored before the executor's tool is called.

    A tool that is marked ``on_crash: ask`` is never called twice unasked. Whether the process ended
    before, during or after a call cannot be seen afterwards unless it is written down before it.
    """
    node = graph.nodes.get(executor.node)
    spec = node.spec if node is not None else None
    if not isinstance(spec, ToolNodeSpec) or spec.on_crash != "ask":
        return False
    if spec.approval and not _is_approved(executor):
        return False
    last = executor.answers[-1] if executor.answers else None
    return last is None or last.kind != "crash" or bool(last.value["action"] == AGAIN)


def crash_question(executor: Executor) -> QuestionRecord:
    """The question that is left if the process ends in the middle of a call."""
    text = (
        f"{executor.node} was called with {as_text(executor.input)}, and what came of it was not "
        f"stored. Whether the call took effect is not known. What now?"
    )
    return QuestionRecord(kind="crash", text=text, form=_CRASH)


def _is_approved(executor: Executor) -> bool:
    answer = last_answer(executor, "approval")
    return answer is not None and bool(answer.value["approved"])


def suspended(run: NodeRun, asked: Suspend) -> RunResult:
    """The question of a tool or a function that raised :class:`Suspend`.

    Raises:
        NotStorable: what it noted in ``state`` would not come back equal from JSON.
    """
    question = QuestionRecord(
        kind="function",
        text=asked.question,
        form=asked.form,
        deadline=_deadline(run, asked.timeout),
        fallback=asked.fallback,
    )
    return RunResult(question=question, state=run.changed_extras)


def given_answer(run: NodeRun) -> Any:
    """What a function gets as ``answer``: ``None`` before it has asked.

    Raises:
        QuestionExpired: the deadline passed, and its question has no fallback.
    """
    answer = last_answer(run.executor, "function")
    return None if answer is None else _value(run, answer)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def last_answer(executor: Executor, kind: QuestionKind) -> AnswerRecord | None:
    """The latest answer to a question of this kind."""
    return next((a for a in reversed(executor.answers) if a.kind == kind), None)


def _value(run: NodeRun, answer: AnswerRecord) -> Any:
    if answer.missing:
        raise QuestionExpired(
            f"nobody answered {run.node.name} in time, and its question has no fallback"
        )
    return answer.value


def _deadline(run: NodeRun, seconds: float | None) -> str:
    return "" if seconds is None else stamp(run.runtime.now() + timedelta(seconds=seconds))


def overdue(tree: Tree, now: datetime) -> list[AnswerRow]:
    """Answers to the questions whose deadlines have passed: their fallbacks."""
    at = stamp(now)
    return [
        AnswerRow(
            kind="answer",
            at=at,
            executor=identity,
            value=question.fallback[0] if question.fallback else None,
            late=True,
            missing=not question.fallback,
        )
        for identity in tree.asking
        if (question := tree.executors[identity].question) and is_overdue(question, at)
    ]


def is_overdue(question: QuestionRecord, at: str) -> bool:
    """Whether a deadline has passed; times of one form are in the order of their texts."""
    return bool(question.deadline) and question.deadline <= at
