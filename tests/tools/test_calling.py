"""How a user's function is called: what it gets, where it runs, and how a stop gets past it."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from liman_nb.errors import ToolError
from liman_nb.tools.calling import (
    LeftRunning,
    asked_names,
    call_function,
    function_name,
    is_async,
)

OFFERED = {"context": {"user": "u-1"}, "credentials": "secret", "call_id": "c-1", "state": {}}


class Greeter:
    """An object that is called."""

    def greet(self, name: str, call_id: str) -> str:
        """Greet."""
        return f"{call_id}: hello {name}"

    async def __call__(self, name: str, state: dict[str, Any]) -> str:
        """Greet, later."""
        await asyncio.sleep(0)
        state["greeted"] = name
        return name


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds a sync function in its thread until the test ends."""
    event = threading.Event()
    yield event
    event.set()


# ── what it gets ─────────────────────────────────────────────────────────────────────────────────


async def test_a_function_gets_what_its_signature_asks_for_and_no_more() -> None:
    """Of what is offered, only the names in its signature are passed."""

    def plain(city: str) -> str:
        return city

    def curious(city: str, *, context: dict[str, str], call_id: str = "") -> tuple[str, ...]:
        return city, context["user"], call_id

    assert await call_function(plain, {"city": "Rome"}, OFFERED) == "Rome"
    assert await call_function(curious, {"city": "Rome"}, OFFERED) == ("Rome", "u-1", "c-1")


async def test_a_function_of_any_name_gets_nothing_unasked() -> None:
    """`**kwargs` does not ask for the credentials."""

    def takes_all(**given: Any) -> dict[str, Any]:
        return given

    assert await call_function(takes_all, {"a": 1}, OFFERED) == {"a": 1}


async def test_what_is_not_offered_keeps_its_default() -> None:
    """A function that may be called without an answer says so by a default."""

    def ask(answer: str = "none yet") -> str:
        return answer

    assert await call_function(ask, {}, OFFERED) == "none yet"
    assert await call_function(ask, {}, {"answer": "yes"}) == "yes"


async def test_what_is_offered_wins_over_an_argument() -> None:
    """A model's argument can never stand in for the context."""

    def act(context: Any) -> Any:
        return context

    assert await call_function(act, {"context": "forged"}, {"context": "real"}) == "real"


async def test_what_a_partial_filled_in_stays() -> None:
    """A call id that the user bound is the user's."""

    def act(call_id: str) -> str:
        return call_id

    assert await call_function(functools.partial(act, call_id="mine"), {}, OFFERED) == "mine"


async def test_methods_and_objects_are_called() -> None:
    """With what their signatures ask for, sync and async."""
    state: dict[str, Any] = {}
    assert await call_function(Greeter().greet, {"name": "Ann"}, OFFERED) == "c-1: hello Ann"
    assert await call_function(Greeter(), {"name": "Ann"}, {"state": state}) == "Ann"
    assert state == {"greeted": "Ann"}


def test_what_a_function_asks_for_is_known_beforehand() -> None:
    """The engine runs functions that ask for `state` one at a time."""

    def stateful(x: int, state: Any, context: Any = None, **rest: Any) -> None:
        """Remember."""

    assert asked_names(stateful) == {"state", "context"}
    assert asked_names(functools.partial(stateful, state={})) == {"context"}
    assert asked_names(Greeter()) == {"state"}
    assert asked_names(print) == frozenset()
    assert asked_names(dict) == frozenset()


def test_every_function_has_a_name_and_a_colour() -> None:
    """Looking through partials; an object goes by its class."""
    assert function_name(functools.partial(functools.partial(len))) == "len"
    assert function_name(Greeter()) == "Greeter"
    assert function_name(Greeter().greet) == "greet"
    assert is_async(Greeter())
    assert is_async(functools.partial(asyncio.sleep, 0))
    assert not is_async(Greeter().greet)


# ── where it runs ────────────────────────────────────────────────────────────────────────────────


async def test_a_sync_function_never_blocks_the_loop(gate: threading.Event) -> None:
    """Other work goes on while it waits."""

    def wait() -> bool:
        return gate.wait(10)

    call = asyncio.create_task(call_function(wait, {}))
    await asyncio.sleep(0.01)
    assert not call.done()
    gate.set()
    assert await call is True


async def test_sync_functions_run_side_by_side() -> None:
    """Each in a thread of its own: three that wait for each other all end."""
    barrier = threading.Barrier(3, timeout=10)
    calls = [call_function(lambda: barrier.wait() >= 0, {}) for _ in range(3)]
    assert await asyncio.gather(*calls) == [True, True, True]


async def test_an_async_function_runs_on_the_callers_loop() -> None:
    """Clients that belong to a loop can be used."""

    async def here() -> Any:
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    assert await call_function(here, {}) is asyncio.get_running_loop()


async def test_an_awaitable_that_a_sync_function_returns_is_awaited_on_the_loop() -> None:
    """As a plain decorator around an async function gives one."""

    async def here() -> Any:
        return asyncio.get_running_loop()

    def wrapped() -> Awaitable[Any]:
        return here()

    assert await call_function(wrapped, {}) is asyncio.get_running_loop()


