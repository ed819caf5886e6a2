"""What to do next: pure functions of the graph and the stored tree.

No clock, no I/O, no `async`. The shell performs what is decided here, evaluates the edges'
conditions, and hands back what happened; this file turns that into the one row that is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.ids import call_via
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.joins import considered
from liman_nb.engine.tree import ENDED, UNKNOWN_TOOL, Executor, Tree
from liman_nb.errors import BoundExceeded, EngineError
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
    graph: Graph, tree: Tree, entry: str, value: Any, context_keys: Sequence[str], at: str
) -> TurnRow:
    """The row that starts a turn.

    Raises:
        EngineError: the last turn has not ended.
    """
    if tree.turns and tree.status not in ENDED:
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
    node, children = graph.nodes.get(executor.node), _children(graph, executor, result)
    arrivals: tuple[JoinRecord, ...] = ()
    if node is not None and not result.calls:
        children = tuple(child for child in children if child.node not in joins)
        ways = len(node.edges) + len(node.tools)
        arrivals = considered(joins, tree, executor, result.transitions, children, ways)
    return RunRow(
        kind="run",
        at=at,
        executor=executor.id,
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


def _children(graph: Graph, executor: Executor, result: RunResult) -> tuple[ChildRecord, ...]:
    if result.calls:
        return tuple(
            ChildRecord(
                via=call_via(position, call.id),
                node=call.name,
                node_type=_tool_type(graph, executor.node, call.name),
            )
            for position, call in enumerate(result.calls)
        )
    return tuple(
        ChildRecord(via=t.edge, node=t.target, node_type=graph.nodes[t.target].kind)
        for t in result.transitions
        if t.outcome == "fired"
    )


def _tool_type(graph: Graph, caller: str, name: str) -> str:
    """A model may call only the tools that its own spec lists."""
    return "ToolNode" if name in graph.nodes[caller].tools else UNKNOWN_TOOL


def cancel_row(reason: str, at: str) -> CancelRow:
    """The row that closes an open turn."""
    return CancelRow(kind="cancel", at=at, reason=reason)


# ── what may run ─────────────────────────────────────────────────────────────────────────────────


def runnable(
    tree: Tree, exclusive: Collection[str], running: Collection[str], limit: int
) -> list[str]:
    """The executors to start now, in creation order.

    Args:
        tree: the session.
        exclusive: names of the nodes whose actor takes one run at a time: LLMs, people, and
            functions that ask for ``state``. An LLM with unanswered calls keeps its actor.
        running: ids of the executors that run already.
        limit: how many may run at the same time.
    """
    free = limit - len(running)
    busy = {tree.executors[i].node for i in running}
    chosen: list[str] = []
    for identity in tree.idle:
        if len(chosen) >= free:
            break
        if identity in running:
            continue
        executor = tree.executors[identity]
        if executor.node in exclusive and executor.node_type != UNKNOWN_TOOL:
            if executor.node in busy or tree.held.get(executor.node, identity) != identity:
                continue
            busy.add(executor.node)
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
