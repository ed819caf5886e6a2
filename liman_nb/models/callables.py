"""`CallableLLM`: a plain function as a language model; and how such a function is called."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from liman_nb.models.llm import OnToken, Reply, Request
from liman_nb.models.written import Written, as_reply

T = TypeVar("T")


class CallableLLM:
    """A function of the request as a model.

    Example:
        >>> shout = CallableLLM(lambda request: request.messages[-1]["content"].upper())

    Args:
        function: gets the :class:`~liman_nb.models.llm.Request`; returns the reply's text, a
            dictionary (its JSON is the text), ``call("tool", …)``, a list of calls and text, or a
            :class:`~liman_nb.models.llm.Reply`. Sync or async; a sync one runs in a thread of its
            own, so that it never holds up the notebook.
    """

    def __init__(self, function: Callable[[Request], Written | Awaitable[Written]]) -> None:
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)

    def __repr__(self) -> str:
        """The function's name."""
        return f"CallableLLM({self._name})"

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request; the text is passed on in one piece.

        Raises:
            UsageError: the function returned something that is no reply.
            Exception: whatever the function raises.
        """
        written = await call_function(self._function, request)
        reply = as_reply(written, model=self._name, new_id="call_{}".format)
        if on_token and reply.text:
            on_token(reply.text)
        return reply


async def call_function(function: Callable[[Request], Any], request: Request) -> Any:
    """Call a sync or async function with a request, off the loop when it is sync."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    ):
        return await function(request)
    result = await in_thread(lambda: function(request))
    return await result if inspect.isawaitable(result) else result


async def in_thread(work: Callable[[], T]) -> T:
    """Run sync work in a daemon thread of its own.

    Cancelling returns at once: the thread runs on, its result is dropped, and it does not keep the
    process alive. (`asyncio.to_thread` would keep both the loop and the process waiting for it.)
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type] # there is a result when no error is
        else:
            done.set_exception(error)

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = context.run(work)
        except StopIteration as raised:  # a future cannot carry it
            error = RuntimeError(f"the function raised StopIteration: {raised}")
        except BaseException as raised:  # noqa: BLE001 - all of it belongs to the awaiting side
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="liman_nb-call").start()
    return await done
