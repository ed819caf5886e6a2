"""The seam to a store: four methods, as Liman documents them, are all that a back end must have.

Everything else has a default that is built on those four, or says what is missing. The built-in
storages override more of it: they keep a journal (`journal.py`). What a state contains stands in
`states.py`, what a journal's row contains in `rows.py`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from liman_nb.errors import StorageError, UsageError
from liman_nb.state.rows import AnyRow
from liman_nb.state.states import ExecutorState, NodeActorState
from liman_nb.state.storable import check_storable

_Model = TypeVar("_Model", bound=BaseModel)

_CENTURY = 100 * 365 * 24 * 3600  # seconds


@dataclass(frozen=True, slots=True)
class Touched:
    """The states that a commit changed, in the order in which they have to be saved.

    Attributes:
        first: the root of a session whose turn is cancelled: all else follows from it.
        new_executors: executors that start now, children before their parents.
        actors: the actors that changed, each with its last run.
        executors: the other executors that changed, deepest first.
        last: the executor that ran.
    """

    first: ExecutorState | None = None
    new_executors: tuple[ExecutorState, ...] = ()
    actors: tuple[NodeActorState, ...] = ()
    executors: tuple[ExecutorState, ...] = ()
    last: ExecutorState | None = None


class Lease:
    """The right to write to a session, until it is given back. This one excludes nobody.

    A lease of a built-in storage that nothing refers to any more, as after its event loop was
    closed, is free again: at once, or on a server when its time is over.

    Attributes:
        rows: how many rows the session's journal had when the lease was taken; ``None`` from a
            storage without journals.
    """

    def __init__(self, rows: int | None = None) -> None:
        self.rows = rows

    async def release(self) -> None:
        """Gives it back; a second time does nothing. What cannot be reached expires by itself."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What happened, to be stored as a whole or not at all.

    Attributes:
        root: id of the session's root executor.
        first: number of the first row in the session's journal, 0-based.
        rows: the rows. One, for a storage without a journal.
        touched: makes the states as they are after the rows; never called where a journal is kept.
        open: whether the session's last turn is open after the rows: such a session never expires.
        lease: the lease under which it is written, which must not have passed on to another writer;
            ``None`` not to ask.
    """

    root: str
    first: int
    rows: tuple[AnyRow, ...]
    touched: Callable[[], Touched]
    open: bool
    lease: Lease | None = None


class SessionInfo(BaseModel):
    """One line of a storage's list of sessions.

    Attributes:
        root: id of its root executor.
        session_id: its text id.
        created_at: when its first turn began, UTC, ISO 8601 with ``Z``.
        used_at: when its latest turn began.
        turns: how many it has.
    """

    model_config = ConfigDict(frozen=True)

    root: str
    session_id: str
    created_at: str
    used_at: str
    turns: int


@dataclass(frozen=True, slots=True)
class Projection:
    """A journaled session in the form of states, by id."""

    executors: Mapping[str, ExecutorState]
    actors: Mapping[str, NodeActorState]


Projector = Callable[[str, Sequence[AnyRow]], Projection]
"""Makes the states of a session out of the id of its root executor and its rows."""


class StateStorage(ABC):
    """Where sessions are kept. Implement the four abstract methods for a back end of your own.

    Ids are text (UUIDs in their usual form). In the two actor methods ``execution_id`` is the id of
    the session's root executor, so the pair names one node of one session; in the two executor
    methods it is the executor's own. A state is a dictionary of plain JSON values: keep it whole
    and give back an equal one, or ``None`` where nothing was saved. The methods may be coroutines,
    as Liman documents them, or plain functions. `liman_nb.testing.StorageContract` checks a class.

    Only the built-in storages keep two processes from writing to one session at the same time; a
    class of your own can do so with `lease`.

    Attributes:
        record_ttl: how many seconds a session's yields, mesh communications, analyses and decisions
            stay on record (``agent.session()``); ``None`` for as long as the session. Nothing is
            deleted by it, and no turn runs differently.
    """

    record_ttl: float | None = None

    @abstractmethod
    async def save_actor_state(
        self, execution_id: str, actor_id: str, state: dict[str, Any]
    ) -> None:
        """Keeps what a node knows; replaces what was kept before.

        Args:
            execution_id: id of the session's root executor.
            actor_id: id of the node actor.
            state: a :class:`NodeActorState` as JSON values.
        """

    @abstractmethod
    async def load_actor_state(self, execution_id: str, actor_id: str) -> dict[str, Any] | None:
        """What was last saved for this actor of this session; ``None`` if nothing was."""

    @abstractmethod
    async def save_executor_state(self, execution_id: str, state: dict[str, Any]) -> None:
        """Keeps where execution is; replaces what was kept before.

        Args:
            execution_id: id of the executor.
            state: an :class:`ExecutorState` as JSON values.
        """

    @abstractmethod
    async def load_executor_state(self, execution_id: str) -> dict[str, Any] | None:
        """What was last saved for this executor; ``None`` if nothing was."""

    async def commit(self, commit: Commit) -> None:
        """Stores what happened.

        This default saves one state after another, in an order that survives being cut off
        anywhere: new children first, where nothing points to them yet; then the actors, with all
        that their runs changed; then the other executors; the executor that ran last. An actor
        ahead of its executor is how an opening finds that the saving was cut off. What is missing
        then is saved with the next commit. A cancelled turn's root comes before all of them.

        Raises:
            NotStorable: a value that JSON would not give back equal. States may be saved already.
        """
        touched = commit.touched()
        for state in filter(None, (touched.first, *touched.new_executors)):
            await self._save_executor(state)
        for actor in touched.actors:
            saved = self.save_actor_state(commit.root, str(actor.actor_id), _dump(actor))
            await settled(saved)
        for state in touched.executors:
            await self._save_executor(state)
        if touched.last is not None:
            await self._save_executor(touched.last)

    async def lease(self, root: str, session_id: str) -> Lease:  # noqa: ARG002  # for overriding
        """Takes the right to write to a session, or is refused it at once.

        This default gives a lease to everybody who asks.

        Args:
            root: id of the session's root executor.
            session_id: its text id, for messages.

        Raises:
            SessionConflict: another writer holds it; the message names it and says what to do.
            StorageError: the storage cannot be written.
        """
        return Lease()

    async def load_rows(self, root: str) -> list[AnyRow] | None:  # noqa: ARG002  # for overriding
        """The session's journal in order; ``None`` from a storage that keeps none, as here.

        Args:
            root: id of the session's root executor. An unknown session has no rows.
        """
        return None

    async def peek_rows(self, root: str) -> list[AnyRow] | None:
        """Like `load_rows`, for who only looks: a session does not live longer for it."""
        return await self.load_rows(root)

    def attach(self, project: Projector) -> None:  # noqa: B027  # nothing to do by default
        """Called by an agent that uses this storage.

        Args:
            project: makes states out of rows. A storage that keeps states has no use for it.
        """

    async def list_sessions(self) -> list[SessionInfo]:
        """The sessions kept here, last used first.

        Raises:
            UsageError: the storage does not implement it.
        """
        raise self._lacks("list_sessions", "list its sessions")

    async def delete_session(self, root: str, secure: bool = False) -> bool:  # noqa: ARG002  # for overriding
        """Deletes everything that is kept of a session.

        Args:
            root: id of the session's root executor.
            secure: leave no byte of it in the store's files. See `delete_from` for classes that
                do not know this argument.

        Returns:
            Whether there was anything.

        Raises:
            UsageError: the storage does not implement it.
            SessionConflict: from a built-in storage, a turn is under way in the session; nothing
                was deleted.
            StorageError: with `secure`, what is left of the deleted session, and where.
        """
        raise self._lacks("delete_session", f"delete session {root}")

    async def prune(self) -> list[str]:
        """Deletes the sessions whose time-to-live is over.

        Returns:
            Ids of their root executors.

        Raises:
            UsageError: the storage does not implement it.
        """
        raise self._lacks("prune", "delete what expired")

    async def close(self) -> None:  # noqa: B027  # nothing to do by default
        """Gives back connections and files. A later call may open them again."""

    def _lacks(self, method: str, ability: str) -> UsageError:
        name = type(self).__name__
        return UsageError(f"{name} cannot {ability}: its class does not implement {method}()")

    async def _save_executor(self, state: ExecutorState) -> None:
        await settled(self.save_executor_state(str(state.execution_id), _dump(state)))


def checked_record_ttl(seconds: float | None) -> float | None:
    """A :attr:`StateStorage.record_ttl` that can be used.

    Raises:
        UsageError: it is no number of seconds.
    """
    if seconds is None or (isinstance(seconds, int | float) and 0 < seconds <= _CENTURY):
        return seconds
    raise UsageError(
        f"record_ttl is a number of seconds above 0, up to {_CENTURY:,} (a century), or None to "
        f"keep records as long as their session, not {seconds!r}"
    )


async def load_executor(storage: StateStorage, execution_id: str) -> ExecutorState | None:
    """An executor's state as a model; ``None`` if nothing was saved.

    Raises:
        StorageError: what the storage gives back is not such a state.
    """
    data = await settled(storage.load_executor_state(execution_id))
    return _parse(ExecutorState, data, storage, f"executor {execution_id}")


async def load_actor(storage: StateStorage, root: str, actor_id: str) -> NodeActorState | None:
    """An actor's state as a model; ``None`` if nothing was saved.

    Raises:
        StorageError: what the storage gives back is not such a state.
    """
    data = await settled(storage.load_actor_state(root, actor_id))
    return _parse(NodeActorState, data, storage, f"actor {actor_id} of session {root}")


async def delete_from(storage: StateStorage, root: str, *, secure: bool = False) -> bool:
    """Deletes a session from any storage; securely only from one that knows what that is.

    Args:
        storage: where it is kept.
        root: id of its root executor.
        secure: as for :meth:`StateStorage.delete_session`.

    Returns:
        Whether there was anything.

    Raises:
        UsageError: the storage cannot delete, or not securely; then nothing was deleted.
        StorageError: as for :meth:`StateStorage.delete_session`.
    """
    if not secure:
        return bool(await settled(storage.delete_session(root)))
    try:
        inspect.signature(storage.delete_session).bind(root, secure=True)
    except TypeError:
        name = type(storage).__name__
        raise UsageError(
            f"{name} cannot delete securely: its delete_session() takes no secure=; nothing was "
            "deleted"
        ) from None
    return bool(await settled(storage.delete_session(root, secure=True)))


async def settled(value: Any) -> Any:
    """The value of a user's method, which may be a coroutine or a plain function."""
    if inspect.isawaitable(value):
        return await value
    return value


def _dump(state: ExecutorState | NodeActorState) -> dict[str, Any]:
    check_storable(state, "state")
    return state.model_dump(mode="json")


def _parse(
    model: type[_Model], data: dict[str, Any] | None, storage: StateStorage, subject: str
) -> _Model | None:
    if data is None:
        return None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(step) for step in detail["loc"])
        name = type(storage).__name__
        raise StorageError(
            f"{name} gave back a state of {subject} that cannot be read: {field or 'the state'}: "
            f"{detail['msg']}; it must come back as it was saved"
        ) from error
