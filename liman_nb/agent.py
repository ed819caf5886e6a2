"""The front door: an agent is a graph, its models, a storage, and the sessions held with them."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from liman_nb.engine.bounds import Bounds
from liman_nb.engine.events import Event, Listener
from liman_nb.engine.session import OnOpenTurn, Session
from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.portal import Portal
from liman_nb.result import ExecutorInput, StepResult, entry_of, result_of
from liman_nb.state.storage import StateStorage
from liman_nb.views.graph_view import GraphView
from liman_nb.views.messages import MessagesView
from liman_nb.views.record import AgentView
from liman_nb.views.transitions import TransitionsView
from liman_nb.views.tree_view import TreeView
from liman_nb.views.yields import YieldsView
from liman_nb.workshop import Parts, Problems, Workshop


class Agent:
    """A graph of nodes that people and programs talk to.

    Args:
        specs: a folder, a file, YAML text, a mapping, or a list of those.
        specs_dir: the same for a folder, under the name that Liman's documentation uses.
        start_node: the node that a turn enters at; the graph's only possible one when absent.
        llm: the language model: an object with ``complete``, a model's name, a list of scripted
            replies, a callable, or ``None`` for the one that this machine is set up for.
        llms: other models for single nodes, by node name.
        state_storage: where sessions are kept; ``DiskCacheStateStorage(".liman_nb")`` when absent,
            since a notebook must survive its kernel.
        session_id: the session to go on with; a new one when absent.
        name: the agent's name, part of its sessions' identity; the folder's name when absent, the
            start node's for specs given as text.
        tools: typed Python functions that LLM nodes may list under ``tools``.
        functions: Python functions that specs may name, as a list or by name.
        allow_imports: modules whose functions specs may name by dotted path.
        language: language of localized texts.
        bounds: what one turn may do at most.
        on_open_turn: what `step` does with a turn that was interrupted: ``ask`` raises
            :class:`~liman_nb.errors.OpenTurn`, ``resume`` finishes it first, ``abandon`` closes it.
        strict: whether a finding such as an unknown key is an error; ``False`` makes it a warning.

    Raises:
        SpecError: the specs do not make a graph; every problem is listed.
        UsageError: a tool or function that cannot be described.
    """

    def __init__(  # noqa: PLR0913 - each is one independent choice of the caller
        self,
        specs: Any = None,
        *,
        specs_dir: str | Path | None = None,
        start_node: str | None = None,
        llm: Any = None,
        llms: Mapping[str, Any] | None = None,
        state_storage: StateStorage | None = None,
        session_id: str | None = None,
        name: str | None = None,
        tools: Iterable[Callable[..., Any]] = (),
        functions: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] = (),
        allow_imports: Iterable[str] = (),
        language: str | None = None,
        bounds: Bounds | None = None,
        on_open_turn: OnOpenTurn = "ask",
        strict: bool = True,
    ) -> None:
        parts = Parts(
            source=_one_source(specs, specs_dir),
            start_node=start_node,
            tools=tuple(tools),
            functions=functions if isinstance(functions, Mapping) else tuple(functions),
            allow_imports=_names(allow_imports),
            language=language,
            strict=strict,
            llm=llm,
            llms=dict(llms or {}),
            state_storage=state_storage,
            bounds=bounds or Bounds(),
            name=name,
        )
        self._workshop = Workshop(parts, self._emit, lambda: bool(self._listeners))
        self._session_id = None if session_id is None else _text_id(session_id)
        self._on_open_turn: OnOpenTurn = on_open_turn
        self._listeners: list[Listener] = []
        self._portal = Portal()
        self._last: StepResult | None = None

    # ── who this is ──────────────────────────────────────────────────────────────────────────────

    @property
    def name(self) -> str:
        """The agent's name, part of its sessions' identity."""
        return self._workshop.name

    @property
    def session_id(self) -> str | None:
        """The opened session; ``None`` before a first turn that names none."""
        return self._session_id

    @property
    def state_storage(self) -> StateStorage:
        """Where sessions are kept."""
        return self._workshop.storage

    @property
    def last_result(self) -> StepResult | None:
        """The result of the last turn that ended here."""
        return self._last

    def reload(self) -> Agent:
        """Read the specs again; sessions stay as they are. On an error the old graph stays.

        Raises:
            SpecError: as for the constructor.
        """
        self._workshop.load()
        return self

    def check(self) -> Problems:
        """Every error and warning of the specs as they are now. Imports and runs nothing."""
        return self._workshop.check()

    # ── talking ──────────────────────────────────────────────────────────────────────────────────

    async def step(
        self,
        value: Any,
        *,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """Run one turn: the whole tree of nodes that the input leads to.

        Args:
            value: text, a mapping, or an :class:`ExecutorInput` of a session known by its ids.
            session_id: the session; the opened one when absent, a new one when none is.
            context: call-time data for conditions, prompts and service accounts. Never stored.

        Returns:
            The result; its status is ``cancelled`` after :meth:`stop`.

        Raises:
            TurnFailed: a node run failed and nothing handled it; carries the result.
            OpenTurn: the session's last turn was interrupted; the message shows both ways on.
            SetupError: there is no language model; the message says what to run.
            SpecError: a function that the specs name cannot be found or used.
            UsageError: an input of another kind.
            StorageError: the storage cannot be read or written, or the input not stored.
        """
        session, entry, given = await self._addressed(value, session_id)
        number = await session.step(entry, given, _checked(context), self._on_open_turn)
        return self._ended(session, number)

    async def mesh_call(
        self,
        node: str,
        input_data: Any,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """Run one turn that enters at any node (LeafMesh's name for it).

        Args:
            node: name of the node.
            input_data: its input; ``{"message": text}`` is that text.
            session_id: as for :meth:`step`.
            context: as for :meth:`step`.

        Raises:
            UsageError: no such node.
            LimanError: as for :meth:`step`.
        """
        session = await self._opened(session_id)
        entry = self._workshop.node(node).name
        given = input_data
        if isinstance(given, Mapping) and set(given) == {"message"}:
            given = given["message"]
        number = await session.step(entry, given, _checked(context), self._on_open_turn)
        return self._ended(session, number)

    async def stream(
        self,
        value: Any,
        *,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[Event]:
        """Run one turn and pass on what happens as it happens, tokens included.

        Leaving the loop early stops the turn. The result is :attr:`last_result`.

        Raises:
            LimanError: as for :meth:`step`, after the events.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        session, _, _ = await self._addressed(value, session_id)
        mine = session.tree.session_id

        def listen(event: Event) -> None:
            if event.session_id == mine:
                events.put_nowait(event)

        work = asyncio.create_task(self.step(value, session_id=session_id, context=context))
        work.add_done_callback(lambda _: events.put_nowait(None))
        self._listeners.append(listen)
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            self._listeners.remove(listen)
            if not work.done():
                work.cancel()
                await asyncio.wait([work])

    async def resume(
        self,
        *,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """Go on with a turn that was interrupted: what was committed is not run again.

        Args:
            session_id: the session; the opened one when absent.
            context: the call-time data again; only its keys were stored.

        Raises:
            OpenTurn: no turn is open.
            ContextMissing: keys are missing that the turn was begun with.
            SpecChanged: the turn was begun with other specs.
            LimanError: as for :meth:`step`.
        """
        session = await self._opened(session_id)
        return self._ended(session, await session.resume(_checked(context)))

    async def abandon(self, *, session_id: str | None = None) -> None:
        """Close an interrupted turn without finishing it; nothing happens when none is open."""
        session = await self._opened(session_id)
        await session.abandon("given up by the caller")

    def stop(self, *, session_id: str | None = None) -> bool:
        """End the turn under way within a second, from any thread; whether there was one.

        What was committed stays. A synchronous function that still runs in its thread cannot be
        stopped: what it returns is discarded.
        """
        session = self._workshop.sessions.opened(session_id or self._session_id)
        return session is not None and session.stop()

    def run_sync(
        self,
        value: Any,
        *,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """:meth:`step` for code that is not asynchronous; works in a notebook, too.

        Raises:
            LimanError: as for :meth:`step`.
        """
        return self._portal.run(self.step(value, session_id=session_id, context=context))

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────

    def new_session(self, session_id: str | None = None) -> str:
        """Go on with another session from the next turn; its id, a new one when none is given."""
        self._session_id = _text_id(session_id or uuid4().hex[:16])
        return self._session_id

    async def open(self, session_id: str) -> Agent:
        """Open a stored session, for reading and for the turns to come. Runs nothing.

        Raises:
            StorageError: the storage cannot be read.
        """
        await self._opened(session_id)
        return self

    async def _opened(self, session_id: str | None) -> Session:
        if session_id is not None:
            self._session_id = _text_id(session_id)
        self._workshop.prepare()
        return await self._workshop.sessions.open(self._session_id or self.new_session())

    async def _addressed(self, value: Any, session_id: str | None) -> tuple[Session, str, Any]:
        """The session, the entry node and the input that a caller's value means."""
        if not isinstance(value, ExecutorInput):
            return await self._opened(session_id), self._workshop.graph.entry, value
        self._workshop.prepare()
        session = await self._workshop.sessions.by_execution_id(str(value.execution_id))
        self._session_id = session.tree.session_id
        entry = entry_of(self._workshop.graph, session.tree, value)
        return session, entry, value.node_input

    def _ended(self, session: Session, number: int) -> StepResult:
        result = result_of(self.name, self._workshop.graph, session.tree, number)
        self._last = result
        if result.status == "failed":
            raise result.failure()
        return result

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    @property
    def graph(self) -> GraphView:
        """The graph, with the opened session's latest statuses and outcomes."""
        return GraphView(self._workshop.graph, self._tree(None))

    def tree(self, *, session_id: str | None = None) -> TreeView:
        """The executor tree of a session."""
        return TreeView(self._tree(session_id))

    def messages(self, node: str, *, session_id: str | None = None) -> MessagesView:
        """The message history of an LLM node.

        Raises:
            UsageError: no such node.
        """
        name = self._workshop.node(node).name
        actor = self._tree(session_id).actors.get(name)
        return MessagesView(name, actor.messages if actor else [])

    def yields(self, *, session_id: str | None = None) -> YieldsView:
        """The latest structured output of each node that declares one."""
        return YieldsView(self._workshop.graph, self._tree(session_id))

    def transitions(self, *, session_id: str | None = None) -> TransitionsView:
        """Every edge considered: its condition, the values it read, its outcome, and why."""
        return TransitionsView(self._tree(session_id))

    def requests(self, node: str, *, session_id: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The exact requests sent to an LLM node's model by this object, oldest first.

        They are kept in memory only: a system prompt may hold values of the call's context.

        Raises:
            UsageError: no such node.
        """
        name = self._workshop.node(node).name
        return self._workshop.requests.of(self._tree(session_id).session_id, name)

    def _tree(self, session_id: str | None) -> Tree:
        """A session's tree: of the opened one, or loaded for the purpose."""
        wanted = session_id or self._session_id
        if wanted is None:
            return Tree("", "")
        session = self._workshop.sessions.opened(wanted)
        if session is None:
            session = self._portal.run(self._workshop.sessions.open(wanted))
        return session.tree

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with every event of every turn; returns what ends that.

        The listener is called on the event loop's thread and must return at once. While anybody
        listens, models stream their replies. An exception of a listener becomes a warning.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _emit(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - a turn never depends on who listens
                warnings.warn(
                    f"a listener failed on {event.kind}: {type(error).__name__}: {error}",
                    stacklevel=2,
                )

    # ── shown in a cell ──────────────────────────────────────────────────────────────────────────

    def _card(self) -> AgentView:
        return AgentView(
            self.name, self._workshop.graph, self._tree(None), recorded=datetime.now(UTC)
        )

    def __repr__(self) -> str:
        return repr(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._card()._repr_mimebundle_(include, exclude)


def _one_source(specs: Any, specs_dir: str | Path | None) -> Any:
    if (specs is None) == (specs_dir is None):
        raise UsageError(
            "an Agent needs its specs, once: Agent('specs/'), Agent(specs_dir='specs/'), or "
            "Agent(specs='''kind: LLMNode …''')"
        )
    return specs if specs_dir is None else Path(specs_dir)


def _checked(context: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if context is None:
        return {}
    if not isinstance(context, Mapping) or not all(isinstance(key, str) for key in context):
        raise UsageError(
            f"context must be a mapping with text keys such as {{'user_id': …}}, not a "
            f"{type(context).__name__}"
        )
    return context


def _text_id(session_id: str) -> str:
    if not isinstance(session_id, str):
        raise UsageError(f"a session_id is a text, not a {type(session_id).__name__}")
    return session_id


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
