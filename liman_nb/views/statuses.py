"""Which status is shown of an executor, of a node and of an edge. Pure rules on the stored tree.

The tree shows executors: suspended while their children run. The graph shows nodes of the latest
turn: done as soon as their run is committed. Otherwise everything would be suspended at once. Who
asks a person ``needs you`` in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from liman_nb.engine.tree import ENDED, Executor, Tree
from liman_nb.state.states import JoinStatus
from liman_nb.views.palette import OutcomeWord, StatusWord

_STORED: dict[str, StatusWord] = {
    "idle": "waiting",
    "suspended": "suspended",
    "completed": "done",
    "failed": "failed",
    "cancelled": "cancelled",
}

_OPEN: tuple[StatusWord, ...] = ("running", "needs you", "suspended", "waiting")


def executor_status(executor: Executor, running: Collection[str] = ()) -> StatusWord:
    """The status of an executor.

    Args:
        executor: of the tree.
        running: ids of the executors whose node runs at this moment; nothing stored says so.
    """
    if executor.id in running:
        return "running"
    return "needs you" if executor.question is not None else _STORED[executor.status]


def session_status(tree: Tree, running: Collection[str] = ()) -> StatusWord:
    """The latest turn's status: running while a node runs; else, whether a person is asked.

    A running tool may have left a question for the case that its process ends, which asks nobody.
    """
    if running:
        return "running"
    return "needs you" if tree.asking else _STORED[tree.status]


def latest_turn(tree: Tree) -> list[Executor]:
    """The executors of the latest turn, in creation order; none before the first turn."""
    if not tree.turns:
        return []
    number = tree.turns[-1].number
    return [e for e in tree.executors.values() if e.turn == number and e.id != tree.root]


def node_status(
    executors: Iterable[Executor],
    running: Collection[str],
    *,
    over: bool,
    join: JoinStatus | None = None,
) -> StatusWord:
    """The status of a node in a turn.

    Args:
        executors: the turn's executors of this node, in creation order.
        running: ids of the executors that run at this moment.
        over: whether the turn has ended, so that a node without executor is skipped for good.
        join: what became of the turn's latest join of this node, for a node that joins branches.
    """
    own = [_run_status(e, running) for e in executors]
    if join == "waits" and not over:
        own.append("waiting")
    elif join == "halted":
        own.append("skipped")
    if not own:
        return "skipped" if over else "waiting"
    return next((word for word in _OPEN if word in own), own[-1])


def is_over(tree: Tree) -> bool:
    """Whether the latest turn has ended."""
    return bool(tree.turns) and tree.status in ENDED


def edge_outcomes(executors: Iterable[Executor]) -> dict[tuple[str, str], OutcomeWord]:
    """The last outcome of each edge that was considered, by its source's name and its id."""
    return {(e.node, t.edge): t.outcome for e in executors for t in e.transitions}


def _run_status(executor: Executor, running: Collection[str]) -> StatusWord:
    """The status of an executor's own run, whatever its children do."""
    if executor.id in running:
        return "running"
    if executor.question is not None:
        return "needs you"
    if executor.error is not None:
        return "failed"
    committed = executor.runs > 0 and not executor.calls and executor.status != "idle"
    return "done" if committed else _STORED[executor.status]
