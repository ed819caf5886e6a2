"""The storage on disk as the engine sees it: opened late, and never in the way of the event loop.

How rows lie in the database stands in `table.py`, how a directory becomes a store in `opening.py`,
how a session is kept from a second writer in `locks.py`.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from liman_nb.errors import StorageError, UsageError
from liman_nb.state.conflicts import passed_on
from liman_nb.state.disk import faults, linux
from liman_nb.state.disk.connections import Connections
from liman_nb.state.disk.locks import FileLease, Locks
from liman_nb.state.disk.scrubbing import scrub
from liman_nb.state.disk.table import Table, short_id, state_key
from liman_nb.state.journal import JournalStorage, Tail
from liman_nb.state.lifetime import Clock, Lifetime, check_ttl
from liman_nb.state.rows import TurnRow
from liman_nb.state.session_line import last_used_first
from liman_nb.state.storage import Commit, Lease, SessionInfo, checked_record_ttl

if TYPE_CHECKING:  # it imports diskcache, which is loaded when a store is opened
    from liman_nb.state.disk.inline import InlineDisk

_T = TypeVar("_T")

_SYNCHRONOUS = {"normal": "NORMAL", "full": "FULL"}


@dataclass(frozen=True, slots=True)
class _Opened:
    connections: Connections
    disk: InlineDisk


class DiskCacheStateStorage(JournalStorage):
    """Keeps sessions in a directory, in a diskcache database. They outlive the kernel.

    Making the object touches nothing; the directory is made by the first write. It belongs to its
    user alone (0700, files 0600). Several kernels, threads and event loops may use one directory:
    while one of them has a turn in a session, another one is refused it (`SessionConflict`). That
    takes a file that the operating system locks, in a directory beside this one, whose name ends
    in ``.locks``. Nothing is evicted. A directory on a network file system gives a warning, because
    SQLite's locks are not reliable there.

    Args:
        directory: where; relative to the working directory as it is now. ``~`` and ``$NAME`` are
            expanded.
        durability: ``"normal"`` survives a killed process, ``"full"`` also a power failure, for an
            fsync at each commit.
        timeout: how many seconds to wait for another process that holds the store, before a
            `StorageError` says so. The event loop goes on meanwhile.
        session_ttl: seconds until a session expires that is not written or opened meanwhile (or up
            to a tenth fewer); it is then as if it had never been, and `prune` deletes it. ``None``
            keeps sessions. While a turn is open a session does not expire.
        record_ttl: as :attr:`StateStorage.record_ttl`.
        clock: tells the time in seconds since 1970, as `time.time` does.

    Raises:
        UsageError: an unknown durability, a time-out below zero, a time-to-live that is none.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] = ".liman_nb",
        *,
        durability: Literal["normal", "full"] = "normal",
        timeout: float = 5.0,
        session_ttl: float | None = None,
        record_ttl: float | None = None,
        clock: Clock = time.time,
    ) -> None:
        super().__init__()
        self.record_ttl = checked_record_ttl(record_ttl)
        if durability not in _SYNCHRONOUS:
            raise UsageError(f"durability is 'normal' or 'full', not {durability!r}")
        if not timeout >= 0:
            raise UsageError(f"timeout is a number of seconds, 0 or more, not {timeout!r}")
        self._shown = os.fspath(directory)
        self._directory = Path(os.path.expandvars(self._shown)).expanduser().absolute()
        self._database = self._directory / "cache.db"
        self._pragmas = (f"synchronous = {_SYNCHRONOUS[durability]}",)
        self._timeout = timeout
        self._lifetime = Lifetime(check_ttl(session_ttl), clock)
        self._locks = Locks(self._directory)
        self._opened: _Opened | None = None
        self._opening = threading.Lock()

    def __repr__(self) -> str:
        return f"DiskCacheStateStorage({self._shown!r})"

    async def list_sessions(self) -> list[SessionInfo]:
        """The sessions kept here, last used first.

        Raises:
            StorageError: the store cannot be read.
        """
        return last_used_first(await self._look(Table.sessions, []))

    async def prune(self) -> list[str]:
        """Deletes the sessions that expired, whoever gave them their time.

        Returns:
            Ids of their root executors.

        Raises:
            StorageError: the store cannot be written.
        """
        return await self._look(Table.prune, [])

    async def close(self) -> None:
        """Closes the database. A later call opens it again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.connections.close()
        await self._locks.close()

    async def lease(self, root: str, session_id: str) -> Lease:
        """Takes the right to write to a session, with a file that the operating system locks.

        Raises:
            SessionConflict: another process holds it, or another agent of this one.
            StorageError: the store cannot be read, or the session not be locked.
        """
        lease = await self._locks.take(short_id(root).hex(), session_id)
        try:
            lease.rows = await self._look(lambda table: table.used(root), 0)
        except BaseException:
            await lease.release()
            raise
        return lease

    # ── what a journal storage keeps ─────────────────────────────────────────────────────────────

    async def _append(
        self, commit: Commit, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        def append(table: Table) -> bool:
            if isinstance(commit.lease, FileLease) and not commit.lease.held:
                raise passed_on(commit, None)
            return table.append(commit, rows, turns)

        return await self._do(append)

    async def _read(self, root: str, *, is_use: bool) -> list[bytes]:
        return await self._look(lambda table: table.read(root, is_use=is_use), [])

    async def _tail(self, root: str) -> Tail:
        return await self._look(lambda table: table.tail(root), (0, b""))

    async def _put_state(self, key: tuple[str, ...], data: bytes) -> None:
        await self._do(lambda table: table.put(state_key(key), data))

    async def _get_state(self, key: tuple[str, ...]) -> bytes | None:
        return await self._look(lambda table: table.get(state_key(key)), None)

    async def _delete(self, root: str, executors: Sequence[str]) -> bool:
        return await self._look(lambda table: table.delete(root, executors), False)

    async def _scrub(self, root: str) -> None:
        """Builds the database's file anew and empties its log, off the event loop."""
        deadline = time.monotonic() + self._timeout
        if not await self._look(lambda _: True, False):
            return
        while reason := await self._scrubbed(root):
            if time.monotonic() >= deadline:
                raise faults.left_behind(self._directory, root, f"{reason}; close what uses it")
            await asyncio.sleep(0.05)

    async def _scrubbed(self, root: str) -> str:
        """What is in the way at present."""
        try:
            return await asyncio.to_thread(scrub, self._database)
        except StorageError as error:
            raise faults.left_behind(self._directory, root, str(error)) from error

    # ── opening and waiting ──────────────────────────────────────────────────────────────────────

    async def _look(self, work: Callable[[Table], _T], absent: _T) -> _T:
        """Work that needs a store to be there: looking at one never makes one."""
        try:
            self._database.stat()
        except FileNotFoundError:
            return absent
        except OSError:
            pass  # it may be there: opening it says what is wrong
        return await self._do(work)

    async def _do(self, work: Callable[[Table], _T]) -> _T:
        """Works on the database here and now, which takes microseconds; if it is busy, tries again.

        Between two attempts the event loop is free, and a cancellation leaves nothing stored.
        """
        deadline = time.monotonic() + self._timeout
        pause = 0.001
        while True:
            try:
                opened = self._current() or await self._open(deadline)
                return work(Table(opened.connections.here(), opened.disk, self._lifetime))
            except sqlite3.Error as error:
                if not faults.is_busy(error):
                    raise faults.explained(error, self._directory) from error
                if time.monotonic() >= deadline:
                    raise self._held_too_long() from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _current(self) -> _Opened | None:
        """The open store; ``None`` before the first use, and when somebody deleted its files."""
        opened = self._opened
        return opened if opened is not None and opened.connections.current() else None

    async def _open(self, deadline: float) -> _Opened:
        """Opens the store in a thread: diskcache waits for locks on the thread that opens."""
        remaining = max(deadline - time.monotonic(), 1.0)
        try:
            opened = await asyncio.wait_for(asyncio.to_thread(self._open_here), remaining)
        except TimeoutError:
            raise self._held_too_long() from None
        return opened

    def _open_here(self) -> _Opened:
        from liman_nb.state.disk.opening import open_store

        with self._opening:
            if (current := self._current()) is not None:
                return current
            if self._opened is not None:
                self._opened.connections.close()
            disk = open_store(self._directory)
            connections = Connections(self._database, self._pragmas)
            weakref.finalize(self, connections.close)
            self._opened = _Opened(connections, disk)
        self._warn_of_network()
        return self._opened

    def _warn_of_network(self) -> None:
        if kind := linux.network_filesystem(self._directory.resolve()):
            warnings.warn(
                f"{self!r} is on a network file system ({kind}), where SQLite's locks are not "
                "reliable and two machines can damage it: give a directory on a local disk",
                stacklevel=2,
            )

    def _held_too_long(self) -> Exception:
        holder = linux.writer_of(self._database)
        return faults.held_too_long(self._directory, self._timeout, holder)
