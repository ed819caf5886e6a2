"""How sessions are listed, and what has to be gone when one is deleted."""

from __future__ import annotations

from liman_nb.errors import StorageError, UsageError
from liman_nb.state.storage import Commit, StateStorage, Touched, delete_from, settled
from liman_nb.testing.contract import (
    Contract,
    Reopened,
    contract,
    expect,
    expect_conflict,
    expect_gone,
    expect_same,
    expect_told,
    keeps_journal,
    new_id,
    tell,
)
from liman_nb.testing.story import Story

CANARY = "canary-4f1c9a"


class DeletingContract(Contract):
    """The part of the contract that is about listing and deleting."""

    @contract
    async def test_sessions_are_listed(self, storage: StateStorage) -> None:
        """A storage lists its sessions, last used first, or says that it cannot."""
        try:
            await storage.list_sessions()
        except UsageError as error:
            expect("list_sessions" in str(error), "the error must name the missing method")
            return
        short, long = Story(session_id="short"), Story(session_id="long")
        await tell(storage, long, turns=1)
        await tell(storage, short, turns=1)
        await tell(storage, long, turns=2)
        async with Reopened(self, storage) as other:
            ours = {str(short.root), str(long.root)}
            lines = [line for line in await other.list_sessions() if line.root in ours]
        expect([line.session_id for line in lines] == ["long", "short"], f"wrong order: {lines}")
        expect([line.turns for line in lines] == [3, 1], f"wrong number of turns: {lines}")
        expect(lines[0].created_at == long.rows[0].at, "created_at is the first turn's time")
        expect(lines[0].used_at == long.rows[4].at, "used_at is the latest turn's time")

    @contract
    async def test_turns_stored_at_once_are_listed(self, storage: StateStorage) -> None:
        """Where a journal is kept: begun when the first of them was, last used with the last."""
        if not await keeps_journal(storage):
            return
        story = Story()
        rows = tuple(row for commit in list(story.tell(turns=3)) for row in commit.rows)
        await storage.commit(Commit(str(story.root), 0, rows, Touched))
        (line,) = [n for n in await storage.list_sessions() if n.root == str(story.root)]
        listed = (line.session_id, line.turns, line.created_at, line.used_at)
        expect_same(listed, (story.session_id, 3, rows[0].at, rows[4].at))

    @contract
    async def test_a_deleted_session_is_gone(self, storage: StateStorage) -> None:
        """A storage deletes a session and no other, or says that it cannot."""
        gone, kept = Story(session_id="gone"), Story(session_id="kept")
        await tell(storage, gone, turns=2)
        await tell(storage, kept, turns=2)
        try:
            deleted = await delete_from(storage, str(gone.root))
        except UsageError as error:
            expect("delete_session" in str(error), "the error must name the missing method")
            return
        expect(deleted, "deleting a session that is there must give True")
        async with Reopened(self, storage) as other:
            await expect_gone(other, gone)
            await expect_told(other, kept)
        again = await delete_from(storage, str(gone.root))
        expect(again is False, "deleting a session that is not there must give False")

    @contract
    async def test_a_deleted_session_is_not_continued(self, storage: StateStorage) -> None:
        """Where a journal is kept, a writer who missed the deletion is told, and leaves no rest."""
        if not await keeps_journal(storage):
            return
        story = Story()
        await tell(storage, story, turns=1)
        await storage.delete_session(str(story.root))
        await expect_conflict(storage, next(story.tell(turns=1)))
        await expect_gone(storage, story)

    @contract
    async def test_a_deleted_session_leaves_no_key(self, storage: StateStorage) -> None:
        """Where it is known what is kept: after a deletion it is what it was before."""
        before = await self.kept(storage)
        if before is None:
            return
        story, root, child = Story(), new_id(), new_id()
        await tell(storage, story, turns=3)
        await storage.save_executor_state(root, {"child_executor_ids": [child]})
        await storage.save_executor_state(child, {"a": 1})
        await storage.save_actor_state(root, new_id(), {"b": 2})
        expect(set(await self.kept(storage) or ()) > set(before), "kept() shows nothing new")
        for gone in (str(story.root), root):
            expect(await delete_from(storage, gone), "deleting what is there must give True")
        expect_same(sorted(await self.kept(storage) or ()), sorted(before))

    @contract
    async def test_a_secure_deletion_leaves_no_byte(self, storage: StateStorage) -> None:
        """Not even of what was replaced earlier; or the storage says that some may be left."""
        gone, kept = Story(f"gone {CANARY}", text=f"{CANARY} " * 500), Story(text="kept")
        root, child = new_id(), new_id()
        for size in (2_000, 10):  # the second replaces the first
            await settled(storage.save_executor_state(root, {"child_executor_ids": [child]}))
            await settled(storage.save_executor_state(child, {"a": CANARY * size}))
        await tell(storage, kept, turns=1)
        await tell(storage, gone, turns=20)
        await tell(storage, kept, turns=1)
        try:
            for one in (str(gone.root), root):
                expect(await delete_from(storage, one, secure=True), "it must give True")
        except UsageError as error:
            named = "delete_session" in str(error)
            expect(named, "the error must name the method that is missing, or does not know how")
            return
        except StorageError as error:
            expect(
                str(gone.root) in str(error), "the error must say of which session bytes are left"
            )
            await expect_gone(storage, gone)
            return
        for name, value in (await self.kept(storage) or {}).items():
            expect(CANARY.encode() not in value, f"bytes of it are left in {name}")
        expect(CANARY.encode() not in (await self.files(storage) or b""), "bytes of it are left")
        async with Reopened(self, storage) as other:
            await expect_gone(other, gone)
            await expect_told(other, kept)
        expect(
            await delete_from(storage, str(gone.root), secure=True) is False,
            "deleting a session that is not there must give False",
        )
