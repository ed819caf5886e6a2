"""What a turn came to, and the input that continues a session elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from liman_nb.engine.ids import actor_id
from liman_nb.engine.pending import Question, open_questions
from liman_nb.engine.tree import ENDED, Executor, Join, Status, Tree, Turn
from liman_nb.errors import TurnFailed, UsageError
from liman_nb.models.llm import Usage
from liman_nb.specs.graph import Graph
from liman_nb.state.json_values import copied
from liman_nb.state.rows import ErrorRecord
from liman_nb.views.record import ResultView
from liman_nb.views.tree_view import TreeView


class ExecutorInput(BaseModel):
    """Input for a session that is known by its ids, as on Liman's page on state.

    Attributes:
        execution_id: the session, as :attr:`StepResult.execution_id`.
        node_actor_id: the actor to go on with, as :attr:`StepResult.node_actor_id`; the graph's
            start node when absent.
        node_input: text, or a mapping.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    execution_id: UUID
    node_actor_id: UUID | None = None
    node_input: Any = None


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """A node run that failed in a turn.

    Attributes:
        node: the node's name.
        error: what went wrong.
        handled: whether its model or an edge reacted to it; then it did not fail the turn.
    """

    node: str
    error: ErrorRecord
    handled: bool

    def __str__(self) -> str:
        where = f" ({self.error.where})" if self.error.where else ""
        return f"{self.node}: {self.error.type}: {self.error.message}{where}"


