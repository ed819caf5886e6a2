"""One resource per event loop, closed with its loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from liman_nb.per_loop import PerLoop


@dataclass
class Connection:
    """Something that belongs to the loop on which it was opened."""

    closed_on: asyncio.AbstractEventLoop | None = None
    opened_on: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def close(self) -> None:
        """Take a moment to close."""
        await asyncio.sleep(0)
        self.closed_on = asyncio.get_running_loop()


@pytest.fixture
def held() -> PerLoop[Connection]:
    """Connections by loop."""
    return PerLoop(Connection, Connection.close)


def test_each_loop_has_its_own(held: PerLoop[Connection]):
    """A loop gets the same resource each time, another loop another one."""

    async def get_twice() -> tuple[Connection, Connection]:
        return await held.get(), await held.get()

    first, second = asyncio.run(get_twice()), asyncio.run(get_twice())
    assert first[0] is first[1]
    assert first[0] is not second[0]


def test_a_loop_closes_what_it_opened(held: PerLoop[Connection]):
    """The end of a loop closes its resource, on that loop."""
    opened = asyncio.run(held.get())
    assert opened.closed_on is opened.opened_on


async def test_closing_and_opening_again(held: PerLoop[Connection]):
    """A closed resource is replaced; closing twice is closing once."""
    first = await held.get()
    await held.aclose()
    await held.aclose()
    assert first.closed_on is asyncio.get_running_loop()
    again = await held.get()
    assert again is not first
    assert again.closed_on is None


async def test_an_owner_that_is_gone():
    """When nothing refers to the holder any more, its resource is closed by the loop."""
    held = PerLoop(Connection, Connection.close)
    opened = await held.get()
    del held
    while opened.closed_on is None:  # noqa: ASYNC110 - nobody is there to set an event
        await asyncio.sleep(0)
    assert opened.closed_on is opened.opened_on


def test_a_loop_that_was_torn_down(held: PerLoop[Connection]):
    """A loop that was closed without shutting down is forgotten, and keeps nobody from going on."""
    torn = asyncio.new_event_loop()
    torn.run_until_complete(held.get())
    torn.close()
    assert asyncio.run(held.get()).opened_on is not torn
    assert torn not in held._kept
