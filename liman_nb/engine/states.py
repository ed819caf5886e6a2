"""Executors and actors as Liman's states, and back; and the states that a commit changed.

How a whole session is loaded stands in `loading.py`.
"""

from __future__ import annotations

from uuid import UUID

from liman_nb.engine.ids import actor_id, node_id
from liman_nb.engine.tree import Changes, Executor, Join, JoinKey, NodeActor, Status, Tree, Turn
from liman_nb.state.rows import AnyRow, AskRow, CancelRow, ExpireRow, RunRow
from liman_nb.state.states import (
    ExecutorState,
    ExecutorStatus,
    FunctionNodeState,
    HumanNodeState,
    JoinState,
    LastRun,
    LLMNodeState,
    NodeActorState,
    NodeActorStatus,
    NodeState,
    SessionState,
    ToolNodeState,
    TurnState,
)
from liman_nb.state.storage import Touched

# ── one executor, one actor ──────────────────────────────────────────────────────────────────────


_STATUS: dict[ExecutorStatus, Status] = {
    ExecutorStatus.IDLE: "idle",
    ExecutorStatus.RUNNING: "idle",
    ExecutorStatus.SUSPENDED: "suspended",
    ExecutorStatus.COMPLETED: "completed",
    ExecutorStatus.FAILED: "failed",
    ExecutorStatus.CANCELLED: "cancelled",
}


def executor_of(state: ExecutorState) -> Executor:
    """An executor out of its state. What was running must run again."""
    return Executor(
        id=str(state.execution_id),
        node=state.node_name,
        node_type=state.node_type,
        parent=None if state.parent_id is None else str(state.parent_id),
        via=state.via,
        parent_run=state.parent_run,
        called=state.called,
        turn=state.turn,
        depth=state.depth,
        status=_STATUS[state.status],
        runs=state.runs,
        input=state.input,
        composed=state.composed,
        output=state.output,
        says=state.says,
        error=state.error,
        calls=state.calls,
        children=[str(c) for c in state.child_executor_ids],
        open_children=state.open_children,
        failed_children=state.failed_children,
        transitions=list(state.transitions),
        question=state.question,
        asked=state.asked,
        answers=list(state.answers),
        attempts=list(state.attempts),
        ran_row=state.ran_row,
        history=state.history,
        left=state.left,
        left_row=state.left_row,
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        started_at=state.started_at,
        ended_at=state.ended_at,
        started_row=state.started_row,
    )


def executor_state(tree: Tree, executor: Executor, order: int) -> ExecutorState:
    """An executor as its state; the root's carries the session."""
    return ExecutorState(
        execution_id=UUID(executor.id),
        node_actor_id=UUID(actor_id(tree.root, executor.node)),
        status=ExecutorStatus(executor.status),
        child_executor_ids=tuple(UUID(c) for c in executor.children),
        parent_id=None if executor.parent is None else UUID(executor.parent),
        node_name=executor.node,
        node_type=executor.node_type,
        via=executor.via,
        parent_run=executor.parent_run,
        called=executor.called,
        turn=executor.turn,
        depth=executor.depth,
        order=order,
        seq=tree.seq,
        runs=executor.runs,
        input=executor.input,
        composed=executor.composed,
        output=executor.output,
        says=executor.says,
        error=executor.error,
        calls=executor.calls,
        open_children=executor.open_children,
        failed_children=executor.failed_children,
        transitions=tuple(executor.transitions),
        question=executor.question,
        asked=executor.asked,
        answers=tuple(executor.answers),
        attempts=tuple(executor.attempts),
        ran_row=executor.ran_row,
        history=executor.history,
        left=executor.left,
        left_row=executor.left_row,
        input_tokens=executor.input_tokens,
        output_tokens=executor.output_tokens,
        started_at=executor.started_at,
        ended_at=executor.ended_at,
        started_row=executor.started_row,
        session=_session(tree) if executor.id == tree.root else None,
    )


def _session(tree: Tree) -> SessionState:
    turns = tuple(
        TurnState(
            number=t.number,
            executor_id=UUID(t.executor),
            context_keys=t.context_keys,
            graph=t.graph,
            runs=t.runs,
            llm_runs=dict(t.llm_runs),
            cancelled=t.cancelled,
            attached=t.attached,
            joins=tuple(_join_state(key, join) for key, join in t.joins.items()),
            expired=t.expired,
        )
        for t in tree.turns
    )
    return SessionState(session_id=tree.session_id, turns=turns, lineage=tree.lineage)


