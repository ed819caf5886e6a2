"""Joins as they are shown: which branches arrived, which are missing, and what became of each.

Facts and their words, read off the tree. Only the graph knows which branches are still to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from liman_nb.engine.ids import child_id, join_via
from liman_nb.engine.tree import ENDED, Join, JoinKey, Tree, Turn
from liman_nb.specs.graph import Graph
from liman_nb.state.states import JoinStatus
from liman_nb.views.escape import one_line

_NAMES = 8


@dataclass(frozen=True, slots=True)
class ShownJoin:
    """A join of a turn.

    Attributes:
        node: name of the node that joins.
        fork: id of the executor whose branches it joins.
        executor: id of its executor; empty before it started.
        turn: number of the turn.
        is_over: whether that turn has ended.
        outcome: ``waits``, ``started`` or ``halted``.
        arrived: names of the sources that arrived, in the order of arriving.
        gone: those that can no longer arrive, or did not arrive in time.
        expired: whether it was given up waiting.
        missing: those that may still come; empty when the graph is not known.
    """

    node: str
    fork: str
    executor: str
    turn: int
    is_over: bool
    outcome: JoinStatus
    arrived: tuple[str, ...]
    gone: tuple[str, ...]
    expired: bool
    missing: tuple[str, ...]

    @property
    def lost(self) -> str:
        """Which sources it does without, and why, in words."""
        if self.expired:
            return f"{listed(self.gone)} did not arrive in time"
        return f"{listed(self.gone)} {'is' if len(self.gone) == 1 else 'are'} gone"

    @property
    def state(self) -> str:
        """Such as ``waits for policy (research arrived)`` or ``halted: policy is gone (…)``."""
        arrived = f"{listed(self.arrived)} arrived"
        if self.outcome == "started":
            return f"started: {arrived}; {self.lost}" if self.expired else f"started: {arrived}"
        if self.outcome == "halted":
            return f"halted: {self.lost} ({arrived})"
        verb = "waited" if self.is_over else "waits"
        known = f"{arrived}, {self.lost}" if self.gone else arrived
        return f"{verb} for {listed(self.missing) or 'more'} ({known})"


def shown_joins(tree: Tree, graph: Graph | None = None) -> list[ShownJoin]:
    """The joins of a session, in the order in which each turn's first branches arrived.

    Args:
        tree: the session.
        graph: the graph; without it, what is missing is not known.
    """
    return [shown for turn in tree.turns for shown in joins_of(tree, turn, graph)]


def joins_of(tree: Tree, turn: Turn, graph: Graph | None = None) -> Iterator[ShownJoin]:
    """The joins of one turn."""
    is_over = tree.executors[turn.executor].status in ENDED
    for key, join in turn.joins.items():
        yield _shown(key, join, turn, is_over, graph)


def _shown(key: JoinKey, join: Join, turn: Turn, is_over: bool, graph: Graph | None) -> ShownJoin:
    fork, run, name = key
    node = graph.nodes.get(name) if graph else None
    sources = node.join.sources if node and node.join else ()
    known = {*join.arrived, *join.gone}
    return ShownJoin(
        node=name,
        fork=fork,
        executor=child_id(fork, run, join_via(name)) if join.outcome == "started" else "",
        turn=turn.number,
        is_over=is_over,
        outcome=join.outcome,
        arrived=tuple(join.arrived),
        gone=join.gone,
        expired=join.expired,
        missing=tuple(source for source in sources if source not in known),
    )


def arrivals(tree: Tree, graph: Graph | None = None) -> dict[tuple[str, str], str]:
    """What became of every branch that came to a join.

    Returns:
        Words by the id of the executor that came and the name of the joining node, such as
        ``waits for policy`` or ``came too late: merge had started``.
    """
    found: dict[tuple[str, str], str] = {}
    for turn in tree.turns:
        for join, shown in zip(turn.joins.values(), joins_of(tree, turn, graph), strict=True):
            for source, identity in join.arrived.items():
                found[identity, shown.node] = _arrival(tree, shown, source, identity)
            for identity in join.late:
                found[identity, shown.node] = _lateness(tree, shown, join, identity)
    return found


def _arrival(tree: Tree, join: ShownJoin, source: str, identity: str) -> str:
    if join.outcome != "started":
        others = [name for name in join.arrived if name != source]
        beside = f"; {listed(others)} arrived, too" if others else ""
        if join.outcome == "halted":
            return f"the join halted: {join.lost}{beside}"
        return (
            f"{'waited' if join.is_over else 'waits'} for {listed(join.missing) or 'more'}{beside}"
        )
    started = tree.executors.get(join.executor)
    came = tree.executors[identity].ended_at
    if source == join.arrived[-1] and started is not None and came == started.started_at:
        return f"started the join of {listed(join.arrived)}"
    return f"joined with {listed([n for n in join.arrived if n != source]) or 'no other'}"


def _lateness(tree: Tree, shown: ShownJoin, join: Join, identity: str) -> str:
    """Why a branch counted for nothing."""
    late = tree.executors[identity]
    started = tree.executors.get(shown.executor)
    if started is not None and late.ended_at > started.started_at:
        return f"came too late: {one_line(shown.node)} had started"
    first = join.arrived.get(late.node)
    if first is not None and shown.outcome != "halted":
        return f"came too late: {one_line(late.node)} had arrived before"
    return f"came too late: {one_line(shown.node)} had {shown.outcome}"


def listed(names: Sequence[str]) -> str:
    """Names in one line, such as ``a, b and c``; those above eight are counted."""
    shown = [one_line(name) for name in names[:_NAMES]]
    if len(names) > _NAMES:
        shown.append(f"{len(names) - _NAMES:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
