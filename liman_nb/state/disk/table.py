"""How sessions lie in diskcache's table, and the statements that read and write them.

Keys are bytes: a letter for what the row is, then ids of 16 bytes each.

    r · root · number   a row of a journal; the number, four bytes, makes keys sort by it
    s · root            the session's line in the list of sessions, with the time it expires at
    a · root · actor    a state saved with save_actor_state
    x · executor        a state saved with save_executor_state

diskcache's own calls read row by row and wait for locks on the calling thread, so the statements
are ours. What a row may look like is still decided by diskcache's disk (`inline.py`).
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from liman_nb.errors import StorageError
from liman_nb.state.disk.connections import transaction
from liman_nb.state.journal import Tail
from liman_nb.state.lifetime import Lifetime
from liman_nb.state.open_turns import ends_within_a_turn
from liman_nb.state.rows import TurnRow
from liman_nb.state.session_line import SessionLine, session_after
from liman_nb.state.storage import SessionInfo

if TYPE_CHECKING:  # it imports diskcache, which is loaded when a store is opened
    from liman_nb.state.disk.inline import InlineDisk

_ROW, _SESSION, _ACTOR, _EXECUTOR = b"r", b"s", b"a", b"x"

_ADD_FIRST = """
INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, 1, ?, 1, ?)
ON CONFLICT (key, raw) DO NOTHING"""

_ADD_NEXT = """
INSERT INTO Cache (key, raw, store_time, mode, value) SELECT ?, 1, ?, 1, ?
WHERE EXISTS (SELECT 1 FROM Cache WHERE key = ? AND raw = 1)
ON CONFLICT (key, raw) DO NOTHING"""

_PUT = """
INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, 1, ?, 1, ?)
ON CONFLICT (key, raw) DO UPDATE SET store_time = excluded.store_time, mode = 1, filename = NULL,
size = 0, value = excluded.value"""

_COLUMNS = "SELECT key, raw, mode, filename, value FROM Cache"
_ONE = f"{_COLUMNS} WHERE key = ?"
_RANGE = f"{_COLUMNS} WHERE key >= ? AND key <= ? ORDER BY key, raw"
_LAST = f"{_COLUMNS} WHERE key >= ? AND key <= ? ORDER BY key DESC, raw LIMIT 1"
_DELETE = "DELETE FROM Cache WHERE key >= ? AND key <= ?"


def short_id(text: str) -> bytes:
    """Sixteen bytes for an id: a UUID's own, or a hash of any other text."""
    try:
        known = uuid.UUID(text)
    except ValueError:
        known = None
    if known is not None and str(known) == text:
        return known.bytes
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def state_key(key: tuple[str, ...]) -> bytes:
    """The key of a saved state: ``(execution_id,)`` or ``(root, actor_id)``."""
    return (_EXECUTOR if len(key) == 1 else _ACTOR) + b"".join(map(short_id, key))


