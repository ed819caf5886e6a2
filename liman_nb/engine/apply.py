"""The only place that changes a tree: one row in, the tree as it is after it.

The same function runs live, before a row is committed, and when a session is loaded. It needs
neither the graph nor a clock: what cannot be derived from the tree stands in the row.

How an executor's status moves (`runnable` means it is in ``tree.idle``)::

    idle ──ask──▶ suspended   a person is asked (the executor is in ``tree.asking``)
      ▲             │
      └───answer────┘
    idle ──run──▶ suspended   tool calls or children are open
      ▲    │         │
      │    │         └─ its last child ends ─▶ idle        when the children are tool calls
      └────│─────────────────────────────────┘
           │                             └───▶ completed   or failed, if a child's failure was
           │                                               handled by nobody
           ├──▶ completed     no children
           └──▶ failed        an error that no edge reacted to
    anything open ──cancel──▶ cancelled
"""

from __future__ import annotations

from liman_nb.engine.actors import leave, remember
from liman_nb.engine.closing import cancel
from liman_nb.engine.starting import add, child_of, entering, joining
from liman_nb.engine.tree import UNKNOWN_TOOL, Changes, Executor, Join, Tree, Turn
from liman_nb.errors import EngineError
from liman_nb.state.rows import (
    AnswerRecord,
    AnswerRow,
    AnyRow,
    AskRow,
    CancelRow,
    ExpireRow,
    JoinRecord,
    RunRow,
    TurnRow,
)


def apply(tree: Tree, row: AnyRow) -> Changes:
    """Change the tree as the row says.

    Args:
        tree: changed in place.
        row: the row with number ``tree.seq``.

    Returns:
        What changed, and what was unsaved before.

    Raises:
        EngineError: the row does not fit the tree.
    """
    changes, tree.unsaved = tree.unsaved, Changes()
    match row:
        case TurnRow():
            _turn(tree, row, changes)
        case RunRow():
            _run(tree, row, changes)
        case AskRow():
            _ask(tree, row, changes)
        case AnswerRow():
            _answer(tree, row, changes)
        case ExpireRow():
            _expire(tree, row, changes)
        case CancelRow():
            cancel(tree, row, changes)
    tree.seq += 1
    return changes


# ── a turn starts ────────────────────────────────────────────────────────────────────────────────


def _turn(tree: Tree, row: TurnRow, changes: Changes) -> None:
    root = tree.executors.get(tree.root)
    if root is None:
        tree.lineage = row.lineage
        root = Executor(tree.root, row.node, row.node_type, via="root", started_at=row.at)
        tree.executors[root.id] = root
        changes.created.append(root.id)
    else:
        changes.touched.append(root.id)
    root.node, root.node_type, root.input = row.node, row.node_type, row.input
    root.turn = root.runs = row.turn
    root.status, root.output, root.error = "suspended", None, None
    root.open_children, root.failed_children = 1, 0
    executor = entering(tree, row)
    add(tree, root, executor, changes)
    tree.turns.append(
        Turn(row.turn, executor.id, row.context_keys, row.graph, attached=row.attached)
    )


# ── a node run ended ─────────────────────────────────────────────────────────────────────────────


def _run(tree: Tree, row: RunRow, changes: Changes) -> None:
    executor = _begun(tree, row.executor)
    turn = tree.turns[-1]
    turn.runs += 1
    if executor.node_type == "LLMNode":
        turn.llm_runs[executor.node] = turn.llm_runs.get(executor.node, 0) + 1
    if row.composed is not None:
        executor.composed = row.composed
    if executor.node_type != UNKNOWN_TOOL:
        changes.actors[executor.node] = executor.id
        remember(tree, executor, row)
    changes.touched.append(executor.id)
    executor.ran_row = tree.seq + 1
    _record(executor, row)
    for child in row.children:
        add(tree, executor, child_of(executor, child, row), changes)
    for join in row.joins:
        _join(tree, executor, join, row.at, changes)
    _settle(tree, executor, changes)


def _begun(tree: Tree, identity: str) -> Executor:
    """The executor of a run that ended or asks: one that could run, or that asked beforehand."""
    executor = tree.executors.get(identity)
    if executor is not None and identity in tree.idle:
        del tree.idle[identity]
        return executor
    if executor is not None and executor.question and executor.question.kind == "crash":
        del tree.asking[identity]
        executor.question = None
        return executor
    raise EngineError(f"a row of executor {identity} is stored, which could not run then")


