"""A storage that lasts as long as its process. It keeps bytes, so nothing in it can be changed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from liman_nb.state.conflicts import Holder, passed_on, refused
from liman_nb.state.journal import JournalStorage, Tail
from liman_nb.state.lifetime import Clock, Lifetime, check_ttl
from liman_nb.state.rows import TurnRow
from liman_nb.state.session_line import SessionLine, last_used_first, session_after
from liman_nb.state.storage import Commit, Lease, SessionInfo, checked_record_ttl


class InMemoryStateStorage(JournalStorage):
    """Keeps sessions in memory: for tests, for teaching, for what need not outlive the kernel.

    Several agents may share one, in several threads; each sees the sessions of the others. Two that
    write to one session at the same time exclude each other (`SessionConflict`).

    Args:
        session_ttl: seconds until a session expires that is not written or opened meanwhile (or up
            to a tenth fewer); it is then as if it had never been. ``None`` keeps sessions. While a
            turn is open a session does not expire. `prune` gives the memory back.
        record_ttl: as :attr:`StateStorage.record_ttl`.
        clock: tells the time in seconds, as `time.time` does.

    Raises:
        UsageError: a time-to-live that is none.
    """

    def __init__(
        self,
        *,
        session_ttl: float | None = None,
        record_ttl: float | None = None,
        clock: Clock = time.time,
    ) -> None:
        super().__init__()
        self.record_ttl = checked_record_ttl(record_ttl)
        self._lifetime = Lifetime(check_ttl(session_ttl), clock)
        self._lock = threading.Lock()
        self._journals: dict[str, list[bytes]] = {}
        self._sessions: dict[str, SessionLine] = {}
        self._open: set[str] = set()
        self._states: dict[tuple[str, ...], bytes] = {}
        self._leases: WeakValueDictionary[str, _MemoryLease] = WeakValueDictionary()

    def __repr__(self) -> str:
        count = len(self._journals)
        return f"<InMemoryStateStorage: {count} session{'' if count == 1 else 's'}>"

    async def list_sessions(self) -> list[SessionInfo]:
        """The sessions kept here, last used first."""
        with self._lock:
            return last_used_first(
                [line.info() for root, line in self._sessions.items() if not self._expired(root)]
            )

    async def prune(self) -> list[str]:
        """Forgets the sessions that expired; the ids of their root executors."""
        with self._lock:
            expired = [root for root in self._sessions if self._expired(root)]
            for root in expired:
                self._drop(root)
        return expired

    async def lease(self, root: str, session_id: str) -> Lease:
        """Takes the right to write to a session, among those who share this object.

        Raises:
            SessionConflict: another agent holds it.
        """
        with self._lock:
            held = self._leases.get(root)
            if held is not None and not held.is_deserted:
                raise refused(session_id, held.holder, "")
            rows = self._journal(root)
            if rows:
                self._put_off(root)
            lease = _MemoryLease(len(rows), lambda own: self._release(root, own))
            self._leases[root] = lease
        return lease

    def _release(self, root: str, lease: _MemoryLease) -> None:
        with self._lock:
            if self._leases.get(root) is lease:
                del self._leases[root]

    async def _append(
        self, commit: Commit, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        root, first = commit.root, commit.first
        with self._lock:
            held = self._leases.get(root)
            if commit.lease is not None and held is not commit.lease:
                raise passed_on(commit, held.holder if held else None)
            if len(self._journal(root)) != first:
                return False
            if first == 0:
                self._drop(root)
            self._journals.setdefault(root, []).extend(rows)
            (self._open.add if commit.open else self._open.discard)(root)
            if turns:
                known, till = self._sessions.get(root), self._lifetime.expires_at()
                self._sessions[root] = session_after(known, root, turns, till)
            else:
                self._put_off(root)
        return True

    async def _read(self, root: str, *, is_use: bool) -> list[bytes]:
        with self._lock:
            rows = list(self._journal(root))
            if is_use and rows:
                self._put_off(root)
        return rows

    async def _tail(self, root: str) -> Tail:
        with self._lock:
            rows = self._journal(root)
            return (len(rows), rows[-1]) if rows else (0, b"")

    async def _put_state(self, key: tuple[str, ...], data: bytes) -> None:
        self._states[key] = data

    async def _get_state(self, key: tuple[str, ...]) -> bytes | None:
        return self._states.get(key)

    async def _delete(self, root: str, executors: Sequence[str]) -> bool:
        with self._lock:
            found = self._drop(root)
            for key in [key for key in self._states if _belongs(key, root, executors)]:
                del self._states[key]
                found = True
        return found

    async def _scrub(self, root: str) -> None:
        """Nothing: there are no files."""

    # ── time-to-live ─────────────────────────────────────────────────────────────────────────────

    def _journal(self, root: str) -> Sequence[bytes]:
        """The rows of a session; none of one that expired."""
        return () if self._expired(root) else self._journals.get(root, ())

    def _expired(self, root: str) -> bool:
        line = self._sessions.get(root)
        return (
            line is not None and root not in self._open and self._lifetime.is_over(line.expires_at)
        )

    def _put_off(self, root: str) -> None:
        line = self._sessions.get(root)
        if line is not None and self._lifetime.is_to_be_put_off(line.expires_at):
            till = self._lifetime.expires_at()
            self._sessions[root] = line.model_copy(update={"expires_at": till})

    def _drop(self, root: str) -> bool:
        """Forgets a journal and its line; whether there were any."""
        self._sessions.pop(root, None)
        self._open.discard(root)
        return self._journals.pop(root, None) is not None


class _MemoryLease(Lease):
    """Free again when it is given back, when nothing refers to it, or when its loop was closed."""

    def __init__(self, rows: int, release: Callable[[_MemoryLease], None]) -> None:
        super().__init__(rows)
        self.holder = Holder.here()
        self._release = release
        self._loop = asyncio.get_running_loop()

    @property
    def is_deserted(self) -> bool:
        return self._loop.is_closed()

    async def release(self) -> None:
        self._release(self)


def _belongs(key: tuple[str, ...], root: str, executors: Sequence[str]) -> bool:
    is_executor = len(key) == 1
    return key[0] in executors if is_executor else key[0] == root
