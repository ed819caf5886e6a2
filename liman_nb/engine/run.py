"""One node run under way: what it may read, and what it collects besides its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.callables import Callables
from liman_nb.engine.events import Event, EventKind
from liman_nb.engine.join_plans import Joins
from liman_nb.engine.requests import RequestLog
from liman_nb.engine.times import utc_now
from liman_nb.engine.tree import ENDED, Executor, NodeActor, Tree
from liman_nb.errors import EngineError
from liman_nb.models.llm import LLM, Usage
from liman_nb.specs.graph import Graph, Node
from liman_nb.state.json_values import copied, read_back, same_json
from liman_nb.state.rows import AttemptRecord, ErrorRecord, TokenRecord
from liman_nb.state.storage import StateStorage
from liman_nb.tools.calling import LeftRunning
from liman_nb.tools.credentials import TurnCredentials
from liman_nb.tools.frames import user_frame
from liman_nb.tools.redaction import redact


def storable(text: str) -> str:
    """A text without halves of surrogate pairs, which have no form in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that the sessions of one agent share.

    Attributes:
        graph: the graph that runs.
        joins: its nodes that wait for several branches.
        storage: where rows are committed.
        bounds: bounds of each turn.
        callables: the functions behind the graph's tools, functions and conditions.
        models: the language model of each LLM node, by the node's name.
        requests: the exact requests sent, kept in memory only.
        emit: passes an event to whoever listens.
        listened: whether anybody does; only then do models stream.
        now: the clock, UTC.
    """

    graph: Graph
    joins: Joins
    storage: StateStorage
    bounds: Bounds
    callables: Callables
    models: Mapping[str, LLM]
    requests: RequestLog
    emit: Callable[[Event], None]
    listened: Callable[[], bool]
    now: Callable[[], datetime] = utc_now


@dataclass(frozen=True, slots=True, repr=False)
class CallTime:
    """What the caller of a turn supplied. It lives as long as the call and is never stored.

    Attributes:
        context: the caller's context.
        credentials: those fetched during this call.
        left_running: synchronous functions that nobody waits for any more.
    """

    context: Mapping[str, Any]
    credentials: TurnCredentials
    left_running: list[LeftRunning] = field(default_factory=list)


@dataclass(slots=True, repr=False)
class NodeRun:
    """One execution of a node by its actor.

    Attributes:
        runtime: shared by all runs.
        tree: the session, as committed; a run only reads it.
        executor: what runs.
        call_time: context and credentials.
        extras: a copy of the actor's extras, which the node's function may change; each attempt
            begins with a new one.
        composed: what the node's ``pre_compose`` made of the input, in this run or an earlier one.
        attempts: what was tried so far.
        usage: tokens so far.
    """

    runtime: Runtime
    tree: Tree
    executor: Executor
    call_time: CallTime
    extras: dict[str, Any] = field(init=False)
    composed: dict[str, Any] | None = field(init=False)
    attempts: list[AttemptRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self.extras = copied(self._remembered)
        self.composed = copied(self.executor.composed)

    @property
    def newly_composed(self) -> dict[str, Any] | None:
        """What ``pre_compose`` made of the input, if it was called in this run."""
        return self.composed if self.executor.composed is None else None

    @property
    def node(self) -> Node:
        """The node that runs.

        Raises:
            EngineError: the graph has no such node.
        """
        node = self.runtime.graph.nodes.get(self.executor.node)
        if node is None:
            raise EngineError(f"{self.executor.node!r} is not a node of the graph")
        return node

    @property
    def actor(self) -> NodeActor | None:
        """The node's memory; ``None`` before its first run in this session."""
        return self.tree.actors.get(self.executor.node)

    @property
    def _remembered(self) -> dict[str, Any]:
        return self.actor.extras if self.actor else {}

    def begin_attempt(self) -> None:
        """Forget what an attempt before this one has noted in the extras."""
        self.extras = copied(self._remembered)

    @property
    def changed_extras(self) -> dict[str, Any] | None:
        """The extras as they will be stored, if this run changed them.

        Raises:
            NotStorable: they would not come back equal from JSON.
        """
        extras: dict[str, Any] = read_back(self.extras, "state")
        return None if same_json(extras, self._remembered) else extras

    @property
    def session(self) -> dict[str, Any]:
        """What functions, prompts and conditions may know about the session."""
        return {"session_id": self.tree.session_id, "turn": self.executor.turn}

    @property
    def tokens(self) -> TokenRecord | None:
        """The tokens of this run as they are stored; ``None`` when no server counted any."""
        if not (self.usage.input_tokens or self.usage.output_tokens):
            return None
        return TokenRecord(
            input_tokens=self.usage.input_tokens, output_tokens=self.usage.output_tokens
        )

    def error_record(self, error: BaseException) -> ErrorRecord:
        """A failure as it is stored: literal context and credential values are replaced."""
        secrets = (self.call_time.context, self.call_time.credentials.values())
        return ErrorRecord(
            type=type(error).__name__,
            message=storable(_message(error, secrets)),
            where=storable(user_frame(error)),
        )

    def tried(self, error: BaseException, reply: str | None = None) -> None:
        """Note a failed attempt that is followed by another one."""
        record = self.error_record(error)
        self.attempts.append(AttemptRecord(error=record, reply=reply and storable(reply)))
        self.emit("attempt", f"{record.type}: {record.message}")

    def on_token(self, text: str) -> None:
        """Pass on a piece of an LLM's text."""
        self.emit("token", text)

    def emit(self, kind: EventKind, text: str = "") -> None:
        """Tell listeners about this run, unless it was left behind by a turn that is over."""
        if self.executor.status in ENDED:
            return
        event = Event(kind, self.tree.session_id, self.executor.turn)
        self.runtime.emit(
            replace(event, node=self.executor.node, executor=self.executor.id, text=text)
        )


def _message(error: BaseException, secrets: Any) -> str:
    """An error's message without secrets. Code of the user's is asked for both, and may fail."""
    try:
        return redact(str(error), secrets)
    except Exception as failed:  # noqa: BLE001 - an error about an error must not hide it
        return f"(its message cannot be read: {type(failed).__name__})"