def _join_state(key: JoinKey, join: Join) -> JoinState:
    fork, run, node = key
    return JoinState(
        fork=UUID(fork),
        run=run,
        node=node,
        since=join.since,
        arrived={source: UUID(executor) for source, executor in join.arrived.items()},
        gone=join.gone,
        expired=join.expired,
        late=tuple(UUID(executor) for executor in join.late),
        outcome=join.outcome,
    )


def turn_of(state: TurnState) -> Turn:
    """A turn out of its state."""
    return Turn(
        state.number,
        str(state.executor_id),
        state.context_keys,
        state.graph,
        state.runs,
        dict(state.llm_runs),
        state.cancelled,
        state.attached,
        {(str(j.fork), j.run, j.node): _join_of(j) for j in state.joins},
        state.expired,
    )


def _join_of(state: JoinState) -> Join:
    return Join(
        state.since,
        {source: str(executor) for source, executor in state.arrived.items()},
        state.gone,
        state.expired,
        [str(executor) for executor in state.late],
        state.outcome,
    )


def actor_of(root: str, state: NodeActorState) -> NodeActor:
    """An actor out of its state."""
    return NodeActor.create_or_restore(root, state.node_name, state.node_type, state)


def actor_state(
    tree: Tree, actor: NodeActor, last_run: tuple[ExecutorState, ...] = ()
) -> NodeActorState:
    """An actor as its state.

    Args:
        tree: the session.
        actor: the actor.
        last_run: the executors that its last run changed, as they are now.
    """
    status = NodeActorStatus.SUSPENDED if actor.node in tree.held else NodeActorStatus.COMPLETED
    return NodeActorState(
        actor_id=UUID(actor.id),
        node_id=UUID(node_id(actor.node_type, actor.node)),
        node_name=actor.node,
        node_type=actor.node_type,
        status=status,
        has_error=actor.has_error,
        node_state=_node_state(actor),
        runs=actor.runs,
        last_run=LastRun(executors=last_run) if last_run else None,
    )


def _node_state(actor: NodeActor) -> NodeState:
    match actor.node_type:
        case "LLMNode":
            return LLMNodeState(messages=tuple(actor.messages), extras=actor.extras)
        case "ToolNode":
            return ToolNodeState(last_call=actor.last_call, extras=actor.extras)
        case "FunctionNode":
            return FunctionNodeState(extras=actor.extras)
        case _:
            return HumanNodeState(extras=actor.extras)


# ── a commit ─────────────────────────────────────────────────────────────────────────────────────


def touched(tree: Tree, row: AnyRow, changes: Changes) -> Touched:
    """The states that a row changed, in the order in which they must be saved.

    The executor that ran comes last, so that its actor is ahead of it if the saving is cut off. A
    run without an actor (a call of an unknown tool) comes first instead: its ancestors follow from
    it when the session is loaded. All of a cancellation follows from the root, which comes first.
    So does that a join has started without a run; its own executor is saved before.
    """
    order = {identity: i for i, identity in enumerate(tree.executors)}
    ran = row.executor if isinstance(row, RunRow | AskRow) else tree.root
    others = dict.fromkeys([ran, *changes.touched])  # what was unsaved may stand above what ran
    changed = [*(i for i in others if i != tree.root), tree.root]
    states = {
        identity: executor_state(tree, tree.executors[identity], order[identity])
        for identity in [*changes.created, *changed]
    }

    def ending_with(end: str) -> tuple[ExecutorState, ...]:
        return (*(states[i] for i in changed if i != end), states[end])

    def of_its_run(executor: str) -> tuple[ExecutorState, ...]:
        return (states[executor],) if isinstance(row, CancelRow) else ending_with(executor)

    after = ending_with(ran if ran in changes.actors.values() else tree.root)
    if isinstance(row, ExpireRow):
        after = (after[-1], *after[:-1])
    return Touched(
        first=states[tree.root] if isinstance(row, CancelRow) else None,
        new_executors=tuple(states[i] for i in reversed(changes.created) if i != tree.root),
        actors=tuple(
            actor_state(tree, tree.actors[node], of_its_run(executor))
            for node, executor in changes.actors.items()
        ),
        executors=after[:-1],
        last=after[-1],
    )


def whole(tree: Tree) -> Touched:
    """Every state of a session that is stored for the first time: the root last.

    Without a root nothing is there, so a saving that is cut off leaves no part of a session.
    """
    states = [executor_state(tree, e, i) for i, e in enumerate(tree.executors.values())]
    root, *others = states
    return Touched(
        new_executors=tuple(reversed(others)),
        actors=tuple(actor_state(tree, actor) for actor in tree.actors.values()),
        last=root,
    )
