"""How a session has to be stored: every commit whole, in order, and nothing changed on the way."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from liman_nb.errors import LimanError, SessionConflict
from liman_nb.state.states import ExecutorStatus
from liman_nb.state.storage import Commit, StateStorage, Touched, load_executor, settled
from liman_nb.testing.contract import (
    Contract,
    Reopened,
    contract,
    expect,
    expect_conflict,
    expect_nothing,
    expect_same,
    expect_told,
    keeps_journal,
    late_commits,
    new_id,
    tell,
)
from liman_nb.testing.states_contract import ODD_TEXTS, TEN_MEGABYTES
from liman_nb.testing.story import Story

UNLIKE_JSON: tuple[Any, ...] = (
    math.nan,
    {"deep": [1.5, -math.inf]},
    b"bytes",
    {"pair": (1, 2)},
    {1: "a key that is no text"},
    {"a", "set"},
    "half a character: \ud83d",
    {"\udc69": "half a character as a key"},
)
"""What JSON has no form for, or would give back as something else."""


class CommitsContract(Contract):
    """The part of the contract that is about commits."""

    @contract
    async def test_a_session_that_is_not_there_has_no_rows(self, storage: StateStorage) -> None:
        """A journal of an unknown session is empty; a storage without journals has none."""
        rows = await settled(storage.load_rows(new_id()))
        expect(not rows, "an unknown session must have no rows")

    @contract
    async def test_commits_come_back_in_order(self, storage: StateStorage) -> None:
        """After every commit the whole session is there, also for another object."""
        story = Story()
        for commit in story.tell(turns=3):
            await storage.commit(commit)
            async with Reopened(self, storage) as other:
                await expect_told(other, story)

    @contract
    async def test_odd_texts_in_commits_come_back(self, storage: StateStorage) -> None:
        """Session ids and messages may be any text."""
        for text in ODD_TEXTS:
            story = Story(session_id=text, text=text)
            await tell(storage, story, turns=1)
            await expect_told(storage, story)

    @contract
    async def test_messages_of_ten_megabytes_come_back(self, storage: StateStorage) -> None:
        """Long inputs and replies are kept whole."""
        story = Story(text="x" * TEN_MEGABYTES)
        await tell(storage, story, turns=1)
        await expect_told(storage, story)

    @contract
    async def test_long_sessions_come_back(self, storage: StateStorage) -> None:
        """Thousands of rows where a journal is kept; hundreds of states rewritten elsewhere."""
        story = Story()
        turns = 1000 if await keeps_journal(storage) else 50
        await tell(storage, story, turns)
        await expect_told(storage, story)

    @contract
    async def test_sessions_at_the_same_time_do_not_mix(self, storage: StateStorage) -> None:
        """Many sessions commit concurrently through one object and through two."""
        async with Reopened(self, storage) as other:
            stories = [Story(session_id=f"s{i}", text=f"text {i}") for i in range(20)]
            used = [(storage, other)[i % 2] for i in range(20)]
            await asyncio.gather(
                *(tell(s, story, 5) for s, story in zip(used, stories, strict=True))
            )
            for story in stories:
                await expect_told(other, story)

    @contract
    async def test_a_second_writer_is_refused(self, storage: StateStorage) -> None:
        """Where a journal is kept, of two commits with the same number one is stored, whole."""
        if not await keeps_journal(storage):
            return
        story = Story()
        await tell(storage, story, turns=2)
        async with Reopened(self, storage) as other:
            for late in late_commits(story):
                await expect_conflict(other, late)
        await expect_told(storage, story)
        await tell(storage, story, turns=1)
        await expect_told(storage, story)

    @contract
    async def test_several_rows_are_stored_whole(self, storage: StateStorage) -> None:
        """Where a journal is kept, one commit may have many rows."""
        if not await keeps_journal(storage):
            return
        story = Story()
        commits = list(story.tell(turns=3))
        rows = tuple(row for commit in commits for row in commit.rows)
        await storage.commit(Commit(str(story.root), 0, rows, Touched))
        await expect_told(storage, story)

    @contract
    async def test_ten_thousand_messages_come_back(self, storage: StateStorage) -> None:
        """As many rows, a thousand in a commit, or the states of a long session's last turn."""
        story, turns = Story(), 5_000
        *earlier, begun, answered = story.tell(turns)
        if not await keeps_journal(storage):
            await storage.commit(begun)
            await storage.commit(answered)
        else:
            rows = [row for commit in (*earlier, begun, answered) for row in commit.rows]
            for first in range(0, len(rows), 1_000):
                part = tuple(rows[first : first + 1_000])
                await storage.commit(Commit(str(story.root), first, part, Touched))
        await expect_told(storage, story)

    @contract
    async def test_of_writers_at_the_same_time_one_wins(self, storage: StateStorage) -> None:
        """Where a journal is kept, all others are told, and nothing of theirs is stored."""
        if not await keeps_journal(storage):
            return
        story = Story()
        await tell(storage, story, turns=1)
        async with Reopened(self, storage) as other:
            (turn,) = late_commits(story)[0].rows
            rivals = [
                turn.model_copy(update={"at": f"2031-01-01T00:00:{i:02}Z"}) for i in range(10)
            ]
            commits = [Commit(str(story.root), len(story.rows), (row,), Touched) for row in rivals]
            writes = [(storage, other)[i % 2].commit(commit) for i, commit in enumerate(commits)]
            ended = await asyncio.gather(*writes, return_exceptions=True)
        lost = [error for error in ended if error is not None]
        expect(len(lost) == len(ended) - 1, f"{len(ended) - len(lost)} of {len(ended)} succeeded")
        expect(all(isinstance(error, SessionConflict) for error in lost), f"not told: {lost}")
        stored = await settled(storage.load_rows(str(story.root)))
        expect_same(stored, [*story.rows, rivals[ended.index(None)]])

    @contract
    async def test_what_json_would_change_is_refused_or_kept(self, storage: StateStorage) -> None:
        """NaN, bytes, tuples, keys that are no text, half characters: an error, or the same."""
        for value in UNLIKE_JSON:
            story = Story(text=value)
            begun = next(story.tell(turns=1))
            try:
                await storage.commit(begun)
            except (LimanError, TypeError, ValueError) as error:
                expect(bool(str(error)), f"{value!r} was refused without a word")
                await expect_nothing(storage, story)
                continue
            rows = await settled(storage.load_rows(str(story.root)))
            if rows is None:
                expect_same(
                    await load_executor(storage, str(story.turns[0].executor_id)),
                    story.executor(ExecutorStatus.IDLE),
                )
            else:
                expect_same(rows, story.rows)
