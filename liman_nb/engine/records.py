"""A session as records: conversation, yields, calls between agents, and what was decided and why.

The words are those of LeafMesh's page on sessions. Everything is read off the tree, so a record is
in the storage as soon as the row that it follows from, and reading runs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from liman_nb.engine.conversation import Entry, conversation
from liman_nb.engine.starting import handed_on
from liman_nb.engine.times import stamp
from liman_nb.engine.tree import Executor, Join, JoinKey, Tree
from liman_nb.models.llm import Usage
from liman_nb.state.json_values import copied
from liman_nb.state.rows import Outcome
from liman_nb.state.states import JoinStatus

Decision = Literal["fire", "skip", "retry", "wait", "start", "halt", "late", "escalate", "cancel"]


@dataclass(frozen=True, slots=True)
class YieldsRecord:
    """Structured output that a node gave.

    Attributes:
        agent_name: the node.
        yields: what it gave.
        timestamp: when, UTC, ISO 8601 with ``Z``.
        turn: number of the turn.
        executor: id of the executor.
    """

    agent_name: str
    yields: dict[str, Any]
    timestamp: str
    turn: int
    executor: str


@dataclass(frozen=True, slots=True)
class MeshCall:
    """A call of one node by another: an edge that fired.

    Attributes:
        from_agent: the node whose output was considered.
        to_agent: the node that was called.
        condition: the edge's condition; empty for none.
        payload: what was handed on.
        timestamp: when, UTC, ISO 8601 with ``Z``.
        turn: number of the turn.
        edge: the edge's id.
    """

    from_agent: str
    to_agent: str
    condition: str
    payload: Any
    timestamp: str
    turn: int
    edge: str


@dataclass(frozen=True, slots=True)
class ConditionRecord:
    """One edge that was considered.

    Attributes:
        to_agent: the node that it leads to.
        condition: its condition; empty for none.
        outcome: ``fired``, ``not fired`` or ``undecided``.
        reason: why.
    """

    to_agent: str
    condition: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was considered after a node run.

    Attributes:
        agent_name: the node that ran.
        valid: whether its run succeeded; of a node with yields, whether they fit.
        conditions: its edges, in the order in which they were considered.
        retries: attempts that were made again before this outcome.
        joins: by the join's name, what its arrival there came to.
        timestamp: when, UTC, ISO 8601 with ``Z``.
        turn: number of the turn.
        executor: id of the executor.
    """

    agent_name: str
    valid: bool
    conditions: tuple[ConditionRecord, ...]
    retries: int
    joins: dict[str, str]
    timestamp: str
    turn: int
    executor: str


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One thing that was decided.

    Attributes:
        decision: ``fire`` or ``skip`` an edge, ``retry`` an attempt, ``wait`` for other branches,
            ``start`` or ``halt`` a join, drop a branch that came ``late``, ``escalate`` to a
            person, ``cancel`` a turn.
        agent_name: the node that it is about.
        target: the node that it leads to, or that joins; empty for none.
        why: in words.
        timestamp: when, UTC, ISO 8601 with ``Z``.
        turn: number of the turn.
    """

    decision: Decision
    agent_name: str
    target: str
    why: str
    timestamp: str
    turn: int


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """The complete picture of a session.

    Attributes:
        session_id: its text id.
        root: id of its root executor.
        turns: how many it has.
        usage: tokens of all its turns, as the servers counted them.
        conversation: who said what.
        yields: the structured outputs, oldest first.
        mesh_communications: the calls between nodes.
        analyses: what was considered after each node run.
        decisions: what was decided.
        expired: how many records of each kind are too old to be shown, by the kind's name.
        record_ttl: how old those may be, in seconds; ``None`` for any age.
    """

    session_id: str
    root: str
    turns: int
    usage: Usage = field(default_factory=Usage)
    conversation: tuple[Entry, ...] = ()
    yields: tuple[YieldsRecord, ...] = ()
    mesh_communications: tuple[MeshCall, ...] = ()
    analyses: tuple[Analysis, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    expired: dict[str, int] = field(default_factory=dict)
    record_ttl: float | None = None


def records_of(
    tree: Tree, now: datetime, seconds: float | None = None, running: Collection[str] = ()
) -> SessionRecords:
    """The records of a session.

    Args:
        tree: the session.
        now: the current time, UTC.
        seconds: how old yields, calls, analyses and decisions may be; ``None`` for any age.
        running: ids of the executors that run at this moment. What such a one asks is only a
            precaution for the case that the process ends.
    """
    oldest = "" if seconds is None else stamp(now - timedelta(seconds=seconds))
    ran = sorted(_ran(tree), key=lambda executor: executor.ran_row)
    found: dict[str, list[Any]] = {
        "yields": [record for e in ran for record in _yields(e)],
        "mesh_communications": [record for e in ran for record in _calls(e)],
        "analyses": [_analysis(tree, e) for e in ran],
        "decisions": list(_decisions(tree, running)),
    }
    kept = {k: tuple(r for r in all_ if r.timestamp >= oldest) for k, all_ in found.items()}
    lost = {kind: len(found[kind]) - len(kept[kind]) for kind in found}
    return SessionRecords(
        session_id=tree.session_id,
        root=tree.root,
        turns=len(tree.turns),
        usage=sum((_used(e) for e in tree.executors.values()), Usage()),
        conversation=tuple(conversation(tree)),
        expired={kind: count for kind, count in lost.items() if count},
        record_ttl=seconds,
        **kept,
    )


def _used(executor: Executor) -> Usage:
    return Usage(executor.input_tokens, executor.output_tokens)


def _ran(tree: Tree) -> Iterator[Executor]:
    """The executors whose node has run to an end, not those that wait for their tools."""
    for executor in tree.executors.values():
        if executor.id != tree.root and executor.runs and not executor.calls:
            yield executor


def _yields(executor: Executor) -> Iterator[YieldsRecord]:
    if isinstance(executor.output, dict) and not executor.called:
        yield YieldsRecord(
            executor.node,
            copied(executor.output),
            executor.ended_at,
            executor.turn,
            executor.id,
        )


def _calls(executor: Executor) -> Iterator[MeshCall]:
    for record in executor.transitions:
        if record.outcome == "fired":
            yield MeshCall(
                executor.node,
                record.target,
                record.condition,
                copied(handed_on(executor)),
                executor.ended_at,
                executor.turn,
                record.edge,
            )


def _analysis(tree: Tree, executor: Executor) -> Analysis:
    return Analysis(
        agent_name=executor.node,
        valid=executor.error is None,
        conditions=tuple(
            ConditionRecord(t.target, t.condition, t.outcome, t.reason)
            for t in executor.transitions
        ),
        retries=len(executor.attempts),
        joins={key[2]: _arrival(join, executor) for key, join in _joins_of(tree, executor)},
        timestamp=executor.ended_at,
        turn=executor.turn,
        executor=executor.id,
    )


def _joins_of(tree: Tree, executor: Executor) -> Iterator[tuple[JoinKey, Join]]:
    """The joins that an executor's branch arrived at."""
    for key, join in tree.turns[executor.turn - 1].joins.items():
        if executor.id in join.arrived.values() or executor.id in join.late:
            yield key, join