async def test_context_variables_reach_the_thread() -> None:
    """What the caller set is seen; what the function sets stays in its thread."""
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("outer")

    def read() -> str:
        seen = variable.get()
        variable.set("inner")
        return seen

    assert await call_function(read, {}) == "outer"
    assert variable.get() == "outer"


# ── how it fails ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ValueError("bad"), TimeoutError("own"), KeyError("k")])
async def test_an_exception_is_the_functions_own(error: Exception) -> None:
    """It arrives as it was raised, from a thread and from the loop."""

    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    for function in (fail, fail_later):
        with pytest.raises(type(error)) as caught:
            await call_function(function, {}, seconds=10)
        assert caught.value is error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StopIteration(4), "fail raised StopIteration: 4"),
        (SystemExit(3), "fail raised SystemExit: 3"),
        (KeyboardInterrupt(), "fail raised KeyboardInterrupt"),
        (asyncio.CancelledError(), "fail raised CancelledError"),
        (GeneratorExit(), "fail raised GeneratorExit"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_would_end_more_than_the_call_is_contained(
    error: BaseException, message: str
) -> None:
    """A thread's `sys.exit()` fails its call and nothing else."""

    def fail() -> None:
        raise error

    with pytest.raises(ToolError) as caught:
        await call_function(fail, {})
    assert str(caught.value) == message
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()])
async def test_an_async_function_is_contained_too(error: BaseException) -> None:
    """An exit, or a cancellation from within, is the function's failure and not a stop."""

    async def fail() -> None:
        raise error

    with pytest.raises(ToolError, match=f"fail raised {type(error).__name__}"):
        await call_function(fail, {})


# ── how it is stopped ────────────────────────────────────────────────────────────────────────────


async def ended_by_cancel(call: Awaitable[Any]) -> float:
    """Cancel a call that has begun; the seconds until it ended as cancelled."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0.01)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - started


def wait_for_the_end(left: LeftRunning) -> None:
    """Block until a function that was left has ended; ten seconds at most."""
    deadline = time.monotonic() + 10
    while left.running and time.monotonic() < deadline:
        time.sleep(0.001)


async def test_a_sync_function_does_not_hold_up_a_stop(gate: threading.Event) -> None:
    """The wait ends at once, and the caller is told what still runs."""
    left: list[LeftRunning] = []

    def hang() -> None:
        gate.wait(10)

    assert await ended_by_cancel(call_function(hang, {}, left_running=left.append)) < 1
    assert [(one.function, one.running) for one in left] == [("hang", True)]


@pytest.mark.parametrize(
    ("error", "outcome"), [(None, "returned"), (ValueError("late"), "raised ValueError")]
)
async def test_a_late_result_is_discarded_and_can_be_asked_about(
    gate: threading.Event, error: Exception | None, outcome: str
) -> None:
    """No warning, no unraisable exception; only the word of how it ended."""
    left: list[LeftRunning] = []

    async def never_awaited() -> None:
        """Would warn if it were forgotten."""

    def hang() -> Any:
        gate.wait(10)
        if error:
            raise error
        return never_awaited()

    await ended_by_cancel(call_function(hang, {}, left_running=left.append))
    gate.set()
    await asyncio.to_thread(wait_for_the_end, left[0])
    await asyncio.sleep(0.01)
    gc.collect()
    assert left[0].outcome == outcome


async def test_an_async_function_is_cancelled() -> None:
    """It sees the cancellation, and cleans up."""
    seen: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            seen.append("cleaned up")

    assert await ended_by_cancel(call_function(wait, {})) < 1
    assert seen == ["cleaned up"]


async def test_a_timeout_ends_the_wait_and_names_the_function(gate: threading.Event) -> None:
    """In the thread and on the loop."""
    left: list[LeftRunning] = []

    def hang() -> None:
        gate.wait(10)

    async def sleep() -> None:
        await asyncio.sleep(10)

    functions: list[Callable[..., Any]] = [hang, sleep]
    for function in functions:
        with pytest.raises(ToolError, match=f"^{function.__name__} took longer than 0.02 s$"):
            await call_function(function, {}, seconds=0.02, left_running=left.append)
    assert [one.function for one in left] == ["hang"]


async def test_a_result_in_time_is_not_a_timeout() -> None:
    """The bound costs nothing when it is kept."""
    assert await call_function(lambda: 4, {}, seconds=10) == 4


def test_a_hanging_function_does_not_keep_the_interpreter_from_ending() -> None:
    """A notebook's kernel restarts although a tool never returns."""
    script = """
        import asyncio, time
        from liman_nb.tools.calling import call_function

        async def main():
            call = asyncio.create_task(call_function(lambda: time.sleep(600), {}))
            await asyncio.sleep(0.05)
            call.cancel()

        asyncio.run(main())
        print("ended")
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)


def test_a_loop_that_ended_before_the_function_is_no_error(gate: threading.Event) -> None:
    """The late result finds nobody, and says nothing."""
    left: list[LeftRunning] = []

    async def main() -> None:
        await ended_by_cancel(call_function(lambda: gate.wait(10), {}, left_running=left.append))

    asyncio.run(main())
    gate.set()
    wait_for_the_end(left[0])
    assert left[0].outcome == "returned"
