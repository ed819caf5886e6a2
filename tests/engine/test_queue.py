"""One caller at a time, in order, on any loop."""

import asyncio
import threading

import pytest

from liman_nb.engine.queue import Turnstile


async def test_callers_enter_in_the_order_in_which_they_came():
    """First come, first served."""
    turnstile, order = Turnstile(), []

    async def visit(name: int) -> None:
        async with turnstile:
            order.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(visit(i) for i in range(20)))
    assert order == list(range(20))
    assert not turnstile.held


async def test_a_cancelled_caller_gives_up_its_place():
    """Who is cancelled while waiting does not block those behind."""
    turnstile, inside = Turnstile(), []
    await turnstile.__aenter__()

    async def visit(name: str) -> None:
        async with turnstile:
            inside.append(name)

    first, second = asyncio.create_task(visit("first")), asyncio.create_task(visit("second"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    await turnstile.__aexit__(None, None, None)
    await second
    assert inside == ["second"]
    assert not turnstile.held


async def test_a_caller_cancelled_at_the_moment_it_is_let_in_lets_the_next_one_in():
    """No place is lost between being let in and going in."""
    turnstile, inside = Turnstile(), []
    await turnstile.__aenter__()

    async def visit(name: str) -> None:
        async with turnstile:
            inside.append(name)

    first, second = asyncio.create_task(visit("first")), asyncio.create_task(visit("second"))
    await asyncio.sleep(0)
    await turnstile.__aexit__(None, None, None)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.wait_for(second, 1)
    assert inside == ["second"]
    assert not turnstile.held


def test_several_event_loops_share_one_turnstile():
    """Two loops in two threads are never inside together."""
    turnstile, inside, most = Turnstile(), 0, 0

    async def visits() -> None:
        nonlocal inside, most
        for _ in range(200):
            async with turnstile:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    threads = [threading.Thread(target=lambda: asyncio.run(visits())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert most == 1
    assert not turnstile.held