def _arrival(join: Join, executor: Executor) -> str:
    if executor.id in join.late:
        return "came too late"
    return {"waits": "waits for others", "started": "joined", "halted": "halted"}[join.outcome]


# ── decisions ────────────────────────────────────────────────────────────────────────────────────


def _decisions(tree: Tree, running: Collection[str]) -> Iterator[DecisionRecord]:
    """Every decision, in the order of the executors' ends; those of a turn after its runs."""
    executors = [e for e in tree.executors.values() if e.id != tree.root]
    for turn in tree.turns:
        own = [e for e in executors if e.turn == turn.number]
        for executor in sorted(own, key=lambda e: (e.ran_row, e.started_row)):
            yield from _of_run(executor, executor.id not in running)
        for key, join in turn.joins.items():
            yield from _of_join(tree, key, join)
        if turn.cancelled:
            top = tree.executors[turn.executor]
            yield DecisionRecord("cancel", top.node, "", turn.cancelled, top.ended_at, turn.number)


def _of_run(executor: Executor, asks: bool) -> Iterator[DecisionRecord]:
    node, at, turn = executor.node, executor.ended_at, executor.turn
    for answer in executor.answers:
        why = f"{_answered(answer.late, answer.missing)}: {answer.question}"
        yield DecisionRecord("escalate", node, "", why, answer.at, turn)
    if executor.question is not None and asks:
        yield DecisionRecord(
            "escalate", node, "", executor.question.text, executor.started_at, turn
        )
    for attempt in executor.attempts:
        why = f"{attempt.error.type}: {attempt.error.message}"
        yield DecisionRecord("retry", node, "", why, at, turn)
    for record in executor.transitions:
        decision: Decision = "fire" if record.outcome == "fired" else "skip"
        why = record.reason or ("no condition" if record.outcome == "fired" else record.outcome)
        yield DecisionRecord(decision, node, record.target, why, at, turn)


def _answered(late: bool, missing: bool) -> str:
    if not late:
        return "a person was asked and answered"
    return (
        "a person was asked in vain" if missing else "nobody answered in time, the fallback holds"
    )


_OF_JOINS: dict[JoinStatus, Decision] = {"waits": "wait", "started": "start", "halted": "halt"}


def _of_join(tree: Tree, key: JoinKey, join: Join) -> Iterator[DecisionRecord]:
    fork, _, node = key
    turn = tree.executors[fork].turn
    at = max((tree.executors[e].ended_at for e in join.arrived.values()), default="")
    arrived = ", ".join(join.arrived) or "none"
    lost = "did not arrive in time" if join.expired else "can no longer arrive"
    gone = f"; {', '.join(join.gone)} {lost}" if join.gone else ""
    yield DecisionRecord(_OF_JOINS[join.outcome], node, node, f"arrived: {arrived}{gone}", at, turn)
    for executor in (tree.executors[e] for e in join.late):
        why = "the join had started, halted, or had this branch before"
        yield DecisionRecord("late", executor.node, node, why, executor.ended_at, turn)
