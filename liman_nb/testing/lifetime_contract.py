"""When a session expires: some time after its last use, and never while a turn is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from liman_nb.errors import UsageError
from liman_nb.state.storage import StateStorage, settled
from liman_nb.testing.contract import (
    Contract,
    contract,
    expect,
    expect_conflict,
    expect_gone,
    expect_same,
    expect_told,
    tell,
)
from liman_nb.testing.story import Story

LIFE = 100.0
"""Seconds. A use may put the end off by a tenth less."""


_Lifetime = TypeVar("_Lifetime", bound="LifetimeContract")


class _Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def _expiring(
    test: Callable[[_Lifetime, StateStorage, _Clock], Awaitable[None]],
) -> Callable[[_Lifetime], None]:
    """Makes a plain test of one that takes a storage whose sessions expire, and its clock."""

    async def run(self: _Lifetime, _: StateStorage) -> None:
        clock = _Clock()
        storage = await self.expiring(LIFE, clock)
        if storage is None:
            return
        try:
            await test(self, storage, clock)
        finally:
            await settled(storage.close())

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return contract(run)


class LifetimeContract(Contract):
    """The part of the contract that is about time-to-live."""

    @contract
    async def test_a_storage_prunes_or_says_that_it_cannot(self, storage: StateStorage) -> None:
        """A session that has not expired stays."""
        story = Story()
        await tell(storage, story, turns=1)
        try:
            pruned = await storage.prune()
        except UsageError as error:
            expect("prune" in str(error), "the error must name the missing method")
            return
        expect(str(story.root) not in pruned, "a session was pruned that has not expired")
        await expect_told(storage, story)

    @_expiring
    async def test_an_unused_session_expires(self, storage: StateStorage, clock: _Clock) -> None:
        """Then it is as if it had never been, also for who had it open."""
        story = Story()
        await tell(storage, story, turns=1)
        clock.now += LIFE - 1
        expect_same(await storage.peek_rows(str(story.root)), story.rows)
        clock.now += 1
        await expect_gone(storage, story)
        await expect_conflict(storage, next(story.tell(turns=1)))

    @_expiring
    async def test_use_puts_the_end_off(self, storage: StateStorage, clock: _Clock) -> None:
        """Opening and writing do; looking at the list or at the rows does not."""
        read, written, seen = Story(), Story(), Story()
        for story in (read, written, seen):
            await tell(storage, story, turns=1)
        clock.now += LIFE / 2
        await storage.load_rows(str(read.root))
        await tell(storage, written, turns=1)
        await storage.peek_rows(str(seen.root))
        await storage.list_sessions()
        clock.now += LIFE / 2
        await expect_gone(storage, seen)
        for story in (read, written):
            expect_same(await storage.peek_rows(str(story.root)), story.rows)
        clock.now += LIFE / 2
        await expect_gone(storage, read)
        await expect_gone(storage, written)

    @_expiring
    async def test_an_open_turn_does_not_expire(self, storage: StateStorage, clock: _Clock) -> None:
        """However long it takes; its end begins the time anew."""
        story = Story()
        begun, answered = story.tell(turns=1)
        await storage.commit(begun)
        clock.now += 50 * LIFE
        expect_same(await storage.prune(), [])
        expect_same([line.root for line in await storage.list_sessions()], [str(story.root)])
        await storage.commit(answered)
        clock.now += LIFE - 1
        expect_same(await storage.peek_rows(str(story.root)), story.rows)
        clock.now += 1
        await expect_gone(storage, story)

    @_expiring
    async def test_an_expired_session_can_begin_again(
        self, storage: StateStorage, clock: _Clock
    ) -> None:
        """Nothing of the old one comes back."""
        old = Story()
        await tell(storage, old, turns=3)
        clock.now += LIFE
        new = Story(old.session_id, root=old.root, text="new")
        await tell(storage, new, turns=1)
        await expect_told(storage, new)
        (line,) = await storage.list_sessions()
        expect_same((line.turns, line.created_at), (1, new.rows[0].at))

    @_expiring
    async def test_pruning_deletes_what_expired(self, storage: StateStorage, clock: _Clock) -> None:
        """And nothing else; no key of it is left."""
        old, used = Story(), Story()
        await tell(storage, used, turns=1)
        before = await self.kept(storage)
        await tell(storage, old, turns=2)
        clock.now += LIFE / 2
        await storage.load_rows(str(used.root))
        clock.now += LIFE / 2
        expect_same(await storage.prune(), [str(old.root)])
        expect_same(await storage.prune(), [])
        expect_same(sorted(await self.kept(storage) or ()), sorted(before or ()))
        await expect_told(storage, used)
