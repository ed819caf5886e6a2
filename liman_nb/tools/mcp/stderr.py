"""What a server process wrote to its standard error last, for messages about its end."""

from __future__ import annotations

import os
import threading
from typing import TextIO

KEPT = 4_000
"""Bytes of the end that are kept."""


class StderrTail:
    """Reads a pipe to its end, so that the process never waits, and keeps the last of it.

    A notebook's own standard error is no file that a process could be given.

    Attributes:
        file: what the process is given as its standard error.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._tail = bytearray()
        self._ended = threading.Event()
        threading.Thread(
            target=self._read,
            args=(reading,),
            name="liman_nb: stderr of an MCP server",
            daemon=True,
        ).start()

    def text(self, wait: float = 0.0) -> str:
        """The end of what was written.

        Args:
            wait: seconds to wait for the process to end.
        """
        self._ended.wait(wait)
        return bytes(self._tail).decode("utf-8", errors="replace").strip()

    def close(self) -> None:
        """Let go of this process's end of the pipe."""
        self.file.close()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(65_536):
                self._tail += piece
                del self._tail[:-KEPT]
        self._ended.set()
