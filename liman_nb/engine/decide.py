"""What to do next: pure functions of the graph and the stored tree.

No clock, no I/O, no `async`. The shell performs what is decided here, evaluates the edges'
conditions, and hands back what happened; this file turns that into the one row that is committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.ids import call_via
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.joins import considered
from liman_nb.engine.tree import UNKNOWN_TOOL, Executor, Tree
from liman_nb.errors import BoundExceeded, EngineError
from liman_nb.specs.documents import LLMNodeSpec
from liman_nb.specs.graph import Graph
from liman_nb.state.rows import (
    AskRow,
    AttemptRecord,
    CallRecord,
    CancelRow,
    ChildRecord,
    ErrorRecord,
    JoinRecord,
    QuestionRecord,
    RunRow,
    TokenRecord,
    TransitionRecord,
    TurnRow,
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a node run came to: an output, tool calls, a question to a person, or an error.

    Attributes:
        composed: see :class:`liman_nb.state.rows.RunRow`.
        output: the node's output.
        says: see :class:`liman_nb.state.rows.RunRow`.
        calls: an LLM's tool calls.
        question: what a person is asked before the node can run on.
        error: why it failed.
        state: the node's extras, when the run changed them.
        transitions: the edges considered, with their outcomes.
        attempts: what was tried before.
        tokens: usage of an LLM run.
    """

    composed: dict[str, Any] | None = None
    output: Any = None
    says: str | None = None
    calls: tuple[CallRecord, ...] = ()
    question: QuestionRecord | None = None
    error: ErrorRecord | None = None
    state: dict[str, Any] | None = None
    transitions: tuple[TransitionRecord, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    tokens: TokenRecord | None = None


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def turn_row(
    graph: Graph,
    tree: Tree,
    entry: str,
    value: Any,
    at: str,
    *,
    context_keys: Sequence[str] = (),
    attached: Sequence[str] = (),
) -> TurnRow:
    """The row that starts a turn.

    Raises:
        EngineError: the last turn has not ended.
    """
    if tree.is_open:
        raise EngineError(f"session {tree.session_id!r}: turn {len(tree.turns)} has not ended")
    return TurnRow(
        kind="turn",
        at=at,
        session_id=tree.session_id,
        turn=len(tree.turns) + 1,
        node=entry,
        node_type=graph.nodes[entry].kind,
        input=value,
        context_keys=tuple(sorted(context_keys)),
        graph=graph.fingerprint,
        attached=tuple(sorted(attached)),
        lineage=None if tree.turns else tree.lineage,
    )


def ended_row(
    graph: Graph, joins: Joins, tree: Tree, executor: Executor, result: RunResult, at: str
) -> RunRow | AskRow:
    """The row of a node run that ended: with a question, or for good."""
    if result.question is not None:
        return AskRow(
            kind="ask",
            at=at,
            executor=executor.id,
            question=result.question,
            state=result.state,
        )
    result = _within_visits(graph, tree, executor, result)
    node, children = graph.nodes.get(executor.node), _children(graph, tree, executor, result)
    arrivals: tuple[JoinRecord, ...] = ()
    if node is not None and not result.calls:
        children = tuple(child for child in children if child.node not in joins)
        ways = len(node.edges) + len(node.tools)
        arrivals = considered(joins, tree, executor, result.transitions, children, ways)
    return RunRow(
        kind="run",
        at=at,
        executor=executor.id,
        composed=result.composed,
        output=result.output,
        says=result.says,
        calls=result.calls,
        error=result.error,
        state=result.state,
        transitions=result.transitions,
        children=children,
        joins=arrivals,
        attempts=result.attempts,
        tokens=result.tokens,
    )


def _within_visits(graph: Graph, tree: Tree, executor: Executor, result: RunResult) -> RunResult:
    """The result without the edges that were followed as often as they may be in one turn."""
    node = graph.nodes.get(executor.node)
    bounds = {e.id: e.max_visits for e in node.edges if e.max_visits} if node else {}
    if not bounds:
        return result
    same = [e for e in tree.executors.values() if e.turn == executor.turn]
    visits = Counter(
        t.edge for e in same if e.node == executor.node for t in e.transitions if _fired(t)
    )

    def bounded(record: TransitionRecord) -> TransitionRecord:
        most = bounds.get(record.edge)
        if most is None or not _fired(record) or visits[record.edge] < most:
            return record
        reason = f"it was followed {most} times in this turn, as often as its max_visits allows"
        return record.model_copy(update={"outcome": "not fired", "reason": reason})

    return replace(result, transitions=tuple(map(bounded, result.transitions)))


def _fired(record: TransitionRecord) -> bool:
    return record.outcome == "fired"


def _children(
    graph: Graph, tree: Tree, executor: Executor, result: RunResult
) -> tuple[ChildRecord, ...]:
    if result.calls:
        left = calls_left(graph, tree, executor)
        return tuple(
            ChildRecord(
                via=call_via(position, call.id),
                node=call.name,
                node_type=_tool_type(graph, executor.node, call.name)
                if left is None or position < left
                else UNKNOWN_TOOL,
            )
            for position, call in enumerate(result.calls)
        )
    return tuple(
        ChildRecord(via=t.edge, node=t.target, node_type=graph.nodes[t.target].kind)
        for t in result.transitions
        if _fired(t)
    )


def calls_left(graph: Graph, tree: Tree, executor: Executor) -> int | None:
    """How many more tool calls an LLM may make for its message; ``None`` for any number."""
    spec = graph.nodes[executor.node].spec
    most = spec.max_tool_calls_per_message if isinstance(spec, LLMNodeSpec) else None
    made = sum(tree.executors[child].called for child in executor.children)
    return None if most is None else max(0, most - made)


def _tool_type(graph: Graph, caller: str, name: str) -> str:
    """A model may call only the tools that its own spec lists."""
    return "ToolNode" if name in graph.nodes[caller].tools else UNKNOWN_TOOL


def cancel_row(reason: str, at: str) -> CancelRow:
    """The row that closes an open turn."""
    return CancelRow(kind="cancel", at=at, reason=reason)


# ── what may run ─────────────────────────────────────────────────────────────────────────────────


def runnable(
    tree: Tree,
    exclusive: Collection[str],
    running: Collection[str],
    limit: int,
    at_most: Mapping[str, int] = MappingProxyType({}),
) -> list[str]:
    """The executors to start now, in creation order.

    Args:
        tree: the session.
        exclusive: names of the nodes whose actor takes one run at a time: LLMs, people, and
            functions that ask for ``state``. An LLM with unanswered calls keeps its actor.
        running: ids of the executors that run already.
        limit: how many may run at the same time.
        at_most: how many of a node may, by its name; as many as there are for others.
    """
    free = limit - len(running)
    busy = Counter(tree.executors[i].node for i in running)
    chosen: list[str] = []
    for identity in tree.idle:
        if len(chosen) >= free:
            break
        if identity in running:
            continue
        executor = tree.executors[identity]
        node = executor.node
        if executor.node_type != UNKNOWN_TOOL:
            if node in exclusive and (busy[node] or tree.held.get(node, identity) != identity):
                continue
            if node in at_most and busy[node] >= at_most[node]:
                continue
            busy[node] += 1
        chosen.append(identity)
    return chosen


def exceeded(
    tree: Tree, executor: Executor, bounds: Bounds, under_way: int
) -> BoundExceeded | None:
    """The bound that forbids this run, if one does.

    Args:
        tree: the session.
        executor: what would run.
        bounds: the bounds.
        under_way: node runs of this turn that have started and are not in the tree yet.
    """
    turn = tree.turns[-1]
    if turn.runs + under_way >= bounds.node_runs:
        return _bound(tree, executor, "node_runs", bounds.node_runs, "node runs in one turn")
    if turn.llm_runs.get(executor.node, 0) >= bounds.llm_calls_per_node:
        what = f"model calls of {executor.node} in one turn"
        return _bound(tree, executor, "llm_calls_per_node", bounds.llm_calls_per_node, what)
    if executor.depth >= bounds.depth:
        return _bound(tree, executor, "depth", bounds.depth, "executors below each other")
    return None


def _bound(tree: Tree, executor: Executor, name: str, limit: float, what: str) -> BoundExceeded:
    return BoundExceeded(
        f"{executor.node}: the bound {name}={limit:g} ({what}) is reached in turn "
        f"{executor.turn} of session {tree.session_id!r}. If that many are wanted, pass "
        f"Agent(bounds=Bounds({name}=…)); else look for a loop in agent.tree()",
        name,
        limit,
    )
