"""SQLite connections to one database file: one for each thread that asks, closed together.

No connection waits for a lock: a busy database is an error at once, so that no call of ours can
hold up an event loop. Waiting is the storage's business.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

DEFENCES = ("mmap_size = 0", "cell_size_check = ON", "trusted_schema = OFF")
"""What SQLite's "Defense Against The Dark Arts" advises for a file that others may have written.

Without the memory map, a file that is cut short is an error and not the end of the process.
"""


def connect(database: Path, pragmas: Sequence[str] = ()) -> sqlite3.Connection:
    """A connection in autocommit that never waits for a lock and never trusts the file.

    Args:
        database: the file; made when it does not exist.
        pragmas: more settings, such as ``synchronous = NORMAL``.
    """
    connection = sqlite3.connect(
        database, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=32
    )
    try:
        for pragma in (*DEFENCES, *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside happens, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class Connections:
    """The connections of one storage object.

    Args:
        database: the file, which exists.
        pragmas: settings of each connection, such as ``synchronous = NORMAL``.
    """

    def __init__(self, database: Path, pragmas: Sequence[str]) -> None:
        self._database, self._pragmas = database, pragmas
        self._file = _identity(database)
        self._local = threading.local()
        self._opened: list[tuple[int, sqlite3.Connection]] = []

    def here(self) -> sqlite3.Connection:
        """This thread's connection. A forked process gets its own, never its parent's."""
        process = os.getpid()
        known: tuple[int, sqlite3.Connection] | None = getattr(self._local, "known", None)
        if known is not None and known[0] == process:
            return known[1]
        connection = connect(self._database, self._pragmas)
        self._local.known = (process, connection)
        self._opened.append((process, connection))
        return connection

    def current(self) -> bool:
        """Whether the file is still the one that was opened: not deleted, not replaced."""
        return self._file is not None and _identity(self._database) == self._file

    def close(self) -> None:
        """Closes what this process opened, in whatever thread."""
        opened, self._opened = self._opened, []
        self._local = threading.local()
        for process, connection in opened:
            if process == os.getpid():
                connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # half the time of Path.stat(), on every commit
    except OSError:
        return None
    return status.st_dev, status.st_ino
