"""What the built-in storages share: a session is a journal of rows, and nothing else is written.

A subclass keeps bytes: rows in order, and single states for code that calls Liman's four methods
itself. This file gives the bytes their meaning. It has no I/O of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from asyncio import sleep
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from liman_nb.errors import NotStorable, SessionConflict, StorageError, UsageError
from liman_nb.state.json_values import check_json
from liman_nb.state.rows import AnyRow, TurnRow, dump_row, load_row
from liman_nb.state.storable import check_storable
from liman_nb.state.storage import (
    Commit,
    Projection,
    Projector,
    StateStorage,
)

Tail = tuple[int, bytes]
"""A journal's length and its last row: it changes whenever the journal does."""


class JournalStorage(StateStorage):
    """A storage that keeps journals: one commit appends rows, whatever the session's length.

    Liman's four methods work beside the journal. A session written by an agent is read through
    them as states; states saved through them are kept as they are, and belong to sessions that no
    journal is kept of (such as those of a storage that wraps this one).
    """

    def __init__(self) -> None:
        self._project: Projector | None = None
        self._latest: tuple[str, Tail, Projection] | None = None

    # ── what a subclass keeps ────────────────────────────────────────────────────────────────────

    @abstractmethod
    async def _append(
        self, root: str, first: int, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        """Adds rows to a journal, all or none, and with `turns` brings the list of sessions up.

        Args:
            root: id of the session's root executor.
            first: number of the first row.
            rows: as they are stored.
            turns: those of the rows that begin a turn.

        Returns:
            ``False``, and nothing is stored, unless the journal has exactly `first` rows.
        """

    @abstractmethod
    async def _read(self, root: str, *, is_use: bool) -> list[bytes]:
        """The rows of a journal, in order; empty for an unknown session.

        Args:
            root: id of the session's root executor.
            is_use: whether the session lives longer for it.
        """

    @abstractmethod
    async def _tail(self, root: str) -> Tail:
        """How many rows a journal has, and the last of them; ``(0, b"")`` if it has none."""

    @abstractmethod
    async def _put_state(self, key: tuple[str, ...], data: bytes) -> None:
        """Keeps a state: ``(execution_id,)`` of an executor, ``(root, actor_id)`` of an actor."""

    @abstractmethod
    async def _get_state(self, key: tuple[str, ...]) -> bytes | None:
        """A state that was put."""

    @abstractmethod
    async def _delete(self, root: str, executors: Sequence[str]) -> bool:
        """Deletes a journal, the session's line in the list, its actors, and these executors."""

    @abstractmethod
    async def _scrub(self, root: str) -> None:
        """Leaves no byte of what was deleted in the store's files.

        Args:
            root: id of the root executor of the session that was deleted, for errors.

        Raises:
            StorageError: what is left, and where.
        """

    # ── the journal ──────────────────────────────────────────────────────────────────────────────

    async def commit(self, commit: Commit) -> None:
        """Appends the commit's rows.

        Raises:
            SessionConflict: another process wrote to the session since it was opened here.
            NotStorable: a row that JSON would not give back equal; nothing was stored.
            StorageError: the storage cannot be written.
        """
        rows = [_dump(commit.first + i, row) for i, row in enumerate(commit.rows)]
        turns = [row for row in commit.rows if isinstance(row, TurnRow)]
        if not await self._append(commit.root, commit.first, rows, turns):
            raise SessionConflict(_conflict(commit))

    async def load_rows(self, root: str) -> list[AnyRow]:
        """The session's journal in order; empty for an unknown session.

        Raises:
            StorageError: a row is damaged, or was written by a newer version.
        """
        return self._parsed(root, await self._read(root, is_use=True))

    async def peek_rows(self, root: str) -> list[AnyRow]:
        """Like `load_rows`, for who only looks: a session does not live longer for it."""
        return self._parsed(root, await self._read(root, is_use=False))

    async def delete_session(self, root: str, secure: bool = False) -> bool:
        """Deletes everything that is kept of a session, journal and states.

        Args:
            root: id of the session's root executor.
            secure: leave no byte of it in the store's files either. May take a while where the
                store is large. When it fails, the same call may be made again.

        Returns:
            Whether there was anything.

        Raises:
            StorageError: the storage cannot be written; or with `secure`, what is left of the
                deleted session, and where.
        """
        self._latest = None
        found = await self._delete(root, await self._saved_executors(root))
        if secure:
            await self._scrub(root)
        return found

    def _parsed(self, root: str, rows: Sequence[bytes]) -> list[AnyRow]:
        return [self._parse(root, number, data) for number, data in enumerate(rows)]

    def _parse(self, root: str, number: int, data: bytes) -> AnyRow:
        try:
            return load_row(data)
        except ValidationError as error:
            reason = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise StorageError(
                f"row {number} of session {root} in {self!r} cannot be read: {reason}; it is "
                "damaged, or was written by a newer liman_nb (pip install -U liman_nb)"
            ) from error

    # ── Liman's four methods ─────────────────────────────────────────────────────────────────────

    def attach(self, project: Projector) -> None:
        """Called by an agent that uses this storage: from now on its sessions read as states.

        Args:
            project: makes states out of rows.
        """
        self._project = project

    async def save_actor_state(
        self, execution_id: str, actor_id: str, state: dict[str, Any]
    ) -> None:
        """Keeps a state of a session that no journal is kept of.

        Raises:
            UsageError: the session has a journal, beside which the state would never be read.
            NotStorable: the state holds something that JSON would not give back equal.
        """
        await self._refuse_journaled(execution_id)
        await self._put_state((str(execution_id), str(actor_id)), _state_bytes(state))

    async def load_actor_state(self, execution_id: str, actor_id: str) -> dict[str, Any] | None:
        """The state of a node actor, saved or out of the journal; ``None`` if there is none.

        Raises:
            UsageError: the session has a journal, and no agent uses this storage yet.
        """
        data = await self._get_state((str(execution_id), str(actor_id)))
        if data is not None:
            return _state_from(data)
        projection = await self._projection(str(execution_id))
        state = projection.actors.get(str(actor_id)) if projection else None
        return state.model_dump(mode="json") if state else None

    async def save_executor_state(self, execution_id: str, state: dict[str, Any]) -> None:
        """Keeps a state of a session that no journal is kept of.

        Raises:
            UsageError: the session has a journal, beside which the state would never be read.
            NotStorable: the state holds something that JSON would not give back equal.
        """
        await self._refuse_journaled(execution_id)
        await self._put_state((str(execution_id),), _state_bytes(state))

    async def load_executor_state(self, execution_id: str) -> dict[str, Any] | None:
        """The state of an executor, saved or out of a journal; ``None`` if there is none.

        An id alone does not say which session it is of. The root's is found at once, its
        descendants' after it; otherwise all sessions are looked through, the last used first.

        Raises:
            UsageError: there are journals to look through, and no agent uses this storage yet.
        """
        execution_id = str(execution_id)
        data = await self._get_state((execution_id,))
        if data is not None:
            return _state_from(data)
        projection = await self._projection_with(execution_id)
        return projection.executors[execution_id].model_dump(mode="json") if projection else None

    async def _refuse_journaled(self, execution_id: str) -> None:
        if (await self._tail(str(execution_id)))[0]:
            raise UsageError(
                f"session {execution_id} in {self!r} is kept as a journal, beside which a saved "
                "state would never be read: change the session through its agent"
            )

    async def _projection(self, root: str) -> Projection | None:
        """A session's journal as states; ``None`` without a journal. The latest one is kept.

        No session lives longer for it, since a search goes through all of them.
        """
        tail = await self._tail(root)
        if not tail[0]:
            return None
        if self._latest is not None and self._latest[:2] == (root, tail):
            return self._latest[2]
        if self._project is None:
            raise UsageError(
                f"session {root} in {self!r} is kept as a journal: make an Agent with this storage "
                "first, then it can be read as states"
            )
        projection = self._project(root, await self.peek_rows(root))
        self._latest = (root, tail, projection)
        return projection

    async def _projection_with(self, execution_id: str) -> Projection | None:
        """The states of the session that an executor belongs to."""
        likely = [execution_id]
        if self._latest is not None:
            likely.append(self._latest[0])
        for root in likely:
            projection = await self._projection(root)
            if projection and execution_id in projection.executors:
                return projection
        return await self._search(execution_id)

    async def _search(self, execution_id: str) -> Projection | None:
        for session in await self.list_sessions():
            projection = await self._projection(session.root)
            if projection and execution_id in projection.executors:
                return projection
            await sleep(0)  # other tasks go on during a long search
        return None

    async def _saved_executors(self, root: str) -> list[str]:
        """Ids of the executors whose states were saved one by one, the root's first."""
        found: dict[str, None] = {}
        todo = [root]
        while todo:
            execution_id = todo.pop()
            data = await self._get_state((execution_id,))
            if data is not None and execution_id not in found:
                found[execution_id] = None
                todo += _children(_state_from(data))
        return list(found)


def _dump(number: int, row: AnyRow) -> bytes:
    check_storable(row, f"row {number}")
    try:
        return dump_row(row)
    except PydanticSerializationError as error:
        raise NotStorable(f"row {number} cannot be stored: {error}", f"row {number}") from error


def _state_bytes(state: dict[str, Any]) -> bytes:
    check_json(state, "state")
    return to_json(state)


def _state_from(data: bytes) -> dict[str, Any]:
    try:
        state = from_json(data)
    except ValueError as error:
        raise StorageError(f"a saved state is no JSON ({error}): the store is damaged") from error
    if not isinstance(state, dict):
        raise StorageError("a saved state is not a mapping: the store is damaged")
    return state


def _children(state: dict[str, Any]) -> list[str]:
    children = state.get("child_executor_ids")
    return [str(child) for child in children] if isinstance(children, list) else []


def _conflict(commit: Commit) -> str:
    """What a writer that came second is told."""
    rows = commit.rows
    turn = next((row for row in rows if isinstance(row, TurnRow)), None)
    name = f"session {turn.session_id!r}" if turn else f"session {commit.root}"
    lost = (
        "the input of this turn was not stored"
        if turn
        else "the input of this turn is stored, the result of the node run is not"
    )
    return (
        f"{name}: another kernel or program wrote to it, or deleted it, or it expired, since it "
        f"was opened here (row {commit.first}); {lost}. Open the session again to see what it is "
        "now, then repeat"
    )
