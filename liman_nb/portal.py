"""Synchronous calls: one background event loop per agent, never a patched one.

A notebook's kernel runs an event loop already, so ``asyncio.run`` cannot be used in a cell. The
synchronous methods hand their work to a loop in a thread of their own and wait for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """Runs coroutines for synchronous callers on a loop that starts with the first of them."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return the result.

        Raises:
            Exception: what the work raised.
            KeyboardInterrupt: the waiting thread was interrupted; the work is cancelled.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="liman_nb", daemon=True
                ).start()
            return self._loop

    def close(self) -> None:
        """Stop the loop; a later call starts another one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
