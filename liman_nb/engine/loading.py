"""A session out of its storage.

A storage with a journal gives its rows, and the tree is what they add up to. From any other the
tree is put together out of the states of its executors and actors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from liman_nb.engine.apply import apply
from liman_nb.engine.states import actor_of, actor_state, executor_of, executor_state, turn_of
from liman_nb.engine.tree import ENDED, Executor, Tree
from liman_nb.errors import EngineError, StorageError
from liman_nb.state.rows import CancelRow, RunRow, TurnRow
from liman_nb.state.states import ExecutorState, NodeActorState
from liman_nb.state.storage import Projection, StateStorage, load_actor, load_executor


async def load_tree(storage: StateStorage, root: str, session_id: str | None) -> Tree:
    """A session as it is stored; an empty tree when nothing is.

    Args:
        storage: where it is stored.
        root: id of its root executor.
        session_id: its text id; ``None`` where only the root's id is known.

    Raises:
        StorageError: what is stored is not a session of this version.
    """
    rows = await storage.load_rows(root)
    if rows is None:
        return await _from_states(storage, root, session_id)
    return tree_of(root, rows, session_id)


def tree_of(
    root: str, rows: Sequence[TurnRow | RunRow | CancelRow], session_id: str | None = None
) -> Tree:
    """The tree that rows add up to.

    Raises:
        StorageError: the rows do not fit each other.
    """
    first = rows[0] if rows else None
    name = first.session_id if isinstance(first, TurnRow) else session_id
    tree = Tree(name or "", root)
    for row in rows:
        try:
            apply(tree, row)
        except (EngineError, LookupError) as error:
            raise StorageError(
                f"row {tree.seq} of session {tree.session_id!r} does not fit the rows before it: "
                f"{error}. The journal is damaged; nothing was changed"
            ) from error
    return tree


async def _from_states(storage: StateStorage, root: str, session_id: str | None) -> Tree:
    top = await load_executor(storage, root)
    if top is None or top.session is None:
        return Tree(session_id or "", root)
    executors = {root: top}
    await _load_below(storage, executors, [root])
    actors = await _load_actors(storage, root, executors.values())
    for actor in actors:
        ahead = _ahead(actor, executors)
        executors.update(ahead)
        await _load_below(storage, executors, list(ahead))
    return _tree(root, executors, actors)


async def _load_below(
    storage: StateStorage, executors: dict[str, ExecutorState], tops: list[str]
) -> None:
    todo = [str(c) for top in tops for c in executors[top].child_executor_ids]
    while todo:
        identity = todo.pop()
        if identity in executors:
            continue
        state = await load_executor(storage, identity)
        if state is None:
            raise StorageError(
                f"executor {identity} is a child of another one and is not stored; the storage "
                f"{storage!r} has lost what it was given"
            )
        executors[identity] = state
        todo += map(str, state.child_executor_ids)


async def _load_actors(
    storage: StateStorage, root: str, executors: Iterable[ExecutorState]
) -> list[NodeActorState]:
    identities = dict.fromkeys(str(e.node_actor_id) for e in executors)
    found = [await load_actor(storage, root, identity) for identity in identities]
    return [actor for actor in found if actor is not None]


def _ahead(actor: NodeActorState, executors: dict[str, ExecutorState]) -> dict[str, ExecutorState]:
    """The executors of the actor's last run, if saving that run was cut off."""
    if actor.last_run is None:
        return {}
    after = actor.last_run.executors
    stored = executors.get(str(after[-1].execution_id))
    if stored is not None and stored.runs >= after[-1].runs:
        return {}
    return {str(state.execution_id): state for state in after}


def _tree(root: str, executors: dict[str, ExecutorState], actors: list[NodeActorState]) -> Tree:
    session = executors[root].session
    assert session is not None, "checked when the root was loaded"
    tree = Tree(session.session_id, root, seq=session.seq)
    for state in sorted(executors.values(), key=lambda s: s.order):
        tree.executors[str(state.execution_id)] = executor_of(state)
    for actor in actors:
        tree.actors[actor.node_name] = actor_of(root, actor)
    tree.turns = [turn_of(state) for state in session.turns]
    if tree.turns:
        _reopen(tree)
    return tree


def _reopen(tree: Tree) -> None:
    """What may run, and who holds an actor, follows from the statuses; children before parents.

    A saving that was cut off may have left an executor waiting for children that have all ended.
    """
    for executor in reversed(tree.executors.values()):
        if executor.status == "suspended":
            _settle(executor, [tree.executors[c] for c in executor.children])
    for executor in tree.executors.values():
        if executor.status == "idle":
            tree.idle[executor.id] = None
        if executor.calls:
            tree.held[executor.node] = executor.id


def _settle(executor: Executor, children: list[Executor]) -> None:
    statuses = [c.status for c in children if c.parent_run == executor.runs]
    executor.open_children = sum(status not in ENDED for status in statuses)
    executor.failed_children = 0 if executor.calls else statuses.count("failed")
    if executor.open_children:
        return
    if executor.calls:
        executor.status = "idle"
    elif "cancelled" in statuses:
        executor.status = "cancelled"
    else:
        executor.status = "failed" if executor.failed_children else "completed"


def project(root: str, rows: Sequence[TurnRow | RunRow | CancelRow]) -> Projection:
    """A session's rows as states, for readers that know only Liman's four methods."""
    tree = tree_of(root, rows)
    return Projection(
        {e.id: executor_state(tree, e, i) for i, e in enumerate(tree.executors.values())},
        {a.id: actor_state(tree, a) for a in tree.actors.values()},
    )
