"""The rows of a session's journal: what happened, one row per event, never changed once written.

A session is the list of its rows. Loading applies them in order; nothing else is needed. A row
holds only what cannot be derived from the rows before it: an LLM's new history, for one, is its
executor's input or its tools' results, which stand in earlier rows. So a turn costs its own new
content, whatever the length of the session.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Outcome = Literal["fired", "not fired", "undecided"]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class ErrorRecord(_Stored):
    """A failure as it is stored: never a traceback, never a value of the context.

    Attributes:
        type: the exception's class name.
        message: its message, with literal context and credential values replaced.
        where: ``file:line`` of the innermost frame of the user's code; empty when unknown.
    """

    type: str
    message: str
    where: str = ""


class TransitionRecord(_Stored):
    """One edge considered after a node run.

    Attributes:
        edge: the edge's id.
        target: name of the node it leads to.
        condition: the condition's text; empty for an edge without one.
        outcome: whether it fired.
        values: the names it read and their values; a name read from the context has no value here.
        from_context: the names it read from the context.
        reason: why, in words; empty for an edge without a condition.
    """

    edge: str
    target: str
    condition: str = ""
    outcome: Outcome = "fired"
    values: dict[str, Any] = Field(default_factory=dict)
    from_context: tuple[str, ...] = ()
    reason: str = ""


class CallRecord(_Stored):
    """A tool call of an LLM's reply.

    Attributes:
        id: the model's own id.
        name: the tool's name as the model wrote it.
        arguments: the JSON text as the model wrote it.
    """

    id: str
    name: str
    arguments: str = ""


class ChildRecord(_Stored):
    """An executor that starts because of this row. Its id is derived from its parent and `via`.

    Attributes:
        via: the edge's id, or ``{position}:{call id}`` for a tool call.
        node: name of the node it runs.
        node_type: kind of that node, such as ``ToolNode``; ``UnknownTool`` for a call of a tool
            that the node may not call.
    """

    via: str
    node: str
    node_type: str


class AttemptRecord(_Stored):
    """An attempt of a node run that was tried again.

    Attributes:
        error: why it was not good enough.
        reply: what the model had said, for a reply that did not fit its yields.
    """

    error: ErrorRecord
    reply: str | None = None


class TokenRecord(_Stored):
    """Tokens of a node run, as the server counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


QuestionKind = Literal["human", "approval", "function", "crash"]


class QuestionRecord(_Stored):
    """A question that waits for a person.

    Attributes:
        kind: who asks: a ``human`` node, a tool that needs ``approval``, a ``function`` that raised
            `Suspend`, or a tool whose call a ``crash`` may have cut short.
        text: the question.
        form: JSON schema of the answer; empty for any JSON value.
        deadline: until when it may be answered, UTC, ISO 8601 with ``Z``; empty for ever.
        fallback: the answer after the deadline, in a list of its own; empty for none, which makes
            the run fail then.
    """

    kind: QuestionKind
    text: str
    form: dict[str, Any] = Field(default_factory=dict)
    deadline: str = ""
    fallback: tuple[Any, ...] = ()


class AnswerRecord(_Stored):
    """The answer to a question.

    Attributes:
        kind: the kind of its question.
        question: the text of its question.
        at: when it was answered, UTC, ISO 8601 with ``Z``.
        value: what was answered; ``None`` for a question whose deadline passed without a fallback.
        late: whether the deadline passed, so that nobody gave it.
        missing: whether there was no fallback either.
    """

    kind: QuestionKind
    question: str = ""
    at: str = ""
    value: Any = None
    late: bool = False
    missing: bool = False


JoinOutcome = Literal["waits", "starts", "halts", "late"]


class JoinRecord(_Stored):
    """What a node run means for a join: a node that waits for several branches of one fork.

    Attributes:
        fork: id of the executor whose branches are joined; the join's executor is its child.
        run: the fork's run that began them, 1-based.
        node: name of the node that joins them.
        node_type: that node's kind.
        arrived: whether this run's branch arrived there.
        gone: the sources that can no longer arrive, or did not arrive in time.
        expired: whether it was given up waiting.
        outcome: it ``waits`` for more, ``starts``, ``halts`` as it can start no more, or the
            branch came ``late``: after it had started or halted, or for the second time.
        takes: names of the sources whose outputs a join that starts gets, in the order in which
            its ``wait_for`` names them.
    """

    fork: str
    run: int
    node: str
    node_type: str
    arrived: bool = False
    gone: tuple[str, ...] = ()
    expired: bool = False
    outcome: JoinOutcome = "waits"
    takes: tuple[str, ...] = ()


