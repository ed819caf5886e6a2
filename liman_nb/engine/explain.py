"""Why each edge of a node fired, did not, or could not be decided. Pure: read off graph and tree.

What was decided, and with which values, was stored with the node run; nothing is evaluated here
again. Showing it is not this file's job: see `views/explanation.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal

from liman_nb.engine.tree import Executor, Join, JoinKey, Tree
from liman_nb.specs.conditions.filled import filled
from liman_nb.specs.graph import Edge, Graph
from liman_nb.state.rows import TransitionRecord
from liman_nb.state.states import JoinStatus

EdgeOutcome = Literal["fired", "not fired", "undecided", "not considered"]
ShownStatus = JoinStatus | Literal["nothing arrived"]

_SAID: dict[EdgeOutcome, str] = {
    "fired": "fired",
    "not fired": "did not fire",
    "undecided": "could not be decided, so it did not fire",
    "not considered": "was not considered",
}


@dataclass(frozen=True, slots=True)
class EdgeExplanation:
    """What became of an edge after one run of its node.

    Attributes:
        source: the node that it leaves.
        target: the node that it leads to.
        outcome: ``fired``, ``not fired``, ``undecided``, or ``not considered``.
        condition: as written; empty for an edge without one.
        filled: the condition with the values put in that it read; empty where nothing was put in.
        from_context: the names that it read from the context, whose values are never kept.
        why: in words.
    """

    source: str
    target: str
    outcome: EdgeOutcome
    condition: str = ""
    filled: str = ""
    from_context: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        """One sentence."""
        said = f"{self.source} → {self.target} {_SAID[self.outcome]}"
        return f"{said}: {self.why}" if self.why else said


@dataclass(frozen=True, slots=True)
class RunExplanation:
    """One execution of the node in the turn.

    Attributes:
        executor: its id.
        state: what it came to, or what it waits for, in words.
        at: when it ended, UTC, ISO 8601 with ``Z``; empty before.
        edges: the node's edges, first those that were considered, in the order of considering.
    """

    executor: str
    state: str
    at: str
    edges: tuple[EdgeExplanation, ...]


@dataclass(frozen=True, slots=True)
class JoinExplanation:
    """A node that waits for several branches, and the branches so far.

    Attributes:
        node: name of the node that joins them.
        wait_for: what it waits for, as written; empty when the specs no longer say so.
        outcome: whether it ``waits``, ``started``, ``halted`` since it can start no more, or
            ``nothing arrived`` there.
        arrived: the sources whose branches arrived, in order.
        gone: the sources that can no longer arrive, or did not arrive in time.
        expired: whether it was given up waiting (``wait_for_timeout``).
        open: the sources that may still arrive.
        late: how many branches came too late to count.
    """

    node: str
    wait_for: str
    outcome: ShownStatus
    arrived: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    expired: bool = False
    open: tuple[str, ...] = ()
    late: int = 0

    def __str__(self) -> str:
        """One sentence."""
        lost = "did not arrive in time" if self.expired else "can no longer arrive"
        known = [
            f"arrived: {', '.join(self.arrived)}" if self.arrived else "",
            f"{lost}: {', '.join(self.gone)}" if self.gone else "",
            f"may still arrive: {', '.join(self.open)}" if self.open else "",
            f"came too late: {self.late:,}" if self.late else "",
        ]
        said = f"{self.node} waits for {self.wait_for or 'branches'}: {self.outcome}"
        return "; ".join([said, *filter(None, known)])


@dataclass(frozen=True, slots=True)
class Explanation:
    """A node in one turn.

    Attributes:
        session_id: the session's text id; empty when there is none.
        node: the node's name.
        turn: number of the turn; 0 before the first.
        runs: its runs in the turn, oldest first.
        joins: the joins that it is, or that its edges lead to.
        towards: for a node that did not run, what became of the edges that lead to it.
    """

    session_id: str
    node: str
    turn: int
    runs: tuple[RunExplanation, ...] = ()
    joins: tuple[JoinExplanation, ...] = ()
    towards: tuple[EdgeExplanation, ...] = ()


def explained(
    graph: Graph, tree: Tree, node: str, turn: int | None = None, running: Collection[str] = ()
) -> Explanation:
    """Explain a node in a turn.

    Args:
        graph: the specs as they are now.
        tree: the session.
        node: the node's name.
        turn: number of the turn; the latest when absent.
        running: ids of the executors that run at this moment.
    """
    if not tree.turns:
        return Explanation(tree.session_id, node, 0)
    number = tree.turns[-1].number if turn is None else turn
    moment = _Moment(graph, tree, number, running)
    runs = tuple(moment.run(executor) for executor in moment.of(node))
    return Explanation(
        session_id=tree.session_id,
        node=node,
        turn=number,
        runs=runs,
        joins=tuple(moment.joins(node)),
        towards=() if runs else tuple(moment.towards(node)),
    )


@dataclass(slots=True)
class _Moment:
    """A turn as it is now."""

    graph: Graph
    tree: Tree
    number: int
    running: Collection[str]
    by_node: dict[str, list[Executor]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for executor in self.tree.executors.values():
            if executor.turn == self.number and executor.id != self.tree.root:
                self.by_node.setdefault(executor.node, []).append(executor)

    def of(self, node: str) -> list[Executor]:
        """The node's executors, in creation order."""
        return self.by_node.get(node, [])

    # ── what a run did ───────────────────────────────────────────────────────────────────────────

    def run(self, executor: Executor) -> RunExplanation:
        return RunExplanation(
            executor.id, self.state(executor), executor.ended_at, tuple(self.edges(executor))
        )

    def edges(self, executor: Executor) -> Iterator[EdgeExplanation]:
        for record in executor.transitions:
            yield _considered(executor.node, record)
        seen = {record.edge for record in executor.transitions}
        for edge in self.written(executor.node):
            if edge.id not in seen:
                yield _not_considered(edge, self.why_not(executor))

    def written(self, node: str) -> tuple[Edge, ...]:
        """The node's edges as the specs have them now."""
        return self.graph.nodes[node].edges if node in self.graph.nodes else ()

    def state(self, executor: Executor) -> str:
        """What a run came to, or what it waits for."""
        waits = self.waits(executor)
        if waits:
            return waits
        if executor.error is not None:
            return f"failed: {executor.error.type}: {executor.error.message}"
        if executor.status == "cancelled" and not executor.transitions:
            return f"was cancelled: {self.tree.turns[self.number - 1].cancelled}"
        return "ran to its end"

    def waits(self, executor: Executor) -> str:
        """What has to happen before a run's end; empty after it."""
        if executor.id in self.running:
            return "runs now"
        if executor.question is not None:
            return f"waits for a person: {executor.question.text}"
        if executor.calls:
            return f"waits for its tools: {', '.join(call.name for call in executor.calls)}"
        if executor.status == "idle":
            return "is to run again" if executor.runs or executor.answers else "has not run yet"
        return ""

    def why_not(self, executor: Executor) -> str:
        """Why an edge was not considered after a run, or has not been yet."""
        state = f"{executor.node} {self.state(executor)}"
        if self.waits(executor) or executor.status == "cancelled":
            return state
        if executor.error is not None:
            return f"{state}; only conditions with $is_error are considered after a failure"
        return "the specs did not have it when the node ran"

    # ── what led to a node ───────────────────────────────────────────────────────────────────────

    def towards(self, node: str) -> Iterator[EdgeExplanation]:
        """The edges that lead to a node that did not run, and the models that may call it."""
        for source in self.graph.nodes.values():
            if node in source.tools:
                ran = self.of(source.name)
                why = "its model did not call it" if ran else f"{source.name} did not run"
                yield EdgeExplanation(source.name, node, "not considered", why=why)
            for edge in source.edges:
                if edge.target == node:
                    yield from self.along(edge)

    def along(self, edge: Edge) -> Iterator[EdgeExplanation]:
        """What became of an edge after each run of its source."""
        for executor in self.of(edge.source):
            records = [record for record in executor.transitions if record.edge == edge.id]
            for record in records:
                yield _considered(edge.source, record)
            if not records:
                yield _not_considered(edge, self.why_not(executor))
        if not self.of(edge.source):
            yield _not_considered(edge, f"{edge.source} did not run")

    # ── joins ────────────────────────────────────────────────────────────────────────────────────

    def joins(self, node: str) -> Iterator[JoinExplanation]:
        """The joins that a node is, or that it is a source of."""
        found = self.tree.turns[self.number - 1].joins
        for name in self.names_of_joins(node, found):
            joins = [join for (_, _, join_node), join in found.items() if join_node == name]
            for join in joins:
                yield self.join(name, join)
            if not joins:
                yield self.join(name, None)

    def names_of_joins(self, node: str, found: dict[JoinKey, Join]) -> list[str]:
        own = [n.name for n in self.graph.nodes.values() if n.join and self.belongs(node, n.name)]
        stored = [name for _, _, name in found if name == node]
        return list(dict.fromkeys([*own, *stored]))

    def belongs(self, node: str, join: str) -> bool:
        waited_for = self.graph.nodes[join].join
        return join == node or (waited_for is not None and node in waited_for.sources)

    def join(self, name: str, join: Join | None) -> JoinExplanation:
        known = self.graph.nodes[name].join if name in self.graph.nodes else None
        text, sources = (known.text, known.sources) if known else ("", ())
        if join is None:
            return JoinExplanation(name, text, "nothing arrived")
        arrived = tuple(join.arrived)
        still = [s for s in sources if s not in (*arrived, *join.gone)]
        may_arrive = tuple(still) if join.outcome == "waits" else ()
        return JoinExplanation(
            name,
            text,
            join.outcome,
            arrived,
            join.gone,
            join.expired,
            may_arrive,
            len(join.late),
        )


def _considered(source: str, record: TransitionRecord) -> EdgeExplanation:
    put_in = filled(record.condition, record.values, record.from_context)
    as_written = filled(record.condition, {})
    return EdgeExplanation(
        source=source,
        target=record.target,
        outcome=record.outcome,
        condition=record.condition,
        filled="" if put_in == as_written else put_in,
        from_context=record.from_context,
        why=record.reason or ("" if record.condition else "it has no condition"),
    )


def _not_considered(edge: Edge, why: str) -> EdgeExplanation:
    return EdgeExplanation(edge.source, edge.target, "not considered", edge.label, why=why)
