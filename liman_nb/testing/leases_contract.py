"""How one writer keeps a session from the others, where a storage does that."""

from __future__ import annotations

from dataclasses import replace

from liman_nb.errors import SessionConflict
from liman_nb.state.storage import Lease, StateStorage, settled
from liman_nb.testing.contract import (
    Contract,
    Reopened,
    contract,
    expect,
    expect_conflict,
    expect_gone,
    expect_told,
    keeps_journal,
    tell,
)
from liman_nb.testing.story import Story


class LeasesContract(Contract):
    """The part of the contract that is about leases."""

    @contract
    async def test_a_lease_says_how_long_the_journal_is(self, storage: StateStorage) -> None:
        """Of an unknown session, too; a storage without journals says that it does not know."""
        story = Story()
        has_journal = await keeps_journal(storage)
        for turns in (0, 2):
            await tell(storage, story, turns)
            lease = await _lease(storage, story)
            known = len(story.rows) if has_journal else None
            expect(lease.rows == known, f"{known} rows are stored, the lease says {lease.rows}")
            await settled(lease.release())

    @contract
    async def test_a_second_lease_is_refused_till_the_first_is_released(
        self, storage: StateStorage
    ) -> None:
        """Also through another object; a session beside it is free. Others exclude nobody."""
        story, beside = Story(session_id="busy"), Story()
        async with Reopened(self, storage) as other:
            first = await _lease(storage, story)
            for second in (storage, other):
                refusal = await _refusal(second, story)
                expect(
                    bool(refusal) or not await keeps_journal(storage),
                    "a storage with journals must refuse a second lease",
                )
                expect(not refusal or "'busy'" in refusal, "a refusal must name the session")
            await settled((await _lease(other, beside)).release())
            for _ in range(2):
                await settled(first.release())
            expect(not await _refusal(other, story), "a released lease must be free")

    @contract
    async def test_commits_are_taken_under_a_lease(self, storage: StateStorage) -> None:
        """From the first one on, and the next lease counts them."""
        story = Story()
        lease = await _lease(storage, story)
        for commit in story.tell(turns=2):
            await storage.commit(replace(commit, lease=lease))
        await settled(lease.release())
        await expect_told(storage, story)

    @contract
    async def test_a_commit_under_an_earlier_lease_is_refused(self, storage: StateStorage) -> None:
        """Where a journal is kept: whether or not somebody else has the lease by now."""
        if not await keeps_journal(storage):
            return
        story = Story()
        async with Reopened(self, storage) as other:
            await tell(storage, story, turns=1)
            earlier = await _lease(storage, story)
            await settled(earlier.release())
            late = next(replace(story).tell(turns=1))
            await expect_conflict(storage, replace(late, lease=earlier))
            later = await _lease(other, story)
            await expect_conflict(storage, replace(late, lease=earlier))
            await settled(earlier.release())
            expect(bool(await _refusal(storage, story)), "an earlier lease released a later one")
            await other.commit(replace(late, lease=later))
            await settled(later.release())

    @contract
    async def test_a_session_is_not_deleted_under_a_lease_of_another(
        self, storage: StateStorage
    ) -> None:
        """Where a journal is kept: the turn under way goes on, and after it there is no rest."""
        if not await keeps_journal(storage):
            return
        story = Story()
        begun, answered = story.tell(turns=1)
        before = await self.kept(storage)
        async with Reopened(self, storage) as other:
            lease = await _lease(storage, story)
            await storage.commit(replace(begun, lease=lease))
            for one in (storage, other):
                expect(await _is_kept(one, story), "a session was deleted during a turn")
            await storage.commit(replace(answered, lease=lease))
            await settled(lease.release())
            await expect_told(other, story)
            expect(not await _is_kept(other, story), "a released lease must be in nobody's way")
        await expect_gone(storage, story)
        expect(await self.kept(storage) == before, "a key of it or of its lease is left")


async def _lease(storage: StateStorage, story: Story) -> Lease:
    lease: Lease = await settled(storage.lease(str(story.root), story.session_id))
    return lease


async def _refusal(storage: StateStorage, story: Story) -> str:
    """What a storage says when it refuses a lease; empty if it gives one, which is released."""
    try:
        lease = await _lease(storage, story)
    except SessionConflict as error:
        return str(error)
    await settled(lease.release())
    return ""


async def _is_kept(storage: StateStorage, story: Story) -> bool:
    """Whether a deletion is refused because somebody writes to the session."""
    try:
        await storage.delete_session(str(story.root))
    except SessionConflict:
        return True
    return False