class LineageRecord(_Stored):
    """Which session a session was forked from.

    Attributes:
        session_id: its text id.
        root: id of its root executor.
        turns: how many of its turns were taken over.
    """

    session_id: str
    root: str
    turns: int


class TurnRow(_Stored):
    """A turn starts.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        session_id: the session's text id.
        turn: 1-based number of the turn.
        node: the node it enters at.
        node_type: that node's kind.
        input: the caller's input.
        context_keys: names of the context keys that were supplied; never their values.
        graph: fingerprint of the graph.
        attached: functions attached in Python to the graph's nodes, as ``node.stage=name``.
        lineage: on the first row of a session that was forked from another one: which.
    """

    kind: Literal["turn"]
    at: str
    session_id: str
    turn: int
    node: str
    node_type: str
    input: Any = None
    context_keys: tuple[str, ...] = ()
    graph: str = ""
    attached: tuple[str, ...] = ()
    lineage: LineageRecord | None = None


class RunRow(_Stored):
    """A node run ended.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        executor: id of the executor that ran.
        composed: what an LLM's ``pre_compose`` made of its input, in the run that called it.
        output: the node's output, when it has one; a mapping for a node with yields.
        says: an LLM's reply text where it is not the output itself (beside tool calls, or the raw
            text of a reply with yields).
        calls: an LLM's tool calls; the run has no output then.
        error: why the run failed.
        state: the node's extras as they are now, when the run changed them.
        transitions: the edges considered, in spec order.
        children: the executors that start now as its own children, in order.
        joins: what the run means for joins.
        attempts: what was tried before this outcome.
        tokens: usage of an LLM run.
    """

    kind: Literal["run"]
    at: str
    executor: str
    composed: dict[str, Any] | None = None
    output: Any = None
    says: str | None = None
    calls: tuple[CallRecord, ...] = ()
    error: ErrorRecord | None = None
    state: dict[str, Any] | None = None
    transitions: tuple[TransitionRecord, ...] = ()
    children: tuple[ChildRecord, ...] = ()
    joins: tuple[JoinRecord, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    tokens: TokenRecord | None = None


class AskRow(_Stored):
    """An executor waits for a person.

    A tool that must not be called twice unasked (``on_crash: ask``) asks before it is called: its
    run answers the question, and where the process ends before, the question is what is left.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        executor: id of the executor that asks.
        question: what it asks.
        state: the node's extras as they are now, when the call that asked changed them.
    """

    kind: Literal["ask"]
    at: str
    executor: str
    question: QuestionRecord
    state: dict[str, Any] | None = None


class AnswerRow(_Stored):
    """A question is answered; its executor runs again.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        executor: id of the executor that asked.
        value: the answer.
        late: see :class:`AnswerRecord`.
        missing: see :class:`AnswerRecord`.
    """

    kind: Literal["answer"]
    at: str
    executor: str
    value: Any = None
    late: bool = False
    missing: bool = False


class ExpireRow(_Stored):
    """Joins have waited as long as their ``wait_for_timeout`` allows.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        joins: what becomes of them, and of others that waited for them.
    """

    kind: Literal["expire"]
    at: str
    joins: tuple[JoinRecord, ...]


class CancelRow(_Stored):
    """An open turn is closed without finishing: everything in it that has not ended is cancelled.

    Attributes:
        at: UTC time, ISO 8601 with ``Z``.
        reason: why, in words.
    """

    kind: Literal["cancel"]
    at: str
    reason: str = ""


AnyRow = TurnRow | RunRow | AskRow | AnswerRow | ExpireRow | CancelRow
"""A row of any kind."""

_ROW: TypeAdapter[AnyRow] = TypeAdapter(Annotated[AnyRow, Field(discriminator="kind")])


def dump_row(row: AnyRow) -> bytes:
    """A row as compact JSON; fields at their default are left out."""
    return row.__pydantic_serializer__.to_json(row, exclude_defaults=True)


def load_row(data: bytes) -> AnyRow:
    """A row from its JSON.

    Raises:
        pydantic.ValidationError: the bytes are not a row of this version.
    """
    return _ROW.validate_json(data)
