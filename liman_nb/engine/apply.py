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

from typing import Any

from liman_nb.engine.ids import call_position, child_id, join_via, turn_id
from liman_nb.engine.messages import as_text, heard, said, tool_results
from liman_nb.engine.tree import ENDED, Changes, Executor, Join, NodeActor, Tree, Turn
from liman_nb.errors import EngineError
from liman_nb.specs.json_text import JsonProblem, read_json
from liman_nb.state.rows import (
    AnswerRecord,
    AnswerRow,
    AnyRow,
    AskRow,
    CancelRow,
    ChildRecord,
    ErrorRecord,
    ExpireRow,
    JoinRecord,
    RunRow,
    TurnRow,
)
from liman_nb.state.states import LastCall

UNKNOWN_TOOL = "UnknownTool"
"""Node type of a call that cannot be made: it names no tool of its caller, or one too many was
made. Such a call has no actor."""


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
            _cancel(tree, row, changes)
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
    executor = Executor(
        turn_id(tree.root, row.turn),
        row.node,
        row.node_type,
        parent=root.id,
        via=f"turn:{row.turn}",
        parent_run=row.turn,
        turn=row.turn,
        input=row.input,
        started_at=row.at,
    )
    _add(tree, root, executor, changes)
    tree.turns.append(
        Turn(row.turn, executor.id, row.context_keys, row.graph, attached=row.attached)
    )


def _add(tree: Tree, parent: Executor, executor: Executor, changes: Changes) -> None:
    if executor.id in tree.executors:
        raise EngineError(f"executor {executor.id} would start twice")
    executor.started_row = tree.seq
    tree.executors[executor.id] = executor
    tree.idle[executor.id] = None
    parent.children.append(executor.id)
    changes.created.append(executor.id)


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
        _remember(tree, executor, row)
    changes.touched.append(executor.id)
    executor.ran_row = tree.seq + 1
    _record(executor, row)
    for child in row.children:
        _add(tree, executor, _child(executor, child, row), changes)
    for join in row.joins:
        _join(tree, executor, join, row.at, changes)
    _settle(tree, executor, changes)


def _begun(tree: Tree, identity: str) -> Executor:
    """The executor of a run that has ended: one that could run, or that had asked beforehand."""
    executor = tree.executors.get(identity)
    if executor is not None and identity in tree.idle:
        del tree.idle[identity]
        return executor
    if executor is not None and executor.question and executor.question.kind == "crash":
        del tree.asking[identity]
        executor.question = None
        return executor
    raise EngineError(f"a run of executor {identity} is stored, which could not run then")


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


def _child(parent: Executor, child: ChildRecord, row: RunRow) -> Executor:
    return Executor(
        child_id(parent.id, parent.runs, child.via),
        child.node,
        child.node_type,
        parent=parent.id,
        via=child.via,
        parent_run=parent.runs,
        called=bool(row.calls),
        turn=parent.turn,
        depth=parent.depth + 1,
        input=_call_input(row, child.via) if row.calls else _edge_input(row),
        started_at=row.at,
    )


def _call_input(row: RunRow, via: str) -> Any:
    """The arguments of a call as a mapping, or the text that is none."""
    text = row.calls[call_position(via)].arguments
    try:
        value = read_json(text) if text.strip() else {}
    except JsonProblem:
        return text
    return value if isinstance(value, dict) else text


def _edge_input(row: RunRow) -> Any:
    return row.output if row.error is None else error_value(row.error)


def error_value(error: ErrorRecord) -> dict[str, str]:
    """A failure as the input of the node that reacts to it."""
    return {"type": error.type, "message": error.message}


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
    join.gone = record.gone
    if record.outcome == "halts":
        join.outcome = "halted"
    elif record.outcome == "starts":
        join.outcome = "started"
        fork = tree.executors[record.fork]
        _add(tree, fork, _joining(tree, fork, join, record, at), changes)
        fork.open_children += 1
        changes.touched.append(fork.id)


def _joining(tree: Tree, fork: Executor, join: Join, record: JoinRecord, at: str) -> Executor:
    """The executor of a join: its input are the outputs of its sources, by name."""
    via = join_via(record.node)
    sources = {name: tree.executors[join.arrived[name]] for name in record.takes}
    return Executor(
        child_id(fork.id, record.run, via),
        record.node,
        record.node_type,
        parent=fork.id,
        via=via,
        parent_run=record.run,
        turn=fork.turn,
        depth=fork.depth + 1,
        input={
            name: source.output if source.error is None else error_value(source.error)
            for name, source in sources.items()
        },
        started_at=at,
    )


