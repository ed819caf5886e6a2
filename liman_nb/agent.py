"""The front door: an agent is a graph, its models, a storage, and the sessions held with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from liman_nb.copies import dump, fork, load, retried
from liman_nb.engine.bounds import Bounds
from liman_nb.engine.events import Event, Listener, Listeners
from liman_nb.engine.pending import Question
from liman_nb.engine.run import Runtime
from liman_nb.engine.session import OnOpenTurn, Session
from liman_nb.engine.stages import Stage
from liman_nb.engine.times import utc_now
from liman_nb.engine.tree import Tree
from liman_nb.parts import Parts, by_node, names, one_source, several
from liman_nb.portal import Portal
from liman_nb.readers import Readers
from liman_nb.reception import NO_ANSWER, Call, Reception, answer_of, checked_context
from liman_nb.result import StepResult, result_of
from liman_nb.settings import Settings, read_settings
from liman_nb.state.storage import StateStorage
from liman_nb.views.bundles import View
from liman_nb.views.record import AgentView, UnreadableView
from liman_nb.workshop import Problems, Workshop

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Agent(Readers):
    """A graph of nodes that people and programs talk to.

    Args:
        specs: a folder, a file, YAML text, a mapping, or a list of those.
        specs_dir: the same for a folder, under the name that Liman's documentation uses.
        start_node: the node that a turn enters at; the graph's only possible one when absent.
        llm: the language model: an object with ``complete``, a model's name, a list of scripted
            replies, a callable, or ``None`` for the one that this machine is set up for.
        llms: other models for single nodes, by node name.
        state_storage: where sessions are kept; what the environment says when absent (see
            :mod:`liman_nb.settings`), and ``DiskCacheStateStorage(".liman_nb")`` when it says
            nothing, since a notebook must survive its kernel.
        session_id: the session to go on with; a new one when absent.
        name: the agent's name, part of its sessions' identity; the folder's name when absent, the
            start node's for specs given as text.
        tools: what LLM nodes may list under ``tools``: typed Python functions, and tools from
            :func:`tools_from_openapi`, :func:`tools_from_mcp` or :class:`ExternalTool`.
        functions: Python functions that specs may name, as a list or by name.
        allow_imports: modules whose functions specs may name by dotted path.
        language: language of localized texts.
        bounds: what one turn may do at most.
        on_open_turn: what `step` does with a turn that was interrupted or waits for a person:
            ``ask`` raises :class:`~liman_nb.errors.OpenTurn`, ``resume`` finishes it first if it
            can, ``abandon`` closes it.
        strict: whether a finding such as an unknown key is an error; ``False`` makes it a warning.
        settings: where sessions are kept, unless `state_storage` says it, and whose they are; those
            of the environment when absent.
        clock: the current time, UTC, by which deadlines pass, rows are dated and records
            expire; for tests.

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
        settings: Settings | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        parts = Parts(
            source=one_source(specs, specs_dir),
            start_node=start_node,
            tools=several(tools, "tools"),
            functions=functions
            if isinstance(functions, Mapping)
            else several(functions, "functions"),
            allow_imports=names(allow_imports),
            language=language,
            strict=strict,
            llm=llm,
            llms=by_node(llms),
            state_storage=state_storage,
            bounds=bounds or Bounds(),
            name=name,
            settings=settings,
            clock=clock,
        )
        self._listeners = Listeners()
        self._workshop = Workshop(parts, self._listeners.tell, self._listeners.any)
        self._reception = Reception(self._workshop, session_id)
        self._on_open_turn: OnOpenTurn = on_open_turn
        self._portal = Portal()
        self._last: StepResult | None = None

    @classmethod
    def from_env(cls, env_file: str | Path | None = None, **arguments: Any) -> Agent:
        """An agent whose sessions are kept where the environment and a named file say.

        Args:
            env_file: a ``.env`` file; no file is read unless it is named here.
            arguments: as for the constructor.

        Raises:
            SetupError: a variable that means nothing, or no such file.
            LimanError: as for the constructor.
        """
        return cls(**arguments, settings=read_settings(env_file))

    # ── who this is ──────────────────────────────────────────────────────────────────────────────

    @property
    def name(self) -> str:
        """The agent's name, part of its sessions' identity."""
        return self._workshop.name

    @property
    def session_id(self) -> str | None:
        """The opened session; ``None`` before a first turn that names none."""
        opened = self._reception.opened
        return opened.id if opened else None

    @property
    def state_storage(self) -> StateStorage:
        """Where sessions are kept."""
        return self._workshop.storage

    @property
    def last_result(self) -> StepResult | None:
        """The result of the last turn that ended here."""
        return self._last

    def reload(self) -> Agent:
        """Read the specs again, for the turns that are asked for from now on.

        Sessions and models stay as they are. On an error the old graph stays.

        Raises:
            SpecError: as for the constructor.
        """
        self._workshop.load()
        return self

    def check(self) -> Problems:
        """Every error and warning of the specs as they are now. Imports and runs nothing."""
        return self._workshop.check()

    # ── functions around a model ─────────────────────────────────────────────────────────────────

    def pre_compose(self, node: str) -> Callable[[F], F]:
        """Decorate the function that prepares an LLM node's input.

        It is called as ``function(input_data, context)`` before the model, sync or async, and
        returns a mapping: what the node's prompt and its model get instead of the input. What it
        returned is stored; what it reads of the context is not.

        Args:
            node: name of the node.

        Raises:
            UsageError: no such node, one without a model, or a function that needs other arguments.
        """
        return self._attached(node, "pre_compose")

    def intelligence(self, node: str) -> Callable[[F], F]:
        """Decorate the function that works on an LLM node's reply.

        It is called as ``function(llm_response, input_data, context)``, sync or async. What it
        returns is merged over the yields, validated, and is the node's output; ``None`` leaves the
        reply as it is. Of a node without yields, ``llm_response`` is ``{"text": …}``, and what it
        returns is the output.

        Args:
            node: name of the node.

        Raises:
            UsageError: no such node, one without a model, or a function that needs other arguments.
        """
        return self._attached(node, "intelligence")

    def _attached(self, node: str, stage: Stage) -> Callable[[F], F]:
        def attach(function: F) -> F:
            self._workshop.attach(node, stage, function)
            return function

        self._workshop.node(node)
        return attach

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
            The result; its status is ``suspended`` while a person is asked (see
            :attr:`StepResult.pending`), ``cancelled`` after :meth:`stop`.

        Raises:
            TurnFailed: a node run failed and nothing handled it; carries the result.
            OpenTurn: the session's last turn was interrupted, or waits for a person; the message
                shows both ways on.
            SetupError: there is no language model; the message says what to run.
            SpecError: a function that the specs name cannot be found or used.
            UsageError: an input of another kind, or a call from within a turn of the same session.
            StorageError: the storage cannot be read or written, or the input not stored.
        """
        return await self._taken(await self._reception.called(value, session_id, context))

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
        call = await self._reception.called_at(node, input_data, session_id, context)
        return await self._taken(call)

    async def stream(
        self,
        value: Any,
        *,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[Event]:
        """Run one turn and pass on what happens in it as it happens, tokens included.

        Leaving the loop early stops the turn. The result is :attr:`last_result`.

        Raises:
            LimanError: as for :meth:`step`, after the events.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def tell(event: Event) -> None:
            events.put_nowait(event)
            self._listeners.tell(event)

        call = await self._reception.called(value, session_id, context)
        own = replace(call.runtime, emit=tell, listened=lambda: True)
        work = asyncio.create_task(self._taken(replace(call, runtime=own)))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def resume(
        self,
        answer: Any = NO_ANSWER,
        *,
        question: Question | str | None = None,
        session_id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """Go on with a turn that was interrupted, or that waits for a person.

        What was committed is not run again. Questions whose deadline has passed get their fallback,
        others wait on.

        Args:
            answer: the answer to a question; absent to go on without one. Where the question's form
                has one required field, that field's value alone will do: ``True`` approves a call.
            question: which question, where several are open: one of :meth:`pending`, its id, or the
                name of the node that asks.
            session_id: the session; the opened one when absent.
            context: the call-time data again; only its keys were stored.

        Raises:
            AnswerInvalid: the answer does not fit; the question stays open.
            OpenTurn: no turn is open.
            ContextMissing: keys are missing that the turn was begun with.
            SpecChanged: the turn was begun with other specs.
            LimanError: as for :meth:`step`.
        """
        given = answer_of(answer, question)
        checked = checked_context(context)
        runtime, session = await self._reception.ready(session_id)
        number = await session.resume(runtime, checked, given)
        return self._ended(runtime, session, number)

    async def abandon(self, *, session_id: str | None = None) -> None:
        """Close an open turn without finishing it; nothing happens when none is open."""
        session = await self._reception.session(session_id)
        await session.abandon(self._workshop.now(), "given up by the caller")

    def stop(self, *, session_id: str | None = None) -> bool:
        """End the turn under way within a second, from any thread; whether there was one.

        What was committed stays. A synchronous function that still runs in its thread cannot be
        stopped: what it returns is discarded.
        """
        session = self._reception.running(session_id)
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
            UsageError: also for a session of which a turn runs on the event loop of this thread,
                since that loop could not go on while this call waits.
        """
        self._reception.refuse_blocking(value, session_id)
        return self._portal.run(self.step(value, session_id=session_id, context=context))

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────

    def new_session(self, session_id: str | None = None) -> str:
        """Go on with another session from the next turn; its id, a new one when none is given."""
        return self._reception.new_session(session_id).id

    async def open(self, session_id: str) -> Agent:
        """Open a session as it is stored now, for reading and for the turns to come. Runs nothing.

        A view shows what this kernel knows of a session; opening it again shows what another one
        has added. A turn takes up what is stored by itself.

        Raises:
            StorageError: the storage cannot be read.
        """
        await self._reception.anew(session_id)
        return self

    def fork(
        self,
        session_id: str | None = None,
        *,
        at_turn: int | None = None,
        new_session_id: str | None = None,
    ) -> str:
        """Go on from an earlier turn in another session; the session itself does not change.

        Runs nothing. The new session begins with what the nodes remembered then, and is the opened
        one from now on.

        Args:
            session_id: the session to begin from; the opened one when absent.
            at_turn: how many of its turns to take over; all when absent, an open last one included,
                so that another answer can be tried. 0 takes over none: nothing is stored before the
                new session's first turn.
            new_session_id: the new session's id; a new one when absent.

        Returns:
            The new session's id.

        Raises:
            UnknownSession: there is no such session.
            UsageError: it has fewer turns, the new id is in use, or no session is opened.
            StorageError: the storage cannot be read or written.
        """
        work = fork(self._workshop, self._reception, session_id, at_turn, new_session_id)
        return self._portal.run(work).tree.session_id

    async def retry_turn(
        self, session_id: str | None = None, context: Mapping[str, Any] | None = None
    ) -> StepResult:
        """Run a session's last turn once more, in a fork that begins before it.

        The turn may have ended in any way, or be open. The session stays as it is; the fork is the
        opened one from now on.

        Args:
            session_id: the session; the opened one when absent.
            context: the call-time data again; only its keys were stored.

        Returns:
            The result of the new turn; its ``session_id`` is the fork's.

        Raises:
            ContextMissing: keys are missing that the turn was begun with.
            UsageError: there is no turn, or its node is no longer there.
            LimanError: as for :meth:`step`.
        """
        checked = checked_context(context)
        call = await retried(self._workshop, self._reception, session_id, checked)
        return await self._taken(call)

    def dump(self, session_id: str | None = None) -> str:
        """A session as text: lines of JSON, a header and a row for each event.

        Args:
            session_id: the session; the opened one when absent.

        Raises:
            UnknownSession: there is no such session.
            UsageError: the storage keeps no journal, or no session is opened.
            StorageError: the storage cannot be read.
        """
        return self._portal.run(dump(self._workshop, self._reception, session_id))

    def load(self, data: str) -> str:
        """Store a session that :meth:`dump` gave, anywhere; it is the opened one from now on.

        Nothing is written before all of it was looked at, and what the storage has is never
        changed: of a session that is there already, only missing rows are added. For an agent of
        another name it is another session, with ids of its own.

        Returns:
            The session's id.

        Raises:
            UsageError: the text is no session, another one of that id is stored, or the storage
                keeps no journal.
            StorageError: the storage cannot be written.
        """
        return self._portal.run(load(self._workshop, self._reception, data))

    async def _taken(self, call: Call) -> StepResult:
        """The result of a turn that is taken now."""
        number = await call.session.step(
            call.runtime, call.entry, call.given, call.context, self._on_open_turn
        )
        return self._ended(call.runtime, call.session, number)

    def _ended(self, runtime: Runtime, session: Session, number: int) -> StepResult:
        result = result_of(self.name, runtime.graph, session.tree, number)
        self._last = result
        if result.status == "failed":
            raise result.failure()
        return result

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with every event of every turn; returns what ends that.

        The listener is called on the event loop's thread and must return at once. While anybody
        listens, models stream their replies. An exception of a listener becomes a warning.
        """
        return self._listeners.add(listener)

    # ── shown in a cell ──────────────────────────────────────────────────────────────────────────

    def _card(self) -> View:
        graph = self._workshop.graph
        now = datetime.now(UTC)

        def view(tree: Tree, running: Collection[str]) -> View:
            return AgentView(self.name, graph, tree, recorded=now, running=running)

        try:
            return self._read(None, view)
        except Exception as error:  # noqa: BLE001 - a storage may raise anything, a repr nothing
            return UnreadableView(self.name, graph, f"{type(error).__name__}: {error}")

    def __repr__(self) -> str:
        return repr(self._card())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._card()._repr_mimebundle_(include, exclude)
