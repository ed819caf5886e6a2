"""What a caller means: which session, which node it enters at, which input, which context.

Callers name a session by its text id, by the ids of a result, or not at all. Taking the turn is the
session's business (`engine/session.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from liman_nb.engine.pending import Question
from liman_nb.engine.run import Runtime
from liman_nb.engine.session import Answer, Session
from liman_nb.errors import UsageError
from liman_nb.result import ExecutorInput, entry_of
from liman_nb.state.json_values import check_json
from liman_nb.workshop import Workshop


class _NoAnswer:
    def __repr__(self) -> str:
        return "no answer"


NO_ANSWER = _NoAnswer()


@dataclass(frozen=True, slots=True)
class Known:
    """A session's text id, and the id of its root executor."""

    id: str
    root: str


@dataclass(frozen=True, slots=True, repr=False)
class Call:
    """A turn that is asked for, and what it will run with."""

    runtime: Runtime
    session: Session
    entry: str
    given: Any
    context: Mapping[str, Any]


class Reception:
    """Receives callers, and remembers the session that is opened.

    Args:
        workshop: has the graph and the sessions.
        session_id: the session to go on with; a new one when absent.

    Attributes:
        opened: the opened session; ``None`` before a first turn that names none.
    """

    def __init__(self, workshop: Workshop, session_id: str | None) -> None:
        self._workshop = workshop
        self.opened = None if session_id is None else self.own(session_id)

    def known(self, session_id: str | None) -> Known | None:
        """The session of that id; the opened one, if there is one, for ``None``.

        Raises:
            UsageError: the id is no text.
        """
        return self.opened if session_id is None else self.own(session_id)

    def new_session(self, session_id: str | None) -> Known:
        """Another session is the opened one from now on; a new one for ``None``."""
        self.opened = known = self.own(new_id() if session_id is None else session_id)
        return known

    def running(self, session_id: str | None) -> Session | None:
        """A session, if it is open in this process."""
        known = self.known(session_id)
        return self._workshop.sessions.opened(known.root) if known else None

    async def session(self, session_id: str | None) -> Session:
        """Open a session; it is the opened one from now on."""
        self.opened = known = self.known(session_id) or self.new_session(None)
        return await self._workshop.sessions.open(known.id, known.root)

    async def anew(self, session_id: str) -> Session:
        """Open a session as it is stored now; it is the opened one from now on."""
        known = self.opened = self.own(session_id)
        return await self._workshop.sessions.open_anew(known.id, known.root)

    async def ready(self, session_id: str | None) -> tuple[Runtime, Session]:
        """A session, and what its next turn will run with."""
        return self._workshop.prepare(), await self.session(session_id)

    async def called(
        self, value: Any, session_id: str | None, context: Mapping[str, Any] | None
    ) -> Call:
        """The turn that a caller's value asks for.

        Raises:
            UsageError: the value or the context is of another kind, or ids that do not fit.
            UnknownSession: there is no session of these ids.
        """
        checked = checked_context(context)
        if not isinstance(value, ExecutorInput):
            given = _given(value)
            runtime, session = await self.ready(session_id)
            return Call(runtime, session, runtime.graph.entry, given, checked)
        runtime = self._workshop.prepare()
        session = await self._workshop.sessions.by_execution_id(str(value.execution_id))
        self.opened = Known(session.tree.session_id, session.tree.root)
        entry = entry_of(runtime.graph, session.tree, value)
        return Call(runtime, session, entry, _given(value.node_input), checked)

    async def called_at(
        self, node: str, value: Any, session_id: str | None, context: Mapping[str, Any] | None
    ) -> Call:
        """The turn that enters at a node; ``{"message": text}`` is that text.

        Raises:
            UsageError: no such node.
        """
        checked = checked_context(context)
        is_message = isinstance(value, Mapping) and set(value) == {"message"}
        entry = self._workshop.node(node).name
        runtime, session = await self.ready(session_id)
        return Call(runtime, session, entry, value["message"] if is_message else value, checked)

    def refuse_blocking(self, value: Any, session_id: str | None) -> None:
        """Refuse a call that waits on this thread for a turn which needs this very thread.

        Raises:
            UsageError: it does.
        """
        if isinstance(value, ExecutorInput):
            session = self._workshop.sessions.opened(str(value.execution_id))
        else:
            session = self.running(session_id)
        if session is not None and session.queue.needs_this_thread():
            raise UsageError(
                f"session {session.tree.session_id!r}: a turn on the event loop of this thread "
                f"could not go on while run_sync waits for it; use: await agent.step(…)"
            )

    def own(self, session_id: str) -> Known:
        """A session of the agent's own name.

        Raises:
            UsageError: the id is no text.
        """
        if not isinstance(session_id, str):
            raise UsageError(f"a session_id is a text, not a {type(session_id).__name__}")
        check_json(session_id, "session_id")
        return Known(session_id, self._workshop.sessions.root_of(session_id))


def new_id() -> str:
    """A text id for a new session."""
    return uuid4().hex[:16]


def checked_context(context: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A call's context; an empty one for ``None``. The names of its keys are stored.

    Raises:
        UsageError: it is no mapping with text keys.
    """
    if context is None:
        return {}
    if not isinstance(context, Mapping) or not all(isinstance(key, str) for key in context):
        raise UsageError(
            f"context must be a mapping with text keys such as {{'user_id': …}}, not a "
            f"{type(context).__name__}"
        )
    check_json(list(context), "the keys of context")
    return context


def _given(value: Any) -> Any:
    """A turn's input."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    raise UsageError(
        f"the input of a turn is text, a mapping, or an ExecutorInput, not {type(value).__name__}"
    )


def answer_of(value: Any, question: Question | str | None) -> Answer | None:
    """A person's answer; ``None`` for none.

    Raises:
        UsageError: a question without an answer.
    """
    if value is NO_ANSWER:
        if question is not None:
            raise UsageError("resume(question=…) needs the answer, too: agent.resume(answer, …)")
        return None
    return Answer(value, question.id if isinstance(question, Question) else question)