def _expire(tree: Tree, row: ExpireRow, changes: Changes) -> None:
    tree.turns[-1].expired += 1
    for record in row.joins:
        _join(tree, None, record, row.at, changes)


# ── a person is asked, and answers ───────────────────────────────────────────────────────────────


def _ask(tree: Tree, row: AskRow, changes: Changes) -> None:
    executor = tree.executors.get(row.executor)
    if executor is None or executor.id not in tree.idle:
        raise EngineError(f"executor {row.executor} asks a person, which could not run then")
    del tree.idle[executor.id]
    executor.status, executor.question = "suspended", row.question
    executor.asked += 1
    tree.asking[executor.id] = None
    changes.touched.append(executor.id)
    if row.state is not None:
        _leave(tree, executor, row.state)
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


# ── actors ───────────────────────────────────────────────────────────────────────────────────────


def _remember(tree: Tree, executor: Executor, row: RunRow) -> None:
    """What the node's actor knows after this run. Called before the executor changes."""
    actor = _actor(tree, executor)
    if actor.node_type == "LLMNode":
        actor.messages += heard(tree, executor)
        if row.error is None:
            text = row.says if row.calls or row.says is not None else as_text(row.output)
            actor.messages += said(text, row.calls)
    elif actor.node_type == "ToolNode":
        _last_call(tree, actor, executor, row)
    if row.state is not None:
        _leave(tree, executor, row.state)
    actor.runs += 1
    actor.has_error = row.error is not None
    executor.history = len(actor.messages)


def _leave(tree: Tree, executor: Executor, extras: dict[str, Any]) -> None:
    """The executor leaves its node these extras."""
    _actor(tree, executor).extras = executor.left = extras
    executor.left_row = tree.seq + 1


def _actor(tree: Tree, executor: Executor) -> NodeActor:
    """The actor that runs an executor; a new one before its node's first run."""
    actor = tree.actors.get(executor.node)
    if actor is None:
        actor = NodeActor.create_or_restore(tree.root, executor.node, executor.node_type, None)
        tree.actors[executor.node] = actor
    if actor.node_type != executor.node_type:
        _become(actor, executor.node_type)
    return actor


def _become(actor: NodeActor, node_type: str) -> None:
    """The specs made another kind of the node: it keeps what every kind has, its extras."""
    actor.node_type, actor.messages, actor.last_call = node_type, [], None


def _last_call(tree: Tree, actor: NodeActor, executor: Executor, row: RunRow) -> None:
    """Keep the last call; of the calls of one reply, that with the highest position."""
    earlier = tree.executors.get(actor.last_call.executor) if actor.last_call else None
    if earlier is None or not is_later_call(earlier, executor):
        actor.last_call = LastCall(
            executor=executor.id, input=executor.input, output=row.output, error=row.error
        )


def is_later_call(one: Executor, other: Executor) -> bool:
    """Whether `one` answers a later call of the very reply that `other` answers a call of."""
    same_reply = (one.parent, one.parent_run) == (other.parent, other.parent_run)
    if not (one.called and other.called and same_reply):
        return False
    return call_position(one.via) > call_position(other.via)


# ── a turn is closed without finishing ───────────────────────────────────────────────────────────


def _cancel(tree: Tree, row: CancelRow, changes: Changes) -> None:
    tree.turns[-1].cancelled = row.reason or "cancelled"
    root = tree.executors[tree.root]
    _close(root, row.at)
    close_below(tree, changes)
    changes.touched.append(root.id)


def close_below(tree: Tree, changes: Changes) -> None:
    """Cancel what is open below a root that is cancelled.

    Everything here follows from the root, so a cancellation of which no more was saved than the
    root ends as any other. A history is closed once: its last message tells whether it is.
    """
    at = tree.executors[tree.root].ended_at
    for executor in _open(tree, tree.turns[-1].executor):
        if executor.calls:
            messages = tree.actors[executor.node].messages
            if "tool_calls" in messages[-1]:
                messages += tool_results(tree, executor)
            executor.history = len(messages)
            changes.actors[executor.node] = executor.id
        _close(executor, at)
        changes.touched.append(executor.id)
    tree.idle.clear()
    tree.asking.clear()
    tree.held.clear()


def _open(tree: Tree, top: str) -> list[Executor]:
    """The executors at and below `top` that have not ended, children before parents."""
    found, stack = [], [top]
    while stack:
        executor = tree.executors[stack.pop()]
        stack.extend(executor.children)
        if executor.status not in ENDED:
            found.append(executor)
    return found[::-1]


def _close(executor: Executor, at: str) -> None:
    executor.status, executor.calls, executor.ended_at = "cancelled", (), at
    executor.question, executor.open_children = None, 0
