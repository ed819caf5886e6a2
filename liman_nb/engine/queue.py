"""One turn at a time for a session: callers of one process wait in order, on any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from types import TracebackType


class Turnstile:
    """A first-come, first-served asynchronous lock that several event loops may share.

    ``asyncio.Lock`` belongs to one loop; a notebook's session may be used from the kernel's loop
    and from the background loop of the synchronous calls.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop]] = deque()
        self._held_on: asyncio.AbstractEventLoop | None = None

    @property
    def held(self) -> bool:
        """Whether somebody is inside."""
        return self._held_on is not None

    @property
    def is_deserted(self) -> bool:
        """Whether the loop of whoever is inside was closed under it, so that it never leaves."""
        return self._held_on is not None and self._held_on.is_closed()

    def needs_this_thread(self) -> bool:
        """Whether somebody inside or before the end of the queue runs on this thread's loop."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return False
        with self._lock:
            return here is self._held_on or any(loop is here for _, loop in self._waiting)

    async def __aenter__(self) -> None:
        here = asyncio.get_running_loop()
        with self._lock:
            if self._held_on is None:
                self._held_on = here
                return
            turn: Future[None] = Future()
            self._waiting.append((turn, here))
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            with self._lock:
                let_in_already = not turn.cancel()
            if let_in_already:
                self._next()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._next()

    def _next(self) -> None:
        with self._lock:
            while self._waiting:
                turn, self._held_on = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._held_on = None
