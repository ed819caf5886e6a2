"""A storage that lasts as long as its process. It keeps bytes, so nothing in it can be changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from liman_nb.state.journal import JournalStorage, Tail
from liman_nb.state.lifetime import Clock, Lifetime, check_ttl
from liman_nb.state.open_turns import ends_within_a_turn
from liman_nb.state.rows import TurnRow
from liman_nb.state.session_line import SessionLine, last_used_first, session_after
from liman_nb.state.storage import SessionInfo


class InMemoryStateStorage(JournalStorage):
    """Keeps sessions in memory: for tests, for teaching, for what need not outlive the kernel.

    Several agents may share one, in several threads; each sees the sessions of the others.

    Args:
        session_ttl: seconds until a session expires that is not written or opened meanwhile (or up
            to a tenth fewer); it is then as if it had never been. ``None`` keeps sessions. While a
            turn is open a session does not expire. `prune` gives the memory back.
        clock: tells the time in seconds, as `time.time` does.

    Raises:
        UsageError: a time-to-live that is none.
    """

    def __init__(self, *, session_ttl: float | None = None, clock: Clock = time.time) -> None:
        super().__init__()
        self._lifetime = Lifetime(check_ttl(session_ttl), clock)
        self._lock = threading.Lock()
        self._journals: dict[str, list[bytes]] = {}
        self._sessions: dict[str, SessionLine] = {}
        self._states: dict[tuple[str, ...], bytes] = {}

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

    async def _append(
        self, root: str, first: int, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        with self._lock:
            if len(self._journal(root)) != first:
                return False
            if first == 0:
                self._drop(root)
            self._journals.setdefault(root, []).extend(rows)
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
        if line is None or not self._lifetime.is_over(line.expires_at):
            return False
        return not ends_within_a_turn(self._journals[root])

    def _put_off(self, root: str) -> None:
        line = self._sessions.get(root)
        if line is not None and self._lifetime.is_to_be_put_off(line.expires_at):
            till = self._lifetime.expires_at()
            self._sessions[root] = line.model_copy(update={"expires_at": till})

    def _drop(self, root: str) -> bool:
        """Forgets a journal and its line; whether there were any."""
        self._sessions.pop(root, None)
        return self._journals.pop(root, None) is not None


def _belongs(key: tuple[str, ...], root: str, executors: Sequence[str]) -> bool:
    is_executor = len(key) == 1
    return key[0] in executors if is_executor else key[0] == root
