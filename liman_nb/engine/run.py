"""One node run under way: what it may read, and what it collects besides its result."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.callables import Callables
from liman_nb.engine.events import Event, EventKind
from liman_nb.engine.requests import RequestLog
from liman_nb.engine.tree import Executor, NodeActor, Tree
from liman_nb.errors import EngineError
from liman_nb.models.llm import LLM, Usage
from liman_nb.specs.graph import Graph, Node
from liman_nb.state.rows import AttemptRecord, ErrorRecord, TokenRecord
from liman_nb.state.storage import StateStorage
from liman_nb.tools.calling import LeftRunning
from liman_nb.tools.credentials import TurnCredentials
from liman_nb.tools.frames import user_frame
from liman_nb.tools.redaction import redact


def utc_now() -> datetime:
    """The current time, UTC."""
    return datetime.now(UTC)


def stamp(at: datetime) -> str:
    """A time as it is stored: ISO 8601, UTC, milliseconds, ``Z``."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def storable(text: str) -> str:
    """A text without halves of surrogate pairs, which have no form in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that the sessions of one agent share.

    Attributes:
        graph: the graph that runs.
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
        extras: a copy of the actor's extras, which the node's function may change.
        attempts: what was tried so far.
        usage: tokens so far.
    """

    runtime: Runtime
    tree: Tree
    executor: Executor
    call_time: CallTime
    extras: dict[str, Any] = field(init=False)
    attempts: list[AttemptRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self.extras = copy.deepcopy(self.actor.extras) if self.actor else {}

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
    def changed_extras(self) -> dict[str, Any] | None:
        """The extras, if this run changed them."""
        before = self.actor.extras if self.actor else {}
        return self.extras if self.extras != before else None

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
        message = storable(redact(str(error), secrets))
        return ErrorRecord(type=type(error).__name__, message=message, where=user_frame(error))

    def tried(self, error: BaseException, reply: str | None = None) -> None:
        """Note a failed attempt that is followed by another one."""
        record = self.error_record(error)
        self.attempts.append(AttemptRecord(error=record, reply=reply and storable(reply)))
        self.emit("attempt", f"{record.type}: {record.message}")

    def on_token(self, text: str) -> None:
        """Pass on a piece of an LLM's text."""
        self.emit("token", text)

    def emit(self, kind: EventKind, text: str = "") -> None:
        """Tell listeners about this run."""
        event = Event(kind, self.tree.session_id, self.executor.turn)
        self.runtime.emit(
            replace(event, node=self.executor.node, executor=self.executor.id, text=text)
        )
