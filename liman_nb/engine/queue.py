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
        self._waiting: deque[Future[None]] = deque()
        self._held = False

    @property
    def held(self) -> bool:
        """Whether somebody is inside."""
        return self._held

    async def __aenter__(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn: Future[None] = Future()
            self._waiting.append(turn)
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
                if self._waiting[0].set_running_or_notify_cancel():
                    self._waiting.popleft().set_result(None)
                    return
                self._waiting.popleft()
            self._held = False