def _record(executor: Executor, row: RunRow) -> None:
    executor.runs += 1
    executor.output, executor.says, executor.error = row.output, row.says, row.error
    executor.calls = row.calls
    executor.transitions.extend(row.transitions)
    executor.attempts.extend(row.attempts)
    if row.tokens is not None:
        executor.input_tokens += row.tokens.input_tokens
        executor.output_tokens += row.tokens.output_tokens
    executor.ended_at = row.at
    executor.open_children, executor.failed_children = len(row.children), 0


def _settle(tree: Tree, executor: Executor, changes: Changes) -> None:
    """The executor's status after its run, and what that means for its ancestors."""
    if executor.calls:
        tree.held[executor.node] = executor.id
    elif tree.held.get(executor.node) == executor.id:
        del tree.held[executor.node]
    if executor.open_children:
        executor.status = "suspended"
        return
    executor.status = "completed" if executor.error is None or _handled(executor) else "failed"
    _ended(tree, executor, changes)


def _handled(executor: Executor) -> bool:
    """Whether an edge reacted to the executor's failure."""
    return any(transition.outcome == "fired" for transition in executor.transitions)


def _ended(tree: Tree, executor: Executor, changes: Changes) -> None:
    """Walk upwards: who may go on and who has ended because this executor ended."""
    while executor.parent is not None:
        parent = tree.executors[executor.parent]
        if parent.runs != executor.parent_run:
            return  # a later run of the parent does not wait for this child
        parent.open_children -= 1
        if executor.status == "failed" and not parent.calls:
            parent.failed_children += 1
        changes.touched.append(parent.id)
        if parent.open_children:
            return
        if parent.calls:
            parent.status = "idle"
            tree.idle[parent.id] = None
            return
        parent.status = "failed" if parent.failed_children else "completed"
        if parent.id == tree.root:
            mirror(parent, executor)
        executor = parent


def mirror(root: Executor, turn: Executor) -> None:
    """The root shows the latest turn."""
    root.status, root.output, root.error = turn.status, turn.output, turn.error
    root.ended_at = turn.ended_at


# ── joins ────────────────────────────────────────────────────────────────────────────────────────


def _join(
    tree: Tree, source: Executor | None, record: JoinRecord, at: str, changes: Changes
) -> None:
    """What the source's run, or the time, means for a join; it starts as a child of its fork."""
    joins = tree.turns[-1].joins
    if record.fork not in tree.executors:
        raise EngineError(f"executor {record.fork} has a join and is not there")
    join = joins.setdefault((record.fork, record.run, record.node), Join(at))
    if source is not None and record.outcome == "late":
        join.late.append(source.id)
        return
    if source is not None and record.arrived:
        join.arrived[source.node] = source.id
    join.gone, join.expired = record.gone, join.expired or record.expired
    if record.outcome == "halts":
        join.outcome = "halted"
    elif record.outcome == "starts":
        join.outcome = "started"
        fork = tree.executors[record.fork]
        add(tree, fork, joining(tree, fork, join, record, at), changes)
        fork.open_children += 1
        changes.touched.append(fork.id)


def _expire(tree: Tree, row: ExpireRow, changes: Changes) -> None:
    tree.turns[-1].expired += 1
    for record in row.joins:
        _join(tree, None, record, row.at, changes)


# ── a person is asked, and answers ───────────────────────────────────────────────────────────────


def _ask(tree: Tree, row: AskRow, changes: Changes) -> None:
    executor = _begun(tree, row.executor)
    executor.status, executor.question = "suspended", row.question
    executor.asked += 1
    tree.asking[executor.id] = None
    changes.touched.append(executor.id)
    if row.state is not None:
        leave(tree, executor, row.state)
        changes.actors[executor.node] = executor.id


def _answer(tree: Tree, row: AnswerRow, changes: Changes) -> None:
    executor = tree.executors.get(row.executor)
    if executor is None or executor.question is None:
        raise EngineError(f"executor {row.executor} is answered, which asked nothing then")
    asked = executor.question
    executor.answers.append(
        AnswerRecord(
            kind=asked.kind,
            question=asked.text,
            at=row.at,
            value=row.value,
            late=row.late,
            missing=row.missing,
        )
    )
    executor.status, executor.question = "idle", None
    del tree.asking[executor.id]
    tree.idle[executor.id] = None
    changes.touched.append(executor.id)
