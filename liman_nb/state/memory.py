"""A storage that lasts as long as its process. It keeps bytes, so nothing in it can be changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from liman_nb.state.conflicts import Holder, passed_on, refused
from liman_nb.state.journal import JournalStorage, Tail, last_used_first, session_after
from liman_nb.state.rows import TurnRow
from liman_nb.state.storage import Commit, Lease, SessionInfo, checked_record_ttl


class InMemoryStateStorage(JournalStorage):
    """Keeps sessions in memory: for tests, for teaching, for what need not outlive the kernel.

    Several agents may share one, in several threads; each sees the sessions of the others. Two that
    write to one session at the same time exclude each other (`SessionConflict`).

    Args:
        record_ttl: as :attr:`StateStorage.record_ttl`.

    Raises:
        UsageError: a `record_ttl` that is no number of seconds.
    """

    def __init__(self, *, record_ttl: float | None = None) -> None:
        super().__init__()
        self.record_ttl = checked_record_ttl(record_ttl)
        self._lock = threading.Lock()
        self._journals: dict[str, list[bytes]] = {}
        self._sessions: dict[str, SessionInfo] = {}
        self._states: dict[tuple[str, ...], bytes] = {}
        self._leases: WeakValueDictionary[str, _MemoryLease] = WeakValueDictionary()

    def __repr__(self) -> str:
        count = len(self._journals)
        return f"<InMemoryStateStorage: {count} session{'' if count == 1 else 's'}>"

    async def list_sessions(self) -> list[SessionInfo]:
        """The sessions kept here, last used first."""
        return last_used_first(list(self._sessions.values()))

    async def lease(self, root: str, session_id: str) -> Lease:
        """Takes the right to write to a session, among those who share this object.

        Raises:
            SessionConflict: another agent holds it.
        """
        with self._lock:
            held = self._leases.get(root)
            if held is not None and not held.is_deserted:
                raise refused(session_id, held.holder, "")
            rows = len(self._journals.get(root, ()))
            lease = self._leases[root] = _MemoryLease(rows, lambda own: self._release(root, own))
        return lease

    def _release(self, root: str, lease: _MemoryLease) -> None:
        with self._lock:
            if self._leases.get(root) is lease:
                del self._leases[root]

    async def _append(self, commit: Commit, rows: Sequence[bytes], turn: TurnRow | None) -> bool:
        root = commit.root
        with self._lock:
            held = self._leases.get(root)
            if commit.lease is not None and held is not commit.lease:
                raise passed_on(commit, held.holder if held else None)
            if len(self._journals.get(root, ())) != commit.first:
                return False
            self._journals.setdefault(root, []).extend(rows)
            if turn is not None:
                self._sessions[root] = session_after(self._sessions.get(root), root, turn)
        return True

    async def _read(self, root: str) -> list[bytes]:
        return list(self._journals.get(root, ()))

    async def _tail(self, root: str) -> Tail:
        rows = self._journals.get(root)
        return (len(rows), rows[-1]) if rows else (0, b"")

    async def _put_state(self, key: tuple[str, ...], data: bytes) -> None:
        self._states[key] = data

    async def _get_state(self, key: tuple[str, ...]) -> bytes | None:
        return self._states.get(key)

    async def _delete(self, root: str, executors: Sequence[str]) -> bool:
        self._sessions.pop(root, None)
        found = self._journals.pop(root, None) is not None
        for key in [key for key in self._states if _belongs(key, root, executors)]:
            del self._states[key]
            found = True
        return found


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
