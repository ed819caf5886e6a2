"""A session's first turns as another session: the same rows, or the same tree, under other ids.

Pure. The ids of executors are derived from the root's, so a copy has its own. Where a journal is
kept, its rows are copied; elsewhere the tree is, cut back to what it was after a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import takewhile

from liman_nb.engine.actors import is_later_call
from liman_nb.engine.apply import mirror
from liman_nb.engine.ids import actor_id, child_id, turn_id
from liman_nb.engine.loading import count_rows
from liman_nb.engine.messages import Message
from liman_nb.engine.tree import UNKNOWN_TOOL, Executor, Join, JoinKey, NodeActor, Tree, Turn
from liman_nb.errors import UsageError
from liman_nb.state.rows import (
    AnswerRow,
    AnyRow,
    AskRow,
    ExpireRow,
    LineageRecord,
    RunRow,
    TurnRow,
)
from liman_nb.state.states import LastCall


@dataclass(frozen=True, slots=True)
class Copy:
    """What a session begins as: rows, or a tree where no journal is kept, or nothing stored yet.

    Attributes:
        lineage: where it comes from.
        rows: its journal.
        tree: the session.
    """

    lineage: LineageRecord
    rows: Sequence[AnyRow] = ()
    tree: Tree | None = None


Ids = Mapping[str, str]
"""The id that each executor has in the copy, by the one that it has."""


def ids_under(tree: Tree, root: str) -> Ids:
    """The ids that the executors of a tree have under another root."""
    ids, todo = {tree.root: root}, [tree.root]
    while todo:
        parent = todo.pop()
        for executor in map(tree.executors.__getitem__, tree.executors[parent].children):
            if parent == tree.root:
                ids[executor.id] = turn_id(root, executor.turn)
            else:
                ids[executor.id] = child_id(ids[parent], executor.parent_run, executor.via)
            todo.append(executor.id)
    return ids


def copied(
    parent: Tree, rows: Sequence[AnyRow] | None, turns: int | None, root: str, session_id: str
) -> Copy:
    """What a fork of a session begins as.

    Args:
        parent: the session.
        rows: what it adds up from; ``None`` where no journal is kept.
        turns: how many turns to take over; all for ``None``, an open last one included.
        root: id of the fork's root executor.
        session_id: its text id.

    Raises:
        UsageError: it has fewer turns; or as for `forked_tree`.
    """
    there = len(parent.turns)
    number = there if turns is None else turns
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= there:
        raise UsageError(
            f"at_turn is how many turns to take over of session {parent.session_id!r}, from 0 to "
            f"{there}, not {turns!r:.80}"
        )
    lineage = LineageRecord(session_id=parent.session_id, root=parent.root, turns=number)
    if number == 0:
        return Copy(lineage)
    if rows is None:
        return Copy(lineage, tree=forked_tree(parent, lineage, root, session_id))
    return Copy(lineage, rows=forked_rows(rows, parent, lineage, root, session_id))


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def first_turns(rows: Sequence[AnyRow], turns: int) -> Sequence[AnyRow]:
    """The rows of the first turns, at least one of them."""
    later = (i for i, row in enumerate(rows) if isinstance(row, TurnRow) and row.turn > turns)
    return rows[: next(later, len(rows))]


def forked_rows(
    rows: Sequence[AnyRow], parent: Tree, lineage: LineageRecord, root: str, session_id: str
) -> list[AnyRow]:
    """The rows of a fork of a session.

    Args:
        rows: the session's.
        parent: what they add up to.
        lineage: how many turns to take over; at least one.
        root: id of the fork's root executor.
        session_id: its text id.
    """
    first, *others = moved_rows(first_turns(rows, lineage.turns), parent, root, session_id)
    return [first.model_copy(update={"lineage": lineage}), *others]


def moved_rows(rows: Iterable[AnyRow], tree: Tree, root: str, session_id: str) -> list[AnyRow]:
    """Rows of a session under another root; nothing else about them changes.

    Args:
        rows: all of them, or the first ones.
        tree: what all of them add up to.
        root: id of the other root executor.
        session_id: the text id under it.
    """
    ids = ids_under(tree, root)
    return [_moved(row, ids, session_id) for row in rows]


def _moved(row: AnyRow, ids: Ids, session_id: str) -> AnyRow:
    match row:
        case TurnRow():
            return row.model_copy(update={"session_id": session_id})
        case RunRow():
            joins = tuple(j.model_copy(update={"fork": ids[j.fork]}) for j in row.joins)
            return row.model_copy(update={"executor": ids[row.executor], "joins": joins})
        case ExpireRow():
            joins = tuple(j.model_copy(update={"fork": ids[j.fork]}) for j in row.joins)
            return row.model_copy(update={"joins": joins})
        case AskRow() | AnswerRow():
            return row.model_copy(update={"executor": ids[row.executor]})
        case _:
            return row


# ── a tree ───────────────────────────────────────────────────────────────────────────────────────


def forked_tree(tree: Tree, lineage: LineageRecord, root: str, session_id: str) -> Tree:
    """A session's tree as it was after a turn, as that of a fork of it. It shares nothing with it.

    Args:
        tree: the session.
        lineage: how many turns to take over; at least one.
        root: id of the fork's root executor.
        session_id: its text id.

    Raises:
        UsageError: a node's messages are no longer known, as it became another kind of node since.
    """
    ids = ids_under(tree, root)
    turns, fork = lineage.turns, Tree(session_id, root, lineage=lineage)
    for executor in tree.executors.values():
        if executor.turn <= turns or executor.id == tree.root:
            fork.executors[ids[executor.id]] = _moved_executor(executor, ids)
    fork.turns = [_moved_turn(turn, ids) for turn in tree.turns[:turns]]
    if turns < len(tree.turns):
        _cut_root(fork)
    fork.actors = {actor.node: actor for actor in _actors(tree, turns, fork, ids)}
    fork.seq = count_rows(fork)
    if turns == len(tree.turns):
        fork.idle = {ids[identity]: None for identity in tree.idle}
        fork.asking = {ids[identity]: None for identity in tree.asking}
        fork.held = {node: ids[identity] for node, identity in tree.held.items()}
    return fork


def _moved_executor(executor: Executor, ids: Ids) -> Executor:
    return replace(
        deepcopy(executor),
        id=ids[executor.id],
        parent=None if executor.parent is None else ids[executor.parent],
        children=[ids[child] for child in executor.children],
    )


def _moved_turn(turn: Turn, ids: Ids) -> Turn:
    return replace(
        turn,
        executor=ids[turn.executor],
        llm_runs=dict(turn.llm_runs),
        joins=dict(_moved_join(key, join, ids) for key, join in turn.joins.items()),
    )


def _moved_join(key: JoinKey, join: Join, ids: Ids) -> tuple[JoinKey, Join]:
    fork, run, node = key
    arrived = {source: ids[executor] for source, executor in join.arrived.items()}
    late = [ids[executor] for executor in join.late]
    return (ids[fork], run, node), replace(join, arrived=arrived, late=late)


def _cut_root(fork: Tree) -> None:
    """The root as it was when the fork's last turn, which was not the last, had ended."""
    root, last = fork.executors[fork.root], fork.executors[fork.turns[-1].executor]
    root.node, root.node_type, root.input = last.node, last.node_type, last.input
    root.turn = root.runs = last.turn
    root.children = [turn.executor for turn in fork.turns]
    mirror(root, last)
    root.open_children, root.failed_children = 0, int(last.status == "failed")
    if last.status == "cancelled":
        root.output = root.error = None


