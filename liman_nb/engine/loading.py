"""A session out of its storage.

A storage with a journal gives its rows, and the tree is what they add up to. From any other the
tree is put together out of the states of its executors and actors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from liman_nb.engine.apply import apply, mirror
from liman_nb.engine.closing import close_below
from liman_nb.engine.ids import child_id, join_via
from liman_nb.engine.states import actor_of, actor_state, executor_of, executor_state, turn_of
from liman_nb.engine.tree import ENDED, Executor, Tree
from liman_nb.errors import EngineError, StorageError
from liman_nb.state.rows import AnyRow, TurnRow
from liman_nb.state.states import ExecutorState, NodeActorState, SessionState
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


def tree_of(root: str, rows: Sequence[AnyRow], session_id: str | None = None) -> Tree:
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
        except (EngineError, LookupError, ValueError) as error:
            raise StorageError(
                f"row {tree.seq} of session {tree.session_id!r} does not fit the rows before it: "
                f"{error}. The journal is damaged; nothing was changed"
            ) from error
    return tree


def ends_open(root: str, rows: Sequence[AnyRow]) -> bool:
    """Whether the last turn of the session that rows make is open.

    Raises:
        StorageError: the rows do not fit each other.
    """
    return tree_of(root, rows).is_open


async def _from_states(storage: StateStorage, root: str, session_id: str | None) -> Tree:
    top = await load_executor(storage, root)
    if top is None or top.session is None:
        return Tree(session_id or "", root)
    executors = {root: top}
    await _load_below(storage, executors, [root])
    started = await _load_joins(storage, executors, top.session)
    actors = await _load_actors(storage, root, executors.values())
    unsaved = _rolled_forward(executors, root, actors)
    await _load_below(storage, executors, unsaved)
    unsaved += started
    try:
        return _tree(root, executors, actors, unsaved)
    except (EngineError, LookupError, ValueError) as error:
        raise StorageError(
            f"the states of session {top.session.session_id!r} do not fit each other: {error}. The "
            f"storage {storage!r} is damaged; nothing was changed"
        ) from error


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


async def _load_joins(
    storage: StateStorage, executors: dict[str, ExecutorState], session: SessionState
) -> list[str]:
    """Joins that the root says have started and their forks do not yet; the ids of those forks."""
    behind: list[str] = []
    for join in (join for turn in session.turns for join in turn.joins):
        fork = executors.get(str(join.fork))
        identity = child_id(str(join.fork), join.run, join_via(join.node))
        if join.outcome != "started" or fork is None or UUID(identity) in fork.child_executor_ids:
            continue
        children = (*fork.child_executor_ids, UUID(identity))
        executors[str(join.fork)] = fork.model_copy(update={"child_executor_ids": children})
        behind.append(str(join.fork))
    await _load_below(storage, executors, behind)
    return behind


async def _load_actors(
    storage: StateStorage, root: str, executors: Iterable[ExecutorState]
) -> list[NodeActorState]:
    identities = dict.fromkeys(str(e.node_actor_id) for e in executors)
    found = [await load_actor(storage, root, identity) for identity in identities]
    return [actor for actor in found if actor is not None]


def _rolled_forward(
    executors: dict[str, ExecutorState], root: str, actors: Iterable[NodeActorState]
) -> list[str]:
    """Take from the actors what was cut off when their last runs were saved; the ids of that.

    A state may be as new as a stored one that differs: one that was saved with a row of which the
    rest was not. The root, which is among the last to be saved, is older than both then.
    """
    unsaved: list[str] = []
    complete = executors[root].seq
    for actor in actors:
        for after in actor.last_run.executors if actor.last_run else ():
            identity = str(after.execution_id)
            stored = executors.get(identity)
            newest = -1 if stored is None else stored.seq
            if after.seq > newest or (after.seq == newest > complete and after != stored):
                executors[identity] = after
                unsaved.append(identity)
    return unsaved


def _tree(
    root: str, executors: dict[str, ExecutorState], actors: list[NodeActorState], unsaved: list[str]
) -> Tree:
    session = executors[root].session
    assert session is not None, "checked when the root was loaded"
    tree = Tree(session.session_id, root, lineage=session.lineage)
    tree.unsaved.touched += unsaved
    for state in sorted(executors.values(), key=lambda s: s.order):
        tree.executors[str(state.execution_id)] = executor_of(state)
    for actor in actors:
        tree.actors[actor.node_name] = actor_of(root, actor)
    tree.turns = [turn_of(state) for state in session.turns]
    _check_places(tree)
    if tree.turns:
        _derive(tree)
    return tree


def _check_places(tree: Tree) -> None:
    """Each executor is a child of its parent, of one turn, and started once."""
    for executor in tree.executors.values():
        for child in map(tree.executors.__getitem__, executor.children):
            if child.parent != executor.id or not 1 <= child.turn <= len(tree.turns):
                raise EngineError(f"executor {child.id} is not where its parent has it")
        if len(set(executor.children)) < len(executor.children):
            raise EngineError(f"executor {executor.id} has a child twice")


def _derive(tree: Tree) -> None:
    """Whatever follows from the executors' own ends, since a saving may have left it behind."""
    for executor in reversed(tree.executors.values()):  # children before parents
        if executor.status == "suspended" and executor.question is None:
            _settle(tree, executor)
    if tree.status == "cancelled":
        close_below(tree, tree.unsaved)
    _count_runs(tree)
    tree.seq = count_rows(tree)
    for executor in tree.executors.values():
        if executor.status == "idle":
            tree.idle[executor.id] = None
        if executor.question is not None:
            tree.asking[executor.id] = None
        if executor.calls:
            tree.held[executor.node] = executor.id


def _settle(tree: Tree, executor: Executor) -> None:
    """Whether a waiting executor still waits, or what it came to."""
    children = [tree.executors[c] for c in executor.children]
    statuses = [c.status for c in children if c.parent_run == executor.runs]
    executor.open_children = sum(status not in ENDED for status in statuses)
    executor.failed_children = 0 if executor.calls else statuses.count("failed")
    if executor.open_children or "cancelled" in statuses:
        return
    if executor.calls:
        executor.status = "idle"
    else:
        executor.status = "failed" if executor.failed_children else "completed"
    if executor.id == tree.root:
        mirror(executor, children[-1])
    tree.unsaved.touched.append(executor.id)


def _count_runs(tree: Tree) -> None:
    for turn in tree.turns:
        turn.runs, turn.llm_runs = 0, {}
    for executor in tree.executors.values():
        if executor.id != tree.root and executor.runs:
            turn = tree.turns[executor.turn - 1]
            turn.runs += executor.runs
            if executor.node_type == "LLMNode":
                runs = turn.llm_runs.get(executor.node, 0)
                turn.llm_runs[executor.node] = runs + executor.runs


def count_rows(tree: Tree) -> int:
    """How many rows made this tree: each one has left its trace."""
    turns = sum(1 + turn.runs + turn.expired + bool(turn.cancelled) for turn in tree.turns)
    return turns + sum(e.asked + len(e.answers) for e in tree.executors.values())


def project(root: str, rows: Sequence[AnyRow]) -> Projection:
    """A session's rows as states, for readers that know only Liman's four methods."""
    tree = tree_of(root, rows)
    return Projection(
        {e.id: executor_state(tree, e, i) for i, e in enumerate(tree.executors.values())},
        {a.id: actor_state(tree, a) for a in tree.actors.values()},
    )
