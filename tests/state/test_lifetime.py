"""Time-to-live on disk and in memory, beyond what the storage contract says of every storage."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liman_nb.errors import UsageError
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.memory import InMemoryStateStorage
from liman_nb.testing.story import Story

LIFE = 100.0


class _Clock:
    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    """One that stands still until it is set."""
    return _Clock()


async def _told(storage, turns=1, **more):
    story = Story(**more)
    for commit in story.tell(turns):
        await storage.commit(commit)
    return story


def _changes(directory):
    """The rows of the database, with the moment each was written at."""
    with closing(sqlite3.connect(directory / "cache.db")) as connection:
        return connection.execute(
            "SELECT key, value, store_time FROM Cache ORDER BY key"
        ).fetchall()


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), 1e12])
@pytest.mark.parametrize("kind", [InMemoryStateStorage, DiskCacheStateStorage])
def test_a_time_to_live_that_is_none(kind, ttl):
    """One sentence, when the storage is made."""
    with pytest.raises(UsageError, match="session_ttl is a number of seconds from"):
        kind(session_ttl=ttl)


async def test_reading_writes_only_when_a_tenth_has_passed(tmp_path, clock):
    """A session that is read over and over is not written over and over."""
    storage = DiskCacheStateStorage(tmp_path, session_ttl=LIFE, clock=clock)
    story = await _told(storage)
    before = _changes(tmp_path)
    for _ in range(9):
        clock.now += 1
        await storage.load_rows(str(story.root))
    assert _changes(tmp_path) == before
    clock.now += 1
    await storage.load_rows(str(story.root))
    after = _changes(tmp_path)
    assert after != before
    await storage.load_rows(str(story.root))
    assert _changes(tmp_path) == after
    await storage.close()


async def test_without_a_time_to_live_nothing_is_written_by_reading(tmp_path, clock):
    """And nothing ever expires, as is the default."""
    storage = DiskCacheStateStorage(tmp_path, clock=clock)
    story = await _told(storage)
    before = _changes(tmp_path)
    clock.now += 1e9
    assert await storage.load_rows(str(story.root)) == story.rows
    assert await storage.prune() == []
    assert _changes(tmp_path) == before
    await storage.close()


async def test_what_expired_is_absent_for_a_storage_without_a_time_of_its_own(tmp_path, clock):
    """The time stands with the session, so whoever looks later sees that it is over."""
    expires = DiskCacheStateStorage(tmp_path, session_ttl=LIFE, clock=clock)
    keeps = DiskCacheStateStorage(tmp_path, clock=clock)
    old = await _told(expires)
    clock.now += LIFE
    assert await keeps.load_rows(str(old.root)) == []
    assert await keeps.list_sessions() == []
    assert await keeps.prune() == [str(old.root)]
    await expires.close()
    await keeps.close()


async def test_a_storage_that_keeps_takes_the_time_away(tmp_path, clock):
    """From when it opens the session; one that only looks does not."""
    expires = DiskCacheStateStorage(tmp_path, session_ttl=LIFE, clock=clock)
    keeps = DiskCacheStateStorage(tmp_path, clock=clock)
    opened, seen = await _told(expires), await _told(expires)
    assert await keeps.load_rows(str(opened.root)) == opened.rows
    assert await keeps.peek_rows(str(seen.root)) == seen.rows
    clock.now += 10 * LIFE
    assert [line.root for line in await expires.list_sessions()] == [str(opened.root)]
    await expires.close()
    await keeps.close()


async def test_what_expired_and_was_not_pruned_can_be_deleted(tmp_path, clock):
    """It is still in the files until then."""
    storage = DiskCacheStateStorage(tmp_path, session_ttl=LIFE, clock=clock)
    story = await _told(storage, text="canary-text")
    clock.now += LIFE
    assert await storage.load_rows(str(story.root)) == []
    assert any(b"canary-text" in value for _, value, _ in _changes(tmp_path))
    assert await storage.delete_session(str(story.root), secure=True) is True
    assert not any(b"canary-text" in path.read_bytes() for path in tmp_path.iterdir())
    await storage.close()


async def test_a_session_that_cannot_be_read_is_not_pruned(clock):
    """It stays listed, and opening it says what is wrong."""
    storage = InMemoryStateStorage(session_ttl=LIFE, clock=clock)
    story = await _told(storage)
    storage._journals[str(story.root)][-1] = b"{}"
    clock.now += 10 * LIFE
    assert await storage.prune() == []
    assert len(await storage.list_sessions()) == 1


async def test_a_store_that_is_not_there_has_nothing_to_prune(tmp_path):
    """And pruning does not make it."""
    assert await DiskCacheStateStorage(tmp_path / "none").prune() == []
    assert not (tmp_path / "none").exists()


# ── any order of uses ────────────────────────────────────────────────────────────────────────────

_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 60)),
        st.tuples(
            st.sampled_from(["begin", "answer", "read", "peek", "list", "prune"]), st.just(0)
        ),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(steps=_STEPS, on_disk=st.booleans())
def test_in_any_order_a_session_lives_from_nine_tenths_to_all_of_its_time(steps, on_disk):
    """After its last use, if no turn is open; and it is there whole, or not at all."""
    with TemporaryDirectory() as directory:
        clock = _Clock()
        settled = {"session_ttl": LIFE, "clock": clock}
        storage = (
            DiskCacheStateStorage(directory, **settled)
            if on_disk
            else InMemoryStateStorage(**settled)
        )
        asyncio.run(_lived(storage, clock, steps))


async def _lived(storage, clock, steps):
    story, used, answer = Story(), clock.now, None
    for step, seconds in steps:
        clock.now += seconds
        is_there = await storage.peek_rows(str(story.root)) == story.rows != []
        unused = clock.now - used
        if story.rows and (answer is not None or unused < 0.9 * LIFE):
            assert is_there
        if not story.rows or (answer is None and unused >= LIFE):
            assert not is_there
            assert await storage.peek_rows(str(story.root)) == []
        if not is_there:
            story, answer = Story(root=story.root), None
        match step:
            case "begin" if answer is None:
                begun, answer = _turn(story)
                await storage.commit(begun)
                used = clock.now
            case "answer" if answer is not None:
                await storage.commit(answer())
                used, answer = clock.now, None
            case "read":
                await storage.load_rows(str(story.root))
                used = clock.now
            case "list":
                assert len(await storage.list_sessions()) == is_there
            case "prune":
                await storage.prune()
    await storage.close()


def _turn(story):
    """A turn's first commit, and what makes its second one."""
    commits = story.tell(turns=1)
    return next(commits), lambda: next(commits)
