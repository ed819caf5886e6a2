"""How sessions lie in diskcache's table, and the statements that read and write them.

Keys are bytes: a letter for what the row is, then ids of 16 bytes each.

    r · root · number   a row of a journal; the number, four bytes, makes keys sort by it
    s · root            the session's line in the list of sessions
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
from liman_nb.state.journal import Tail, session_after
from liman_nb.state.rows import TurnRow
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
_LAST_KEY = "SELECT key, raw FROM Cache WHERE key >= ? AND key <= ? ORDER BY key DESC, raw LIMIT 1"
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
    """

    def __init__(self, connection: sqlite3.Connection, disk: InlineDisk) -> None:
        self._connection, self._execute, self._disk = connection, connection.execute, disk

    def append(self, root: str, first: int, rows: Sequence[bytes], turn: TurnRow | None) -> bool:
        """Adds rows to a journal, all or none; ``False`` unless it has exactly `first` rows."""
        prefix = _ROW + short_id(root)
        if turn is None and len(rows) == 1:
            return self._add(prefix, first, rows[0])
        try:
            with transaction(self._connection):
                for number, row in enumerate(rows, first):
                    if not self._add(prefix, number, row):
                        raise _TakenError
                if turn is not None:
                    self._put_session(root, turn)
        except _TakenError:
            return False
        return True

    def read(self, root: str) -> list[bytes]:
        """The rows of a journal, in order, none missing."""
        prefix = _ROW + short_id(root)
        values = []
        for number, (key, value) in enumerate(self._rows(_RANGE, _bounds(prefix))):
            if key != prefix + number.to_bytes(4, "big"):
                raise StorageError(
                    f"row {number} of session {root} is missing: the store is damaged"
                )
            values.append(value)
        return values

    def tail(self, root: str) -> Tail:
        """A journal's length and its last row."""
        prefix = _ROW + short_id(root)
        for key, value in self._rows(_LAST, _bounds(prefix)):
            return int.from_bytes(key[len(prefix) :], "big") + 1, value
        return 0, b""

    def length(self, root: str) -> int:
        """How many rows a journal has."""
        prefix = _ROW + short_id(root)
        for key, raw in self._execute(_LAST_KEY, _bounds(prefix)).fetchall():
            return int.from_bytes(self._disk.get(key, raw)[len(prefix) :], "big") + 1
        return 0

    def sessions(self) -> list[SessionInfo]:
        """The lines of the list of sessions."""
        return [_session(value) for _, value in self._rows(_RANGE, _bounds(_SESSION))]

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

    def _put_session(self, root: str, turn: TurnRow) -> None:
        key = _SESSION + short_id(root)
        known = self.get(key)
        session = session_after(_session(known) if known else None, root, turn)
        self.put(key, session.model_dump_json().encode())

    def _rows(self, statement: str, keys: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of the rows that a statement finds, each one checked."""
        for key, raw, mode, filename, value in self._execute(statement, keys).fetchall():
            yield self._disk.get(key, raw), self._disk.fetch(mode, filename, value, False)


class _TakenError(Exception):
    """Leaves a transaction undone: a row's number is taken."""


def _bounds(prefix: bytes) -> tuple[bytes, bytes]:
    """The lowest and the highest key that begin so; our keys have at most 33 bytes."""
    return prefix, prefix + b"\xff" * 33


def _session(data: bytes) -> SessionInfo:
    try:
        return SessionInfo.model_validate_json(data)
    except ValidationError as error:
        raise StorageError("the list of sessions cannot be read: the store is damaged") from error