@dataclass(frozen=True, slots=True, repr=False)
class StepResult:
    """What a turn came to (Liman's ``ExecutorOutput``).

    Attributes:
        session_id: the session's text id.
        execution_id: the session's id for :class:`ExecutorInput`.
        node_actor_id: the actor that the turn entered at.
        turn: the turn's number, 1-based.
        entry: name of the node that it entered at.
        status: ``completed``, ``failed``, ``cancelled``, or ``suspended`` while questions wait.
        outputs: node and value of every branch's end, in the order in which the branches began.
        yields: the latest structured output of each node that has one, by node.
        errors: every failed node run, also those that were handled.
        pending: questions that wait for a person, in the order of asking.
        usage: tokens of the turn, as the servers counted them.
        cancelled: why the turn was closed without finishing; empty when it was not.
    """

    session_id: str
    execution_id: UUID
    node_actor_id: UUID
    turn: int
    entry: str
    status: Status
    outputs: tuple[tuple[str, Any], ...]
    yields: Mapping[str, Mapping[str, Any]]
    errors: tuple[NodeFailure, ...]
    pending: tuple[Question, ...]
    usage: Usage
    cancelled: str
    _origin: _Origin

    @property
    def output(self) -> Any:
        """The value at the end of the turn; a list when several branches ended.

        Raises:
            TurnFailed: the turn failed.
        """
        if self.status == "failed":
            raise self.failure()
        values = [value for _, value in self.outputs]
        return values[0] if len(values) == 1 else (values or None)

    def failure(self) -> TurnFailed:
        """The error of a failed turn: the first failure that nobody handled."""
        cause = next((e for e in self.errors if not e.handled), None)
        return TurnFailed(
            f"turn {self.turn} of session {self.session_id!r} failed at {cause}. The session stays "
            f"usable; .result has the turn, agent.tree() shows it",
            self,
        )

    @property
    def tree(self) -> TreeView:
        """The turn's executors."""
        return TreeView(self._origin.turn, graph=self._origin.graph, latest_only=True)

    def __repr__(self) -> str:
        return repr(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._card()._repr_mimebundle_(include, exclude)

    def _card(self) -> ResultView:
        made = self._origin
        return ResultView(made.agent, made.graph, made.turn, recorded=made.recorded)

    def __getitem__(self, field: str) -> Any:
        """A field of the entry node's yields.

        Raises:
            KeyError: the entry node yields no such field.
        """
        yields = self.yields.get(self.entry, {})
        if field not in yields:
            has = ", ".join(yields) or "none"
            raise KeyError(f"{self.entry} yields no {field!r} in this turn; its fields: {has}")
        return yields[field]


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a result comes from: what is needed to show it.

    Attributes:
        agent: the agent's name.
        graph: the graph that ran.
        turn: the session with this turn alone.
        recorded: when the turn ended; for one that waits for a person, when the result was made.
    """

    agent: str
    graph: Graph
    turn: Tree
    recorded: datetime


def entry_of(graph: Graph, tree: Tree, value: ExecutorInput) -> str:
    """The node whose actor an input names; the graph's start node when it names none.

    Raises:
        UsageError: no node of the graph has that actor in this session.
    """
    if value.node_actor_id is None:
        return graph.entry
    wanted = str(value.node_actor_id)
    for name in graph.nodes:
        if actor_id(tree.root, name) == wanted:
            return name
    raise UsageError(
        f"node_actor_id {wanted} is no actor of session {tree.session_id!r} in this graph; it is "
        f"the node_actor_id of a result of that session"
    )


def result_of(agent: str, graph: Graph, session: Tree, number: int) -> StepResult:
    """The result of a turn that has ended."""
    tree = _turn_alone(session, session.turns[number - 1])
    top = tree.executors[tree.turns[0].executor]
    executors = list(_below(tree, top))
    return StepResult(
        session_id=tree.session_id,
        execution_id=UUID(tree.root),
        node_actor_id=UUID(actor_id(tree.root, top.node)),
        turn=number,
        entry=top.node,
        status=top.status,
        outputs=tuple((e.node, copied(e.output)) for e in executors if _is_end(tree, e)),
        yields={e.node: copied(e.output) for e in executors if _has_yields(graph, e)},
        errors=tuple(_failure(tree, e) for e in executors if e.error is not None),
        pending=open_questions(session) if top.status not in ENDED else (),
        usage=Usage(
            sum(e.input_tokens for e in executors), sum(e.output_tokens for e in executors)
        ),
        cancelled=tree.turns[0].cancelled,
        _origin=_Origin(agent, graph, tree, _recorded(tree)),
    )


def _recorded(tree: Tree) -> datetime:
    if tree.status in ENDED:
        return datetime.fromisoformat(tree.executors[tree.root].ended_at)
    return datetime.now(UTC)


def _turn_alone(session: Tree, turn: Turn) -> Tree:
    """The session with one turn. What has ended never changes, so it is shared."""
    root = replace(session.executors[session.root], children=[turn.executor])
    top = session.executors[turn.executor]
    executors = {root.id: root, **{e.id: _still(e) for e in _below(session, top)}}
    return Tree(
        session.session_id,
        session.root,
        session.seq,
        executors,
        turns=[turn if top.status in ENDED else deepcopy(turn)],
        asking={identity: None for identity in session.asking if identity in executors},
    )


def _still(executor: Executor) -> Executor:
    """An executor as it is now, whatever comes after."""
    return executor if executor.status in ENDED else deepcopy(executor)


def _below(tree: Tree, top: Executor) -> Iterator[Executor]:
    """An executor and everything below it, depth first, parents before children."""
    stack = [top.id]
    while stack:
        executor = tree.executors[stack.pop()]
        yield executor
        stack.extend(reversed(executor.children))


def _is_end(tree: Tree, executor: Executor) -> bool:
    """Whether a branch of the turn ended here with a value. Tool calls are no branches."""
    if executor.status != "completed" or executor.error is not None:
        return False
    if any(tree.executors[c].parent_run == executor.runs for c in executor.children):
        return False
    (turn,) = tree.turns
    is_open = tree.executors[turn.executor].status not in ENDED
    joined = any(_took(join, executor, is_open=is_open) for join in turn.joins.values())
    return not joined and not _answers_a_call(tree, executor)


def _took(join: Join, executor: Executor, *, is_open: bool) -> bool:
    """Whether a branch went on in a join, may do so in an open turn, or came too late for it.

    A join that halts takes nothing.
    """
    came = executor.id in join.late or executor.id in join.arrived.values()
    return came and (join.outcome == "started" or (is_open and join.outcome == "waits"))


def _answers_a_call(tree: Tree, executor: Executor) -> bool:
    """Whether the executor, or one above it, answers a tool call, or joins branches of calls."""
    while executor.parent is not None:
        parent = tree.executors[executor.parent]
        if executor.called or executor.parent_run < parent.runs or parent.calls:
            return executor.parent != tree.root
        executor = parent
    return False


def _has_yields(graph: Graph, executor: Executor) -> bool:
    node = graph.nodes.get(executor.node)
    return node is not None and node.yields is not None and isinstance(executor.output, Mapping)


def _failure(tree: Tree, executor: Executor) -> NodeFailure:
    assert executor.error is not None, "only failed runs are asked for"
    reacted = any(t.outcome == "fired" for t in executor.transitions)
    handled = reacted or executor.status != "failed" or _answers_a_call(tree, executor)
    return NodeFailure(executor.node, executor.error, handled)
