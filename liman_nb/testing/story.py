"""An invented session, made of the same commits that an engine would give a storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4, uuid5

from liman_nb.state.rows import AnyRow, RunRow, TurnRow
from liman_nb.state.states import (
    ExecutorState,
    ExecutorStatus,
    LastRun,
    LLMNodeState,
    NodeActorState,
    NodeActorStatus,
    SessionState,
    TurnState,
)
from liman_nb.state.storage import Commit, Touched

_NODE, _TYPE = "chat", "LLMNode"


@dataclass
class Story:
    """A conversation with one language model node. Every turn is two commits: begun, answered.

    Attributes:
        session_id: the session's text id.
        text: what the person says, and the model repeats; any value, if only it is begun.
        root: id of the session; a new one for every story.
        rows: what was told so far.
        messages: what the node remembers of it.
        turns: the turns so far.
    """

    session_id: str = "alice"
    text: Any = "hello"
    root: UUID = field(default_factory=uuid4)
    rows: list[AnyRow] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    turns: list[TurnState] = field(default_factory=list)

    @property
    def actor_id(self) -> UUID:
        """Id of the one node's actor."""
        return uuid5(self.root, _NODE)

    def tell(self, turns: int) -> Iterator[Commit]:
        """The commits of some more turns. States are made as they are when a commit is stored."""
        for _ in range(turns):
            yield self._begin()
            yield self._answer()

    def _begin(self) -> Commit:
        number = len(self.turns) + 1
        executor_id = uuid5(self.root, str(number))
        row = TurnRow(
            kind="turn",
            at=_time(len(self.rows)),
            session_id=self.session_id,
            turn=number,
            node=_NODE,
            node_type=_TYPE,
            input=self.text,
        )
        self.turns.append(TurnState(number=number, executor_id=executor_id))
        commit = self._commit(row)
        return Commit(*commit, self._begun, open=True)

    def _answer(self) -> Commit:
        row = RunRow(
            kind="run",
            at=_time(len(self.rows)),
            executor=str(self.turns[-1].executor_id),
            output=self.text,
        )
        self.messages.append({"role": "user", "content": self.text})
        self.messages.append({"role": "assistant", "content": self.text})
        return Commit(*self._commit(row), self._answered, open=False)

    def _commit(self, row: AnyRow) -> tuple[str, int, tuple[AnyRow, ...]]:
        self.rows.append(row)
        return str(self.root), len(self.rows) - 1, (row,)

    def _begun(self) -> Touched:
        executor = self.executor(ExecutorStatus.IDLE)
        return Touched(new_executors=(executor,), last=self.root_executor(ExecutorStatus.IDLE))

    def _answered(self) -> Touched:
        executor = self.executor(ExecutorStatus.COMPLETED)
        root = self.root_executor(ExecutorStatus.COMPLETED)
        return Touched(actors=(self.actor(executor, root),), executors=(root,), last=executor)

    # ── the states as they are now ───────────────────────────────────────────────────────────────

    def executor(self, status: ExecutorStatus) -> ExecutorState:
        """The latest turn's executor."""
        return ExecutorState(
            execution_id=self.turns[-1].executor_id,
            node_actor_id=self.actor_id,
            status=status,
            parent_id=self.root,
            turn=len(self.turns),
            input=self.text,
            output=self.text if status is ExecutorStatus.COMPLETED else None,
            node_name=_NODE,
            node_type=_TYPE,
        )

    def root_executor(self, status: ExecutorStatus) -> ExecutorState:
        """The root executor."""
        return ExecutorState(
            execution_id=self.root,
            node_actor_id=self.actor_id,
            status=status,
            child_executor_ids=tuple(turn.executor_id for turn in self.turns),
            session=SessionState(session_id=self.session_id, turns=tuple(self.turns)),
            node_name=_NODE,
            node_type=_TYPE,
        )

    def actor(self, executor: ExecutorState, root: ExecutorState) -> NodeActorState:
        """The node's actor after its latest run."""
        return NodeActorState(
            actor_id=self.actor_id,
            node_id=uuid5(self.root, f"{_TYPE}:{_NODE}"),
            status=NodeActorStatus.COMPLETED,
            node_state=LLMNodeState(messages=tuple(self.messages)),
            runs=len(self.turns),
            last_run=LastRun(executors=(root, executor)),
            node_name=_NODE,
            node_type=_TYPE,
        )


def _time(second: int) -> str:
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"2030-01-01T{hour:02}:{minute:02}:{second:02}.000Z"
