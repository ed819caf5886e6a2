"""Joins: nodes that wait for several branches of one fork. Pure functions of graph and tree.

A join belongs to its fork: the nearest executor above a branch whose node stands on every way from
the turn's entry to every source (their nearest common dominator). So each round of a loop has its
own joins. A source has *arrived* when its edge to the join fired; it is *gone* when nothing that is
open below the fork can reach it any more; else it is open. A join exists from its first arrival,
starts when its ``wait_for`` is true, and halts when it can no longer become true.

Only a fork's own branches matter to its joins: what stands below a later round of it belongs to
that round.

What an arrival costs does not depend on the number of branches: which sources are gone is asked
only when a branch ended, chose among its edges, began another round, or came to one of several
joins that wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from liman_nb.engine.join_plans import Joins, Plan
from liman_nb.engine.times import stamp
from liman_nb.engine.tree import UNKNOWN_TOOL, Executor, Join, JoinKey, Tree
from liman_nb.state.rows import ChildRecord, JoinOutcome, JoinRecord, TransitionRecord


def considered(
    joins: Joins,
    tree: Tree,
    executor: Executor,
    transitions: Sequence[TransitionRecord],
    children: Sequence[ChildRecord],
    edges: int,
) -> tuple[JoinRecord, ...]:
    """Which joins a node run arrives at, and which start or halt because of it.

    Args:
        joins: the graph's.
        tree: the session before the run.
        executor: what ran.
        transitions: the edges considered after it.
        children: what starts as its own children.
        edges: how many ways on its node has: edges, considered or not, and tools.
    """
    if not joins or executor.node_type == UNKNOWN_TOOL:
        return ()
    plans = _plans(joins, tree)
    fired = [t.target for t in transitions if t.outcome == "fired"]
    started = tuple(child.node for child in children)
    moment = _Moment(plans, tree, executor, started, loses=len(fired) < max(edges, 1))
    for target in dict.fromkeys(fired):
        if target in plans:
            moment.arrive(plans[target], executor)
    return moment.records()


def overdue_joins(joins: Joins, tree: Tree, at: str) -> tuple[JoinRecord, ...]:
    """What becomes of the joins that have waited long enough, and of those that wait for them.

    Args:
        joins: the graph's.
        tree: the session.
        at: the current time, UTC, as it is stored.
    """
    late = [key for key, deadline in deadlines(joins, tree).items() if deadline <= at]
    if not late:
        return ()
    moment = _Moment(_plans(joins, tree), tree, None, (), loses=True)
    for key in late:
        moment.give_up(key)
    return moment.records()


def deadlines(joins: Joins, tree: Tree) -> dict[JoinKey, str]:
    """Until when the joins of the latest turn wait, as it is stored; those that wait for ever not.

    Times are ISO 8601 in one form, so they are in the order of their texts.
    """
    if not joins or not tree.turns:
        return {}
    plans = _plans(joins, tree)
    found: dict[JoinKey, str] = {}
    for key, join in tree.turns[-1].joins.items():
        seconds = plans[key[2]].seconds
        if join.outcome == "waits" and seconds is not None:
            found[key] = stamp(datetime.fromisoformat(join.since) + timedelta(seconds=seconds))
    return found


def _plans(joins: Joins, tree: Tree) -> Mapping[str, Plan]:
    return joins.entered_at(tree.executors[tree.turns[-1].executor].node)


@dataclass(slots=True)
class _Waiting:
    """A join that waits, as it is known in this moment."""

    plan: Plan
    arrived: int = 0
    gone: int = 0
    arrives: bool = False
    expired: bool = False
    changed: bool = False
    outcome: JoinOutcome = "waits"

    @classmethod
    def of(cls, plan: Plan, known: Join | None) -> _Waiting:
        """The join as the tree has it."""
        if known is None:
            return cls(plan)
        return cls(plan, plan.mask(known.arrived), plan.mask(known.gone))

    @property
    def missing(self) -> int:
        """The sources that have not arrived."""
        return self.plan.full & ~self.arrived

    def decide(self) -> bool:
        """Start or halt if that is clear; whether it halted."""
        verdict = self.plan.rule.verdict(self.arrived, self.gone)
        if self.outcome == "waits" and verdict is not None:
            self.outcome, self.changed = "starts" if verdict else "halts", True
            return not verdict
        return False

    def could_start_without_more(self) -> bool:
        """Whether it starts if nothing else arrives."""
        return self.plan.rule.verdict(self.arrived, self.missing) is True

    def give_up(self) -> None:
        """Nothing else arrives."""
        self.gone, self.changed = self.missing, True

    def record(self, key: JoinKey) -> JoinRecord:
        """The join in the row of the run."""
        fork, run, node = key
        return JoinRecord(
            fork=fork,
            run=run,
            node=node,
            node_type=self.plan.kind,
            arrived=self.arrives,
            gone=self.plan.names(self.gone),
            expired=self.expired,
            outcome=self.outcome,
            takes=self.plan.names(self.arrived) if self.outcome == "starts" else (),
        )


@dataclass(slots=True)
class _Moment:
    """A node run that has ended, or a time that has come, and the joins that it may concern.

    Attributes:
        plans: the joins of the graph.
        tree: the session before the run.
        executor: what ran; ``None`` where time alone has passed.
        started: names of the nodes that start as its own children.
        loses: whether something that could be reached before may be out of reach now.
        waiting: the joins that are looked at.
        late: what came too late.
    """

    plans: Mapping[str, Plan]
    tree: Tree
    executor: Executor | None
    started: tuple[str, ...]
    loses: bool
    waiting: dict[JoinKey, _Waiting] = field(default_factory=dict)
    late: list[JoinRecord] = field(default_factory=list)

    def arrive(self, plan: Plan, source: Executor) -> None:
        """A branch comes to a join."""
        key = (*_fork_of(self.tree, source, plan), plan.node)
        known = self._joins.get(key)
        state = _Waiting.of(plan, known)
        if known and (known.outcome != "waits" or source.node in known.arrived):
            state.arrives, state.outcome = True, "late"
            self.late.append(state.record(key))
            self.loses = True
            return
        self.waiting[key] = state
        state.arrived |= plan.bits[source.node]
        state.gone &= ~state.arrived
        state.arrives = state.changed = True
        self.loses = self.loses or known is None or plan.circular

    def give_up(self, key: JoinKey) -> None:
        """A join has waited long enough: nothing else arrives."""
        self.waiting[key] = _Waiting.of(self.plans[key[2]], self._joins[key])
        self.waiting[key].give_up()
        self.waiting[key].expired = True

    def records(self) -> tuple[JoinRecord, ...]:
        """What becomes of the joins."""
        self._one_halted()
        if self.loses or self._another_round_begins():
            self._look_at_all()
            while self._one_halted() or self._circle_is_broken():
                self._find_gone()
        changed = [state.record(key) for key, state in self.waiting.items() if state.changed]
        return (*self.late, *changed)

    @property
    def _joins(self) -> Mapping[JoinKey, Join]:
        return self.tree.turns[-1].joins

    def _another_round_begins(self) -> bool:
        """Whether a fork starts, whose branches are none of the round before."""
        starting = {key[2] for key, state in self.waiting.items() if state.outcome == "starts"}
        return any(plan.fork in starting.union(self.started) for plan in self.plans.values())

    # ── which sources are gone ───────────────────────────────────────────────────────────────────

    def _look_at_all(self) -> None:
        """Ask of every join of a fork above the executor which of its sources are gone."""
        for key, known in self._joins.items():
            if known.outcome == "waits" and key not in self.waiting and self._ran_below(key):
                self.waiting[key] = _Waiting.of(self.plans[key[2]], known)
        self._find_gone()

    def _ran_below(self, key: JoinKey) -> bool:
        """Whether what ran is a join's fork, or belongs to a branch of it."""
        fork, run, _ = key
        if self.executor is None:
            return True
        if self.executor.id == fork:
            return self.executor.runs + 1 == run
        return self._belongs(self.executor, key)

    def _belongs(self, executor: Executor, key: JoinKey) -> bool:
        """Whether an executor stands below a join's fork, and below no later round of it."""
        fork, run, node = key
        while executor.node != self.plans[node].fork and executor.parent is not None:
            if executor.parent == fork:
                return executor.parent_run == run
            executor = self.tree.executors[executor.parent]
        return False

    def _find_gone(self) -> None:
        for key, state in self.waiting.items():
            if state.outcome == "waits":
                wanted = state.missing & ~state.gone
                gone = wanted & ~self._reachable(key, state.plan, wanted)
                state.changed = state.changed or bool(gone)
                state.gone |= gone

    def _reachable(self, key: JoinKey, plan: Plan, wanted: int) -> int:
        """Those of the wanted sources that something open below a join's fork can still reach."""
        found = 0
        for node in self._open_below(key):
            found |= plan.reach.get(node, 0)
            if found & wanted == wanted:
                break
        return found

    def _open_below(self, key: JoinKey) -> Iterator[str]:
        """The nodes below a join's fork that may do something: they start, wait or are to run."""
        yield from self.started
        for other in {**self._joins, **self.waiting}:
            if other != key and self._may_start(other) and self._same_branches(other, key):
                yield other[2]
        for executor in self._open():
            if self._belongs(executor, key):
                yield executor.node

    def _may_start(self, key: JoinKey) -> bool:
        if key in self.waiting:
            return self.waiting[key].outcome in ("waits", "starts")
        return self._joins[key].outcome == "waits"

    def _same_branches(self, other: JoinKey, key: JoinKey) -> bool:
        """Whether a join is of the same fork as another one, or of a fork in its branches."""
        return other[:2] == key[:2] or self._belongs(self.tree.executors[other[0]], key)

    def _open(self) -> Iterator[Executor]:
        """The executors that may lead on by themselves, but for the one that ran."""
        tree = self.tree
        for identity in (*tree.idle, *tree.asking, *tree.held.values()):
            executor = tree.executors[identity]
            if executor is not self.executor and executor.node_type != UNKNOWN_TOOL:
                yield executor

    # ── which joins are decided ──────────────────────────────────────────────────────────────────

    def _one_halted(self) -> bool:
        """Decide what is clear; whether a join halted, on which others may depend."""
        halted = [state for state in self.waiting.values() if state.decide()]
        return bool(halted)

    def _circle_is_broken(self) -> bool:
        """Of joins that wait only for each other, one starts that can do without; else all halt."""
        stuck = [
            self.waiting[key]
            for key in {**self._joins, **self.waiting}  # in the order of their first arrivals
            if key in self.waiting and self.waiting[key].outcome == "waits" and not self._moves(key)
        ]
        able = next((state for state in stuck if state.could_start_without_more()), None)
        for state in stuck if able is None else [able]:
            state.give_up()
        return bool(stuck)

    def _moves(self, key: JoinKey) -> bool:
        """Whether anything below a join's fork goes on, but for joins that wait."""
        fork = self.plans[key[2]].fork
        starting = (
            state.outcome == "starts" and other[2] != fork and self._same_branches(other, key)
            for other, state in self.waiting.items()
        )
        below = (self._belongs(executor, key) for executor in self._open())
        return any(node != fork for node in self.started) or any(starting) or any(below)


def _fork_of(tree: Tree, source: Executor, plan: Plan) -> tuple[str, int]:
    """The fork of a branch that comes to a join now, and the fork's run that led here."""
    executor, run = source, source.runs + 1
    while executor.node != plan.fork and executor.parent not in (None, tree.root):
        run, executor = executor.parent_run, tree.executors[executor.parent or ""]
    return executor.id, run
