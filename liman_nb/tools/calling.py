"""Calls a user's function: off the event loop when it is not async, and never in the way of a stop.

Which function, with which arguments, and what becomes of the result is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from liman_nb.errors import ToolError
from liman_nb.tools.suspend import Suspend

OFFERED_NAMES = frozenset({"context", "credentials", "call_id", "state", "answer", "session"})
"""What a function gets when its signature asks for it. A model never supplies these."""


_ASKED: WeakKeyDictionary[Callable[..., Any], frozenset[str]] = WeakKeyDictionary()
"""What is known of functions while they live: reading a signature takes longer than most calls."""


def asked_names(function: Callable[..., Any]) -> frozenset[str]:
    """The offered names that a function's signature asks for.

    One that :func:`functools.partial` has filled in already is not asked for, nor is one that only
    ``**kwargs`` would take.
    """
    try:
        return _ASKED[function]
    except (KeyError, TypeError):  # new, or an object that cannot be a key
        names = _asked_names(function)
    with contextlib.suppress(TypeError):
        _ASKED[function] = names
    return names


def _asked_names(function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):  # a built-in without a signature
        return frozenset()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {name for name, parameter in parameters.items() if parameter.kind in named}
    return frozenset(names & OFFERED_NAMES - filled_in(function))


def filled_in(function: Callable[..., Any]) -> frozenset[str]:
    """The keywords that :func:`functools.partial` has filled in; nobody else's business."""
    return frozenset(function.keywords if isinstance(function, functools.partial) else ())


def function_name(function: Callable[..., Any]) -> str:
    """A function's own name; the class's for a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: an async function, method, partial or ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is inspected
    )


@dataclass(slots=True)
class LeftRunning:
    """A sync function that was not waited for to its end, since its turn was stopped or timed out.

    Python has no way to end a thread. What the function returns or raises later is discarded.

    Attributes:
        function: its name.
        outcome: empty while it runs, then ``returned`` or ``raised ValueError``.
    """

    function: str
    outcome: str = ""

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return not self.outcome


async def call_function(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    offered: Mapping[str, Any] | None = None,
    *,
    seconds: float | None = None,
    left_running: Callable[[LeftRunning], None] | None = None,
) -> Any:
    """Call a function and wait for its result.

    An async function is awaited on the running loop. Any other runs in a thread of its own, with
    the caller's context variables, and an awaitable that it returns is awaited on the loop. The
    thread is a daemon: it keeps neither the caller nor the interpreter from ending. Cancelling the
    caller ends the wait at once.

    Args:
        function: what to call; every argument is passed by keyword.
        arguments: its arguments.
        offered: values by name (see `OFFERED_NAMES`), of which it gets those it asks for.
        seconds: how long it may take, awaited parts included; ``None`` for no bound.
        left_running: told of a sync function that runs on when the wait ends early.

    Raises:
        ToolError: it took longer than `seconds`, or it raised what would end more than this call,
            such as ``SystemExit``; except for a ``KeyboardInterrupt`` on the loop's own thread.
        Exception: whatever else the function raises.
        Suspend: it asks a person.
    """
    available, name = offered or {}, function_name(function)
    passed = {**arguments, **{n: available[n] for n in asked_names(function) & available.keys()}}
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await _outcome(functools.partial(function, **passed), name, left_running)
    except TimeoutError:
        if not scope.expired():
            raise
        raise ToolError(f"{name} took longer than {seconds:g} s") from None


async def _outcome(
    call: functools.partial[Any], name: str, left_running: Callable[[LeftRunning], None] | None
) -> Any:
    try:
        result = call() if is_async(call) else await _in_thread(call, name, left_running)
        return await result if inspect.isawaitable(result) else result
    except asyncio.CancelledError as exc:
        if asked_to_stop():
            raise
        raise _contained(exc, name) from exc
    except (Exception, Suspend, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as exc:
        raise _contained(exc, name) from exc


def asked_to_stop() -> bool:
    """Whether a cancellation of the current task came from outside, not from what it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _contained(exc: BaseException, name: str) -> ToolError:
    said = f": {exc}" if str(exc) else ""
    return ToolError(f"{name} raised {type(exc).__name__}{said}")


# ── threads ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Result:
    """What a function did in its thread: returned a value, unless there is an error."""

    value: Any = None
    error: BaseException | None = None

    def get(self, name: str) -> Any:
        if self.error is None:
            return self.value
        passes = isinstance(self.error, Exception | Suspend)
        if passes and not isinstance(self.error, StopIteration):
            raise self.error
        raise _contained(self.error, name) from self.error

    def discard(self) -> None:
        """Let go of a result that came too late, without a warning about what it leaves."""
        if inspect.iscoroutine(self.value):
            self.value.close()


async def _in_thread(
    call: Callable[[], Any], name: str, left_running: Callable[[LeftRunning], None] | None
) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()
    left = LeftRunning(name)

    def work() -> None:
        result = _result_of(call)
        left.outcome = f"raised {type(result.error).__name__}" if result.error else "returned"
        try:
            loop.call_soon_threadsafe(_deliver, future, result)
        except RuntimeError:  # the loop is closed: nobody waits
            result.discard()

    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(work,), name=f"liman_nb: {name}", daemon=True).start()
    try:
        return (await future).get(name)
    except asyncio.CancelledError:
        if left_running and left.running:
            left_running(left)
        raise


def _result_of(call: Callable[[], Any]) -> _Result:
    try:
        return _Result(call())
    except BaseException as exc:  # noqa: BLE001 - whatever ends the function must not end the thread unseen
        return _Result(error=exc)


def _deliver(future: asyncio.Future[_Result], result: _Result) -> None:
    if future.done():
        result.discard()
    else:
        future.set_result(result)
