"""The executor tree of one session in memory: what the rows of its journal add up to.

Only `apply.py` changes a tree. Everything here is data: no rules, no I/O, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from liman_nb.engine.ids import actor_id
from liman_nb.state.rows import (
    AnswerRecord,
    AttemptRecord,
    CallRecord,
    ErrorRecord,
    LineageRecord,
    QuestionRecord,
    TransitionRecord,
)
from liman_nb.state.states import JoinStatus, LastCall, LLMNodeState, NodeActorState, ToolNodeState

Status = Literal["idle", "suspended", "completed", "failed", "cancelled"]
"""An executor's status. One that runs is stored as ``idle``: `running` is only shown."""

ENDED: frozenset[str] = frozenset({"completed", "failed", "cancelled"})

UNKNOWN_TOOL = "UnknownTool"
"""Node type of a call that names no tool of its caller. Such a call has no actor."""


@dataclass(slots=True)
class Executor:
    """One place in the execution tree: which actor, which input, which status, which children.

    Attributes:
        id: UUID text, derived from the parent's; the root's is the session's execution id.
        node: name of the node it runs; the root shows the latest turn's entry node.
        node_type: that node's kind, such as ``LLMNode``.
        parent: id of the executor that started it; ``None`` for the root.
        via: the edge's id, ``{position}:{call id}`` for a tool call, ``join:{node}`` for a join,
            ``turn:{n}`` for a turn.
        parent_run: the parent's run that started it, 1-based.
        called: whether it answers a tool call of its parent.
        turn: number of the turn it belongs to, 1-based.
        depth: number of executors between it and its turn's executor; that one has 0.
        status: see :data:`Status`.
        runs: committed runs. Only an LLM with tools runs more than once.
        input: what it was given.
        composed: what its ``pre_compose`` made of that for the model; ``None`` without one.
        output: what it produced; the yields mapping for a node with yields.
        says: the raw text of an LLM's reply where that differs from the output.
        error: why it failed.
        calls: tool calls of the last run that wait for their results.
        children: ids of every executor it ever started, in order.
        open_children: how many children of its last run have not ended.
        failed_children: how many of them failed without their failure being handled.
        transitions: every edge considered after its output.
        question: what a person is asked; ``None`` for an executor that waits for nobody.
        asked: how many questions it has asked.
        answers: the answers to them, in order.
        attempts: what was tried before each run's outcome.
        ran_row: number of rows up to its last run; 0 before.
        history: number of messages of its actor after that, when an LLM.
        left: the extras that it left its node, when it changed them.
        left_row: number of rows up to that.
        input_tokens: tokens of the prompts of its runs, as the server counted them.
        output_tokens: tokens of the replies.
        started_at: when its row was written, UTC.
        ended_at: when its last run's row was written, UTC; empty before.
        started_row: number of the row that started it, 0-based.
    """

    id: str
    node: str
    node_type: str
    parent: str | None = None
    via: str = ""
    parent_run: int = 0
    called: bool = False
    turn: int = 0
    depth: int = 0
    status: Status = "idle"
    runs: int = 0
    input: Any = None
    composed: dict[str, Any] | None = None
    output: Any = None
    says: str | None = None
    error: ErrorRecord | None = None
    calls: tuple[CallRecord, ...] = ()
    children: list[str] = field(default_factory=list)
    open_children: int = 0
    failed_children: int = 0
    transitions: list[TransitionRecord] = field(default_factory=list)
    question: QuestionRecord | None = None
    asked: int = 0
    answers: list[AnswerRecord] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)
    ran_row: int = 0
    history: int = 0
    left: dict[str, Any] | None = None
    left_row: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    started_at: str = ""
    ended_at: str = ""
    started_row: int = 0


