"""The states of a session as Liman documents them: one per node actor, one per executor.

These models are what a storage with Liman's four methods keeps, and what it gives back after a
restart. Together the states of a session hold everything that is known of it: the engine rebuilds
its tree from them alone. How a tree becomes states, and states a tree, is the engine's business.

Every model is frozen, and ``model_dump(mode="json")`` is the dictionary that a storage receives.
Fields that this version does not know are ignored, so a back end may add its own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from liman_nb.state.rows import (
    AnswerRecord,
    AttemptRecord,
    CallRecord,
    ErrorRecord,
    LineageRecord,
    QuestionRecord,
    TransitionRecord,
)


class ExecutorStatus(StrEnum):
    """Where an executor is. ``running`` is only ever shown: what runs is stored as ``idle``."""

    IDLE = "idle"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class NodeActorStatus(StrEnum):
    """Where a node actor is. It lives as long as its session, so this is about its last run.

    ``idle`` before the first run, ``executing`` during one (only ever shown, stored as what it was
    before), ``suspended`` while the calls of a language model's reply are open, ``completed`` after
    a run; `NodeActorState.has_error` says how that run ended.
    """

    IDLE = "idle"
    EXECUTING = "executing"
    SUSPENDED = "suspended"
    COMPLETED = "completed"


class _State(BaseModel):
    model_config = ConfigDict(frozen=True)


# ── what a node knows ────────────────────────────────────────────────────────────────────────────


class _NodeState(_State):
    extras: dict[str, Any] = Field(default_factory=dict)


class LLMNodeState(_NodeState):
    """Memory of a language model's node.

    Attributes:
        messages: every message sent and received, OpenAI-style, without the system prompt.
        extras: what a function of the node that asks for ``state`` chose to remember.
    """

    kind: Literal["LLMNode"] = "LLMNode"
    messages: tuple[dict[str, Any], ...] = ()


class LastCall(_State):
    """A tool's call.

    Attributes:
        executor: id of the executor that made it.
        input: the validated arguments.
        output: what it returned; ``None`` for a call that failed.
        error: why it failed.
    """

    executor: str = ""
    input: Any = None
    output: Any = None
    error: ErrorRecord | None = None


class ToolNodeState(_NodeState):
    """Memory of a tool.

    Attributes:
        last_call: input and output of its last call; ``None`` before the first.
        extras: what its function chose to remember.
    """

    kind: Literal["ToolNode"] = "ToolNode"
    last_call: LastCall | None = None


class FunctionNodeState(_NodeState):
    """Memory of a function.

    Attributes:
        extras: what the function chose to remember.
    """

    kind: Literal["FunctionNode"] = "FunctionNode"


class HumanNodeState(_NodeState):
    """Memory of a node that asks a person: it has none but `extras`."""

    kind: Literal["HumanNode"] = "HumanNode"


NodeState = Annotated[
    LLMNodeState | ToolNodeState | FunctionNodeState | HumanNodeState,
    Field(discriminator="kind"),
]


# ── where execution is ───────────────────────────────────────────────────────────────────────────


JoinStatus = Literal["waits", "started", "halted"]
"""Where a join is: it waits, has started, or has halted since it can start no more."""


class JoinState(_State):
    """A node that waits for several branches of one executor.

    Attributes:
        fork: id of the executor whose branches are joined.
        run: the fork's run that began them, 1-based.
        node: name of the node that joins them.
        since: when the first branch arrived, UTC.
        arrived: by source, the id of the executor whose branch arrived first.
        gone: sources that can no longer arrive, or did not arrive in time.
        expired: whether it was given up waiting.
        late: ids of the executors whose branches counted for nothing.
        outcome: whether it waits, has started, or has halted since it can start no more.
    """

    fork: UUID
    run: int
    node: str
    since: str = ""
    arrived: dict[str, UUID] = Field(default_factory=dict)
    gone: tuple[str, ...] = ()
    expired: bool = False
    late: tuple[UUID, ...] = ()
    outcome: JoinStatus = "waits"


class TurnState(_State):
    """One turn of a session.

    Attributes:
        number: 1-based.
        executor_id: its executor.
        context_keys: names of the context keys that were supplied; never their values.
        graph: fingerprint of the graph it was begun with.
        runs: node runs so far.
        llm_runs: runs so far, by LLM node.
        cancelled: why it was closed without finishing; empty when it was not.
        attached: functions attached in Python to its nodes, as ``node.stage=name``.
        joins: its joins that a branch has arrived at.
        expired: how many times joins were given up waiting.
    """

    number: int
    executor_id: UUID
    context_keys: tuple[str, ...] = ()
    graph: str = ""
    runs: int = 0
    llm_runs: dict[str, int] = Field(default_factory=dict)
    cancelled: str = ""
    attached: tuple[str, ...] = ()
    joins: tuple[JoinState, ...] = ()
    expired: int = 0


class SessionState(_State):
    """What the root executor knows of its session.

    Attributes:
        session_id: the session's text id.
        turns: in order.
        lineage: the session that it was forked from.
    """

    session_id: str
    turns: tuple[TurnState, ...] = ()
    lineage: LineageRecord | None = None


class ExecutorState(_State):
    """One place in the execution tree: which actor, which input, which status, which children.

    Attributes:
        execution_id: its id; the root's is the session's.
        node_actor_id: the actor that runs it; the root shows the latest turn's entry actor.
        status: where it is.
        child_executor_ids: every child it ever started, in the order of starting. Liman documents
            a set; a tuple keeps the order, which JSON and the tree's drawing need.
        parent_id: the executor that started it; ``None`` for the root.
        node_name: the node it runs.
        node_type: that node's kind, such as ``LLMNode``.
        via: the edge's id, ``{position}:{call id}`` for a tool call, ``join:{node}`` for a join,
            ``turn:{n}`` for a turn.
        parent_run: the parent's run that started it, 1-based.
        called: whether it answers a tool call of its parent.
        turn: number of the turn it belongs to, 1-based; 0 for the root.
        depth: number of executors between it and its turn's executor.
        order: its place among all executors of the session, in the order of starting; the root's
            is 0.
        seq: how many events (turns begun, node runs, questions, answers, cancellations) the session
            had when this state was made: of two states of an executor, the later one has more.
        runs: committed runs.
        input: what it was given.
        composed: what its ``pre_compose`` made of that for the model; ``None`` without one.
        output: what it produced; the yields mapping for a node with yields.
        says: the raw text of a language model's reply where that differs from the output.
        error: why it failed.
        calls: tool calls of its last run that wait for their results.
        open_children: how many children of its last run have not ended.
        failed_children: how many of them failed without their failure being handled.
        transitions: every edge considered after its output.
        question: what a person is asked; ``None`` for an executor that waits for nobody.
        asked: how many questions it has asked.
        answers: the answers to them, in order.
        attempts: what was tried before each run's outcome.
        ran_row: how many events made the session up to its last run.
        history: how many messages its actor had after that, when a language model's.
        left: the extras that it left its node, when it changed them.
        left_row: how many events made the session up to that.
        input_tokens: tokens of the prompts of its runs, as the server counted them.
        output_tokens: tokens of the replies.
        started_at: when it started, UTC, ISO 8601 with ``Z``.
        ended_at: when its last run ended; empty before.
        started_row: number of the event that started it, 0-based.
        session: the session, on the root executor only.
    """

    execution_id: UUID
    node_actor_id: UUID
    status: ExecutorStatus = ExecutorStatus.IDLE
    child_executor_ids: tuple[UUID, ...] = ()
    parent_id: UUID | None = None
    node_name: str = ""
    node_type: str = ""
    via: str = ""
    parent_run: int = 0
    called: bool = False
    turn: int = 0
    depth: int = 0
    order: int = 0
    seq: int = 0
    runs: int = 0
    input: Any = None
    composed: dict[str, Any] | None = None
    output: Any = None
    says: str | None = None
    error: ErrorRecord | None = None
    calls: tuple[CallRecord, ...] = ()
    open_children: int = 0
    failed_children: int = 0
    transitions: tuple[TransitionRecord, ...] = ()
    question: QuestionRecord | None = None
    asked: int = 0
    answers: tuple[AnswerRecord, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    ran_row: int = 0
    history: int = 0
    left: dict[str, Any] | None = None
    left_row: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    started_at: str = ""
    ended_at: str = ""
    started_row: int = 0
    session: SessionState | None = None


class LastRun(_State):
    """An actor's last run, kept with the actor so that a crash between two saves loses nothing.

    The actor is saved before the executors that its run changed. Where they are newer here than
    where they are stored, the saving was cut off: they are saved again.

    Attributes:
        executors: every executor that the run changed, as it was afterwards; the run's own last.
    """

    executors: tuple[ExecutorState, ...]


class NodeActorState(_State):
    """One node's memory within a session, and its last run.

    Attributes:
        actor_id: its id, derived from the session and the node's name.
        node_id: the node's id, derived from its kind and name.
        node_name: the node's name.
        node_type: its kind, such as ``LLMNode``.
        status: see :class:`NodeActorStatus`.
        has_error: whether its last run failed.
        node_state: what the node knows, by kind.
        runs: committed runs of the node in this session.
        last_run: its last run; ``None`` where the storage keeps a journal.
    """

    actor_id: UUID
    node_id: UUID
    node_name: str
    node_type: str
    status: NodeActorStatus = NodeActorStatus.IDLE
    has_error: bool = False
    node_state: NodeState
    runs: int = 0
    last_run: LastRun | None = None
