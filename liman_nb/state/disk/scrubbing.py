"""Leaves no byte of what was deleted in the database's files.

A row that is deleted, or was replaced once, leaves bytes in free pages, in the unused part of other
pages and in the write-ahead log. So the file is built anew, and the log is emptied into it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from liman_nb.state.disk import faults
from liman_nb.state.disk.connections import connect


def scrub(database: Path) -> str:
    """Scrubs the files. Takes as long as writing all of the database: not for a loop.

    Returns:
        Empty when no byte is left; else what is in the way, which may pass.

    Raises:
        StorageError: something else that SQLite says; the files are not scrubbed.
    """
    try:
        # Pages that are built anew begin as zeros, and not as whatever the memory held.
        with closing(connect(database, ("secure_delete = ON",))) as connection:
            connection.execute("VACUUM")
            ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        if not faults.is_busy(error):
            raise faults.explained(error, database.parent) from error
        return "another connection writes to it"
    return "another connection reads from it" if busy else ""