@dataclass(slots=True)
class NodeActor:
    """One node's memory within a session, alive for the session's lifetime.

    Attributes:
        id: UUID text, derived from the session's root and the node's name.
        node: the node's name.
        node_type: its kind.
        runs: committed runs of the node in this session.
        has_error: whether its last run failed.
        messages: an LLM's history, OpenAI-style, without the system prompt.
        extras: what a function that asks for ``state`` chose to remember.
        last_call: a tool's last call.
    """

    id: str
    node: str
    node_type: str
    runs: int = 0
    has_error: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    last_call: LastCall | None = None

    @classmethod
    def create_or_restore(
        cls, root: str, node: str, node_type: str, state: NodeActorState | None
    ) -> NodeActor:
        """An actor for a node of a session: as its state says, or new when there is none.

        The name is Liman's, whose page on state describes a restart by it.
        """
        actor = cls(actor_id(root, node), node, node_type)
        if state is not None:
            actor.runs, actor.has_error = state.runs, state.has_error
            actor.extras = dict(state.node_state.extras)
            if isinstance(state.node_state, LLMNodeState):
                actor.messages = list(state.node_state.messages)
            elif isinstance(state.node_state, ToolNodeState):
                actor.last_call = state.node_state.last_call
        return actor


JoinKey = tuple[str, int, str]
"""A join: the id of its fork, the fork's run that began the branches, the name of its node."""


@dataclass(slots=True)
class Join:
    """A join that at least one branch has arrived at.

    Attributes:
        since: when the first branch arrived, UTC.
        arrived: by source, the executor whose branch arrived first.
        gone: sources that can no longer arrive, or did not arrive in time.
        expired: whether it was given up waiting.
        late: executors whose branches counted for nothing: it had started or halted, or the source
            had arrived before.
        outcome: whether it has started.
    """

    since: str = ""
    arrived: dict[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    expired: bool = False
    late: list[str] = field(default_factory=list)
    outcome: JoinStatus = "waits"


@dataclass(slots=True)
class Turn:
    """One turn of a session.

    Attributes:
        number: 1-based.
        executor: id of its executor.
        context_keys: names of the context keys that were supplied.
        graph: fingerprint of the graph it was begun with.
        attached: functions attached in Python to its nodes, as ``node.stage=name``.
        runs: node runs so far.
        llm_runs: runs so far, by LLM node.
        cancelled: why it was closed without finishing; empty when it was not.
        joins: its joins.
        expired: how many times joins were given up waiting.
    """

    number: int
    executor: str
    context_keys: tuple[str, ...] = ()
    graph: str = ""
    runs: int = 0
    llm_runs: dict[str, int] = field(default_factory=dict)
    cancelled: str = ""
    attached: tuple[str, ...] = ()
    joins: dict[JoinKey, Join] = field(default_factory=dict)
    expired: int = 0


@dataclass(slots=True)
class Changes:
    """What changed, and is to be stored.

    Attributes:
        created: ids of new executors, in order.
        touched: ids of changed executors, the one that ran first, then its ancestors upwards.
        actors: names of the nodes whose actor changed, each with the id of the executor whose run
            or end changed it.
    """

    created: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    actors: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Tree:
    """A session.

    Attributes:
        session_id: the session's text id.
        root: id of the root executor, which is the session's execution id.
        seq: number of rows applied, which is the number the next row gets.
        executors: by id, in creation order; the root first.
        actors: by node name.
        turns: in order.
        lineage: the session that it was forked from.
        idle: ids of the executors that may run, in creation order.
        asking: ids of the executors that wait for a person, in the order of asking.
        held: by LLM node, the executor whose tool calls are open: no other may run on its actor.
        unsaved: what follows from the stored states and is not among them, since a saving was cut
            off. It is saved with the next row; always empty where the storage keeps a journal.
    """

    session_id: str
    root: str
    seq: int = 0
    executors: dict[str, Executor] = field(default_factory=dict)
    actors: dict[str, NodeActor] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    lineage: LineageRecord | None = None
    idle: dict[str, None] = field(default_factory=dict)
    asking: dict[str, None] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    unsaved: Changes = field(default_factory=Changes)

    @property
    def status(self) -> Status:
        """The latest turn's status; ``idle`` before the first."""
        return self.executors[self.root].status if self.executors else "idle"

    @property
    def is_open(self) -> bool:
        """Whether the latest turn has not ended: it runs, was cut off, or waits for a person."""
        return bool(self.turns) and self.status not in ENDED
