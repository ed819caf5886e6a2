"""Synchronous calls: one background event loop per agent, never a patched one.

A notebook's kernel runs an event loop already, so ``asyncio.run`` cannot be used in a cell. The
synchronous methods hand their work to a loop in a thread of their own and wait for it.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from liman_nb.engine.inside import in_its_place

T = TypeVar("T")

GRACE = 1.0
"""Seconds that work gets to end after the caller was interrupted."""


class Portal:
    """Runs coroutines for synchronous callers on a loop that starts with the first of them.

    The loop ends with the object.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return the result. What runs on the loop itself gets another loop.

        Raises:
            BaseException: what the work raised, or what interrupted the waiting thread, such as
                ``KeyboardInterrupt``; then the work is cancelled, and ended where that is possible.
        """
        if threading.current_thread() is self._thread:
            return Portal().run(work)
        ended = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_told(work, ended), self._started())
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(GRACE)
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or not self._thread_lives():
                runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                self._loop = runner.get_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(runner,), name="liman_nb", daemon=True
                )
                self._thread.start()
                weakref.finalize(self, _stop, self._loop).atexit = False
            return self._loop

    def _thread_lives(self) -> bool:
        """Not in a forked process, which has the loop and not the thread that runs it."""
        return self._thread is not None and self._thread.is_alive()


async def _told(work: Coroutine[Any, Any, T], ended: threading.Event) -> T:
    try:
        return await in_its_place(work)
    finally:
        ended.set()


def _serve(runner: asyncio.Runner) -> None:
    with runner:  # at the end it cancels what is left, and closes the loop
        runner.get_loop().run_forever()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(loop.stop)