class Table:
    """The rows of one database, through one connection.

    Args:
        connection: in autocommit.
        disk: decides what a row may look like.
        lifetime: how long unused sessions are kept.
    """

    def __init__(
        self, connection: sqlite3.Connection, disk: InlineDisk, lifetime: Lifetime
    ) -> None:
        self._connection, self._execute, self._disk = connection, connection.execute, disk
        self._lifetime = lifetime

    def append(
        self, root: str, first: int, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        """Adds rows to a journal, all or none; ``False`` unless it has exactly `first` rows."""
        prefix = _ROW + short_id(root)
        if not turns and len(rows) == 1 and self._lifetime.seconds is None:
            return self._add(prefix, first, rows[0])
        try:
            with transaction(self._connection):
                line = self._line(root)
                if self._is_over(root, line):
                    self._drop(root)
                    line = None
                for number, row in enumerate(rows, first):
                    if not self._add(prefix, number, row):
                        raise _TakenError
                if turns:
                    self._put_line(session_after(line, root, turns, self._lifetime.expires_at()))
                else:
                    self._put_off(line)
        except _TakenError:
            return False
        return True

    def read(self, root: str, *, is_use: bool) -> list[bytes]:
        """The rows of a journal, in order, none missing.

        Args:
            root: id of the session's root executor.
            is_use: whether the session lives longer for it.
        """
        line = self._line(root)
        if self._is_over(root, line):
            return []
        rows = self._journal(root)
        if is_use and line is not None and self._lifetime.is_to_be_put_off(line.expires_at):
            with transaction(self._connection):
                self._put_off(self._line(root))  # as it is now
        return rows

    def tail(self, root: str) -> Tail:
        """A journal's length and its last row."""
        if self._is_over(root, self._line(root)):
            return 0, b""
        prefix = _ROW + short_id(root)
        for key, value in self._rows(_LAST, _bounds(prefix)):
            return int.from_bytes(key[len(prefix) :], "big") + 1, value
        return 0, b""

    def sessions(self) -> list[SessionInfo]:
        """The lines of the list of sessions."""
        return [line.info() for line in self._lines() if not self._is_over(line.root, line)]

    def prune(self) -> list[str]:
        """Deletes the sessions that expired; the ids of their root executors."""
        with transaction(self._connection):
            expired = [line.root for line in self._lines() if self._is_over(line.root, line)]
            for root in expired:
                self._drop(root)
        return expired

    def put(self, key: bytes, value: bytes) -> None:
        """Keeps a value, in the place of an older one."""
        self._execute(_PUT, (key, time.time(), value))

    def get(self, key: bytes) -> bytes | None:
        """A value that was put."""
        return next((value for _, value in self._rows(_ONE, (key,))), None)

    def delete(self, root: str, executors: Sequence[str]) -> bool:
        """Deletes what is kept of a session. A file that a row names is left alone."""
        session = short_id(root)
        prefixes = [kind + session for kind in (_ROW, _SESSION, _ACTOR)]
        prefixes += [state_key((executor,)) for executor in executors]
        with transaction(self._connection):
            counts = [self._execute(_DELETE, _bounds(prefix)).rowcount for prefix in prefixes]
        return any(counts)

    def _add(self, prefix: bytes, number: int, row: bytes) -> bool:
        key = prefix + number.to_bytes(4, "big")
        if number == 0:
            cursor = self._execute(_ADD_FIRST, (key, time.time(), row))
        else:
            before = prefix + (number - 1).to_bytes(4, "big")
            cursor = self._execute(_ADD_NEXT, (key, time.time(), row, before))
        return cursor.rowcount == 1

    def _journal(self, root: str) -> list[bytes]:
        prefix = _ROW + short_id(root)
        values = []
        for number, (key, value) in enumerate(self._rows(_RANGE, _bounds(prefix))):
            if key != prefix + number.to_bytes(4, "big"):
                raise StorageError(
                    f"row {number} of session {root} is missing: the store is damaged"
                )
            values.append(value)
        return values

    # ── the lines of the list, and the time-to-live ──────────────────────────────────────────────

    def _line(self, root: str) -> SessionLine | None:
        data = self.get(_SESSION + short_id(root))
        return None if data is None else _line_of(data)

    def _lines(self) -> list[SessionLine]:
        return [_line_of(value) for _, value in self._rows(_RANGE, _bounds(_SESSION))]

    def _put_line(self, line: SessionLine) -> None:
        self.put(_SESSION + short_id(line.root), line.model_dump_json().encode())

    def _put_off(self, line: SessionLine | None) -> None:
        if line is not None and self._lifetime.is_to_be_put_off(line.expires_at):
            till = self._lifetime.expires_at()
            self._put_line(line.model_copy(update={"expires_at": till}))

    def _is_over(self, root: str, line: SessionLine | None) -> bool:
        """Whether a session expired. The rows are looked at only when its time has come."""
        if line is None or not self._lifetime.is_over(line.expires_at):
            return False
        return not ends_within_a_turn(self._journal(root))

    def _drop(self, root: str) -> None:
        """Deletes a journal and its line."""
        for kind in (_ROW, _SESSION):
            self._execute(_DELETE, _bounds(kind + short_id(root)))

    def _rows(self, statement: str, keys: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of the rows that a statement finds, each one checked."""
        for key, raw, mode, filename, value in self._execute(statement, keys).fetchall():
            yield self._disk.get(key, raw), self._disk.fetch(mode, filename, value, False)


class _TakenError(Exception):
    """Leaves a transaction undone: a row's number is taken."""


def _bounds(prefix: bytes) -> tuple[bytes, bytes]:
    """The lowest and the highest key that begin so; our keys have at most 33 bytes."""
    return prefix, prefix + b"\xff" * 33


def _line_of(data: bytes) -> SessionLine:
    try:
        return SessionLine.model_validate_json(data)
    except ValidationError as error:
        raise StorageError("the list of sessions cannot be read: the store is damaged") from error
