"""How a turn is ended early, and how a commit is not: cancellations, asked for or not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from liman_nb.errors import EngineError
from liman_nb.tools.calling import LeftRunning

T = TypeVar("T")


class Stop:
    """Ends a turn from any thread by cancelling the task that drives it."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise EngineError("a turn must run in a task of an event loop")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._asked = False
        self._over = False

    def __call__(self) -> None:
        """End the turn, unless it is over."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if not self._over and not self._asked:
            self._asked = True
            self._task.cancel()

    def take_back(self) -> bool:
        """Whether the cancellation was ours alone; then the task goes on."""
        if not self._asked or self._over:
            return False
        self._over = True
        return self._task.uncancel() <= self._cancelled_before

    def end(self) -> None:
        """The turn is over, and the task is no more cancelled than it was before."""
        self.take_back()
        self._over = True


def still_running(left: Sequence[LeftRunning]) -> str:
    """What may go on after a turn was ended, in words; empty when nothing does."""
    names = sorted({one.function for one in left if one.running})
    if not names:
        return ""
    return f"; {', '.join(names)} may still run in a thread, and what it returns is discarded"


async def to_the_end(work: Awaitable[T]) -> bool:
    """Await to the end even if cancelled meanwhile; whether that happened.

    Raises:
        Exception: what the work raised.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except Exception:  # noqa: BLE001 - raised below
            break
    task.result()
    return cancelled
