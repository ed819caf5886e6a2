"""What can go wrong with a database on disk, as one sentence each for the person who meets it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from liman_nb.errors import StorageError

_REMEDIES = {
    "SQLITE_FULL": "the disk is full: free some space, then repeat",
    "SQLITE_READONLY": "it cannot be written: check the permissions of the directory and its files",
    "SQLITE_PERM": "access was denied: check the permissions of the directory and its files",
    "SQLITE_CANTOPEN": "it cannot be opened: check the permissions of the directory and its files",
    "SQLITE_CORRUPT": "the database is damaged: move the directory away or restore a copy of it",
    "SQLITE_NOTADB": "cache.db is not a database: give another directory, or move this one away",
    "SQLITE_IOERR": "the disk reported an error: check the disk, then repeat",
    "SQLITE_TOOBIG": "a row is larger than a database can hold (1 GB)",
}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds a lock, so that waiting may help."""
    return _primary_name(error) == "SQLITE_BUSY"


def explained(error: sqlite3.Error, directory: Path) -> StorageError:
    """SQLite's error as ours: where, what is wrong, what to do."""
    return fault(_primary_name(error), directory, str(error))


def fault(name: str, directory: Path, detail: str) -> StorageError:
    """The error for one of SQLite's names, such as ``SQLITE_CORRUPT``, with what is known of it."""
    remedy = _REMEDIES.get(name, "the database refused")
    return StorageError(f"the store {directory}: {remedy} ({detail})")


def held_too_long(directory: Path, seconds: float, holder: int | None) -> StorageError:
    """The error for a lock that was waited for in vain.

    Args:
        directory: the store.
        seconds: how long it was waited for.
        holder: the process that holds the lock, when it is known.
    """
    who = f"process {holder}" if holder else "another process"
    look = f"ps -p {holder}" if holder else f"fuser -v {directory / 'cache.db'}"
    return StorageError(
        f"{who} has held the store {directory} for {seconds:g} s: end it or let it finish, then "
        f"repeat (on Linux `{look}` shows it); nothing of this call was stored"
    )


def left_behind(directory: Path, root: str, reason: str) -> StorageError:
    """The error for a deleted session of which bytes may be left in the files."""
    return StorageError(
        f"session {root} is deleted, but bytes of it may be left in the files of the store "
        f"{directory}: {reason}. Then delete the session securely once more"
    )


def _primary_name(error: sqlite3.Error) -> str:
    """``SQLITE_IOERR`` for ``SQLITE_IOERR_SHORT_READ``; empty where SQLite gave no code."""
    name: str = getattr(error, "sqlite_errorname", "")
    return "_".join(name.split("_")[:2])