# ── actors as they were ──────────────────────────────────────────────────────────────────────────


def _actors(tree: Tree, turns: int, fork: Tree, ids: Ids) -> Iterator[NodeActor]:
    """The actors as they were after a turn."""
    for node, executors in _traces(tree).items():
        until = [e for e in executors if e.turn <= turns]
        if until:
            kind = until[-1].node_type
            if kind == "LLMNode" and any(e.node_type != kind for e in executors[len(until) :]):
                raise _not_kept(tree, node)
            messages = tree.actors[node].messages
            yield _actor(NodeActor(actor_id(fork.root, node), node, kind), until, messages, ids)


def _traces(tree: Tree) -> dict[str, list[Executor]]:
    """By node, the executors that its actor has run or got something from, the latest last."""
    found: dict[str, list[Executor]] = {}
    for executor in sorted(tree.executors.values(), key=_last_trace):
        if _last_trace(executor) and executor.node_type != UNKNOWN_TOOL:
            found.setdefault(executor.node, []).append(executor)
    return found


def _last_trace(executor: Executor) -> int:
    return max(executor.ran_row, executor.left_row)


def _actor(
    actor: NodeActor, executors: Sequence[Executor], messages: Sequence[Message], ids: Ids
) -> NodeActor:
    """The actor as these executors have left it; `messages` are those of now."""
    ran = sorted((e for e in executors if e.ran_row), key=lambda e: e.ran_row)
    actor.runs = sum(e.runs for e in ran)
    actor.has_error = bool(ran) and ran[-1].error is not None
    if actor.node_type == "LLMNode":
        actor.messages = deepcopy(list(messages[: executors[-1].history]))
    elif actor.node_type == "ToolNode":
        alike = takewhile(lambda e: e.node_type == actor.node_type, reversed(executors))
        since = {e.id for e in alike}  # since it is this kind of node
        actor.last_call = _last_call([e for e in ran if e.id in since], ids)
    actor.extras = deepcopy(max(executors, key=lambda e: e.left_row).left or {})
    return actor


def _last_call(calls: Iterable[Executor], ids: Ids) -> LastCall | None:
    last: Executor | None = None
    for call in calls:
        if last is None or not is_later_call(last, call):
            last = call
    if last is None:
        return None
    return LastCall(
        executor=ids[last.id],
        input=deepcopy(last.input),
        output=deepcopy(last.output),
        error=last.error,
    )


def _not_kept(tree: Tree, node: str) -> UsageError:
    return UsageError(
        f"session {tree.session_id!r}: what {node} remembered then is no longer stored, as the "
        f"specs made another kind of node of it since. Fork a later turn, or use one of the "
        f"built-in storages, which keep a journal"
    )
