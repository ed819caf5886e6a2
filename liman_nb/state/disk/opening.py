"""Makes a directory a store, or finds out that it must not be used as one.

What diskcache does when it opens a directory (tables, triggers, settings) is left to diskcache.
Around it stands what it does not do: private files, no trust in what it finds, nothing evicted.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from pathlib import Path

import diskcache
from diskcache.core import DEFAULT_SETTINGS, METADATA

from liman_nb.errors import StorageError
from liman_nb.state.disk import faults
from liman_nb.state.disk.connections import connect
from liman_nb.state.disk.inline import InlineDisk

FORMAT = 1
"""Version of the rows' layout (see `table.py`), kept in the database as its ``user_version``."""

_OWNER_ONLY = 0o600
_MAGIC = b"SQLite format 3\0"
_SMALLEST = 512  # bytes in the smallest page, which is the smallest database

_LOOKS = 10
_BETWEEN_LOOKS = 0.03  # seconds

_SETTINGS = {
    "eviction_policy": "none",  # diskcache's default throws the oldest rows away at 1 GiB
    "cull_limit": 0,  # and this many at each write
    "statistics": 0,
    "tag_index": 0,
    "sqlite_journal_mode": "wal",
    "sqlite_mmap_size": 0,
    "sqlite_synchronous": 1,
}

_OBJECTS = {
    "Settings", "Cache", "Cache_key_raw", "Cache_expire_time", "Cache_tag_rowid",
    "Cache_store_time", "Cache_access_time", "Cache_access_count",
    "Settings_count_insert", "Settings_count_delete",
    "Settings_size_insert", "Settings_size_update", "Settings_size_delete",
}  # fmt: skip
"""Tables, indexes and triggers of a diskcache database, with every eviction policy."""


def open_store(directory: Path) -> InlineDisk:
    """Prepares a directory and gives diskcache's disk for it. May take a while: not for a loop.

    Args:
        directory: absolute; made when it does not exist.

    Raises:
        StorageError: the directory cannot be used, or holds something else, or a newer format.
        sqlite3.Error: what SQLite says; a busy database may be tried again.
    """
    database = directory / "cache.db"
    try:
        _make_private(directory, database)
        _check_length(directory, database)
    except OSError as error:
        raise StorageError(f"the store {directory}: {_reason(error, directory)}") from error
    with closing(connect(database)) as connection:
        _examine(connection, directory)
    disk = _open_with_diskcache(directory)
    with closing(connect(database)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    return disk


def _make_private(directory: Path, database: Path) -> None:
    """The directory 0700 if it is made here; the database's files 0600 in any case."""
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(0o700, exist_ok=True)
        directory.chmod(0o700)
    if not os.path.lexists(database):
        os.close(os.open(database, os.O_CREAT | os.O_WRONLY, _OWNER_ONLY))
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):  # the last one to close a database deletes its log
            _keep_private(database.with_name(database.name + suffix))


def _keep_private(file: Path) -> None:
    mode = file.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise StorageError(f"{file} is not a plain file: move it away, it was not opened")
    if stat.S_IMODE(mode) != _OWNER_ONLY:
        file.chmod(_OWNER_ONLY)


def _check_length(directory: Path, database: Path) -> None:
    """Finds a file that was cut short, or is none of SQLite's.

    SQLite takes a very short file for an empty database, whatever it holds, and finds a missing
    page only when it needs it. A file that another process is making at this moment looks damaged
    for an instant; one that is stays so.
    """
    fault = _length_fault(directory, database)
    for _ in range(_LOOKS):
        if fault is None:
            return
        time.sleep(_BETWEEN_LOOKS)
        fault = _length_fault(directory, database)
    if fault is not None:
        raise fault


def _length_fault(directory: Path, database: Path) -> StorageError | None:
    """With a write-ahead log the file may be shorter than its header says."""
    logged = database.with_name("cache.db-wal").exists()
    with database.open("rb") as file:
        header, size = file.read(100), os.fstat(file.fileno()).st_size
    if size == 0:
        return None
    if not header.startswith(_MAGIC[:size]):
        return faults.fault("SQLITE_NOTADB", directory, f"{size} bytes of something else")
    page_size = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    if size < _SMALLEST or (not logged and size < pages * page_size):
        return faults.fault("SQLITE_CORRUPT", directory, f"{size} bytes are left of it")
    return None


def _reason(error: OSError, directory: Path) -> str:
    if directory.exists() and not directory.is_dir():
        return "it is a file: give the path of a directory"
    return f"the directory cannot be used ({error.strerror}): give one that you may write to"


def _examine(connection: sqlite3.Connection, directory: Path) -> None:
    """Looks before diskcache does, which believes whatever the settings in the database say."""
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    if version > FORMAT:
        raise StorageError(
            f"the store {directory} was written by a newer liman_nb (format {version}, this one "
            f"reads {FORMAT}): pip install -U liman_nb, or give another directory"
        )
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    foreign = {name for name in names - _OBJECTS if not name.startswith("sqlite_")}
    if "Settings" in names:
        settings = {key for (key,) in connection.execute("SELECT key FROM Settings")}
        foreign |= {str(key) for key in settings - {*DEFAULT_SETTINGS, *METADATA}}
    if foreign:
        raise StorageError(
            f"the store {directory}: cache.db holds {min(foreign)!r}, which diskcache does not "
            "know: give another directory, nothing was written to this one"
        )
    connection.execute("BEGIN IMMEDIATE")  # busy or read-only shows here, and not in diskcache,
    connection.execute("ROLLBACK")  # which tries for a minute


def _open_with_diskcache(directory: Path) -> InlineDisk:
    cache = diskcache.Cache.__new__(diskcache.Cache)
    with closing(cache):  # also when it fails half-way, which would leave its connection open
        cache.__init__(str(directory), timeout=0, disk=InlineDisk, **_SETTINGS)
    if cache.eviction_policy != "none" or cache.cull_limit != 0:
        raise StorageError(f"the store {directory}: diskcache would evict rows from it")
    disk: InlineDisk = cache.disk
    return disk
