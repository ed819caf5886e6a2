"""diskcache's view of our rows: bytes under bytes, inside the database, and nothing else.

A row of a diskcache database may hold a pickle, which runs code when it is read, or the name of a
file, which is read, or deleted with the row. Whoever can write the database can name any file of
the user's. So a row of any other form than ours is refused, when it is read and when it is removed.
"""

from __future__ import annotations

from typing import Any

import diskcache
from diskcache.core import MODE_RAW

from liman_nb.errors import StorageError


class InlineDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no type information
    """Keys and values are bytes, kept in the database itself, whatever their size."""

    def put(self, key: Any) -> tuple[bytes, bool]:
        """A key as the database has it, and that it is not a pickle."""
        if type(key) is not bytes:
            raise StorageError(f"a key is bytes here, not {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: Any) -> bytes:
        """A key out of the database."""
        if not raw or type(key) is not bytes:
            raise _foreign("a key that is not plain bytes")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, bytes]:  # noqa: ARG002  # diskcache's signature
        """A value as the database has it: size in files, mode, name of a file, value."""
        if read or type(value) is not bytes:
            raise StorageError(f"a value is bytes here, not {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: Any, filename: Any, value: Any, read: bool) -> bytes:
        """A value out of the database."""
        if filename is not None:
            raise _foreign("the name of a file")
        if read or mode != MODE_RAW or type(value) is not bytes:
            raise _foreign("a value that is not plain bytes (a pickle, perhaps)")
        return value

    def remove(self, file_path: Any) -> None:  # noqa: ARG002  # diskcache's signature
        """Never removes a file: none of ours is outside the database."""
        raise _foreign("the name of a file")


def _foreign(what: str) -> StorageError:
    return StorageError(
        f"the store holds a row with {what}, which liman_nb never writes; it was refused. Do not "
        "trust this store: move its directory away"
    )
