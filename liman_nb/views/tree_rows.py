"""The executors of a session as rows to show: taken once, in order, cut to a bound.

Plain frozen data, so that a view made from it stays as it was. Nothing is laid out here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from liman_nb.engine.tree import Executor, Tree
from liman_nb.specs.graph import Graph
from liman_nb.views.escape import one_line, value_text, visible
from liman_nb.views.graph_model import kind_word
from liman_nb.views.joins import listed, shown_joins
from liman_nb.views.moments import seconds_between
from liman_nb.views.palette import StatusWord
from liman_nb.views.statuses import executor_status, session_status

VALUE_CAP = 800
"""Characters kept of an executor's input, output and error."""

_NAME_CAP = 80
_ASKED_CAP = 200


@dataclass(frozen=True, slots=True)
class TreeRow:
    """An executor, without its values, which are made only for rows that show them.

    Attributes:
        id: its execution id.
        number: its number in the drawing; 0 for the root.
        node: the node's name; empty for the root.
        kind: the node's kind in a word.
        state: the stored status, or ``running``.
        status: the same as it is shown.
        branches: for each level down to the row, whether the executor of that level is the last of
            its siblings. The root's are empty.
        turn: the turn it belongs to.
        tokens: of its runs, input and output.
        seconds: from its start to the end of its last run; ``None`` before.
        error: type and message; empty when it did not fail.
        notes: what it asks, which branches it joined, and joins of its own branches that wait or
            halted, each in words on one line.
    """

    id: str
    number: int
    node: str
    kind: str
    state: str
    status: StatusWord
    branches: tuple[bool, ...]
    turn: int
    tokens: int
    seconds: float | None
    error: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """The rows of a session, as many as fit a bound.

    Attributes:
        rows: the root, then turns with everything under them, depth first.
        total: executors in the session, or in the latest turn if only that is asked for.
        earlier_turns: the oldest turns, left out.
        cut: executors left out at the end of the latest turn.
    """

    rows: tuple[TreeRow, ...]
    total: int
    earlier_turns: int
    cut: int


def snapshot(
    tree: Tree,
    running: Collection[str] = (),
    *,
    limit: int,
    latest_only: bool = False,
    graph: Graph | None = None,
) -> TreeSnapshot:
    """Take the rows of a session.

    Args:
        tree: the session.
        running: ids of the executors that run at this moment.
        limit: executors at most: the latest turns that fit. When the latest one alone is longer, it
            is shown cut.
        latest_only: only the latest turn.
        graph: the graph, which knows the branches that a join still waits for.
    """
    root = tree.executors.get(tree.root)
    if root is None:
        return TreeSnapshot((), 0, 0, 0)
    sizes = Counter(e.turn for e in tree.executors.values() if e is not root)
    first = _first_shown(root.children, sizes, 0 if latest_only else limit)
    top = replace(_row(root, 0, (), running, ()), status=session_status(tree, running))
    rows = [top, *islice(_walk(tree, root, first, running, _join_notes(tree, graph)), limit)]
    shown = sum(sizes[number + 1] for number in range(first, len(root.children)))
    total = shown if latest_only else len(tree.executors)
    return TreeSnapshot(tuple(rows), total, first, max(shown - limit, 0))


def _first_shown(turns: Sequence[str], sizes: Mapping[int, int], limit: int) -> int:
    """Position of the first turn that is shown."""
    first = len(turns)
    room = limit
    while first > 0 and (sizes[first] <= room or first == len(turns)):
        room -= sizes[first]
        first -= 1
    return first


def _walk(
    tree: Tree,
    root: Executor,
    first: int,
    running: Collection[str],
    joins: Mapping[str, Sequence[str]],
) -> Iterator[TreeRow]:
    """The executors below the root from a turn on, depth first, without recursion."""
    waiting = [iter(_children(root, 0, (), first))]
    while waiting:
        following = next(waiting[-1], None)
        if following is None:
            waiting.pop()
            continue
        identity, number, branches = following
        executor = tree.executors[identity]
        asks = [_asks(executor)] if executor.question and identity not in running else []
        notes = (*asks, *joins.get(identity, ()))
        yield _row(executor, number, branches, running, notes)
        waiting.append(iter(_children(executor, number, branches)))


def _children(
    parent: Executor, number: int, branches: tuple[bool, ...], first: int = 0
) -> list[tuple[str, int, tuple[bool, ...]]]:
    """Id, number and branches of the children.

    Numbers count on from the parent's, as in the drawing on Liman's page on state: the root's
    children are 1, 2, 3; those of number 2 are 3 and 4.
    """
    last = len(parent.children) - 1
    return [
        (child, number + position + 1, (*branches, position == last))
        for position, child in enumerate(parent.children)
        if position >= first
    ]


def _asks(executor: Executor) -> str:
    assert executor.question is not None, "only executors that ask are told of"
    return f"asks: {one_line(executor.question.text, _ASKED_CAP)}"


def _join_notes(tree: Tree, graph: Graph | None) -> dict[str, list[str]]:
    """What is said of joins, by the id of the executor whose row says it."""
    notes: dict[str, list[str]] = defaultdict(list)
    for join in shown_joins(tree, graph):
        if join.outcome == "started":
            notes[join.executor].append(f"joins {listed(join.arrived)}")
        else:
            notes[join.fork].append(f"{one_line(join.node)} {join.state}")
    return notes


def _row(
    executor: Executor,
    number: int,
    branches: tuple[bool, ...],
    running: Collection[str],
    notes: tuple[str, ...],
) -> TreeRow:
    error = executor.error
    return TreeRow(
        id=executor.id,
        number=number,
        node=one_line(executor.node, _NAME_CAP) if branches else "",
        kind=kind_word(executor.node_type),
        state="running" if executor.id in running else executor.status,
        status=executor_status(executor, running),
        branches=branches,
        turn=executor.turn,
        tokens=executor.input_tokens + executor.output_tokens,
        seconds=seconds_between(executor.started_at, executor.ended_at),
        error=visible(f"{error.type}: {error.message}", VALUE_CAP) if error else "",
        notes=notes,
    )


def values_of(tree: Tree, rows: Iterable[TreeRow]) -> dict[str, tuple[tuple[str, str], ...]]:
    """What rows' executors were given, tried and made, by id: labels and texts that are there."""
    executors = (tree.executors[row.id] for row in rows)
    return {e.id: tuple(_values(e)) for e in executors}


def _values(executor: Executor) -> Iterator[tuple[str, str]]:
    yield "input", _value(executor.input)
    for attempt in executor.attempts:
        said = f"\n{attempt.reply}" if attempt.reply else ""
        error = f"{attempt.error.type}: {attempt.error.message}"
        yield "tried before", visible(f"{error}{said}", VALUE_CAP)
    yield "output", _value(executor.output)


def _value(value: object) -> str:
    return "" if value is None else value_text(value, VALUE_CAP)
