"""Sessions on a real Redis server: what is stored and how."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
import redis
from redis_server import keys_of, overheard, storage_on, tell

from liman_nb.errors import StorageError
from liman_nb.state.redis import RedisStateStorage
from liman_nb.state.rows import dump_row
from liman_nb.state.storage import Commit, Touched
from liman_nb.testing import StorageContract
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis


# ── the suite that every storage passes ──────────────────────────────────────────────────────────


class TestRedis(StorageContract):
    @pytest.fixture(autouse=True)
    def _url(self, redis_server):
        self.url, self.agency = redis_server.url, str(uuid4())

    async def storage(self):
        """On the server that all tests share."""
        return RedisStateStorage(self.url, agency=self.agency)

    async def reopened(self, storage):
        """With connections of its own."""
        return RedisStateStorage(self.url, agency=self.agency)

    async def kept(self, storage):
        """Every key of the agency, as the server itself serialises its value."""
        with redis.Redis.from_url(self.url) as client:
            keys = client.keys(f"*{self.agency}*")
            return {key.decode(): client.dump(key) for key in keys}


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_is_twokeys_of(redis_server):
    """The rows, appended to; and a line for the list, which says what is open, too."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=2)
    tag = f"liman_nb:{{:{story.root}}}"
    assert keys_of(redis_server, story.root) == {"rows": f"{tag}:rows", "session": f"{tag}:session"}
    with redis_server.client() as client:
        assert client.llen(f"{tag}:rows") == 4
        assert client.hgetall(f"{tag}:session") == {
            "open": "0",
            "longest": str(max(len(dump_row(row)) for row in story.rows)),
            "session_id": "alice",
            "created_at": story.rows[0].at,
            "used_at": story.rows[2].at,
            "turns": "2",
        }


async def test_agencies_see_only_what_is_theirs(redis_server, agency):
    """The same ids are other sessions for another agency, whatever its name looks like."""
    story = Story()
    other = Story(root=story.root, session_id="of the other")
    async with (
        storage_on(redis_server, agency=agency) as ours,
        storage_on(redis_server, agency=f"{agency}x") as theirs,
    ):
        await tell(ours, story, turns=2)
        await tell(theirs, other, turns=1)
        assert await ours.load_rows(str(story.root)) == story.rows
        assert [line.session_id for line in await ours.list_sessions()] == ["alice"]
        assert [line.session_id for line in await theirs.list_sessions()] == ["of the other"]
        assert await theirs.delete_session(str(story.root))
        assert await theirs.list_sessions() == []
        assert await ours.load_rows(str(story.root)) == story.rows


async def test_more_sessions_than_fit_one_round_trip_are_listed(redis_server, agency):
    """Each once, the last used first."""
    async with storage_on(redis_server, agency=agency) as storage:
        stories = [Story(session_id=str(number)) for number in range(510)]
        await asyncio.gather(*(tell(storage, story, turns=1) for story in stories))
        await tell(storage, stories[500], turns=1)
        lines = await storage.list_sessions()
    assert lines[0].session_id == "500"
    assert sorted(int(line.session_id) for line in lines) == list(range(510))


async def test_after_deleting_no_key_is_left(redis_server):
    """Neither of a session with a journal, nor of one saved state by state."""
    story, root, child, leaf = Story(), *(str(uuid4()) for _ in range(3))
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
        await storage.save_executor_state(root, {"child_executor_ids": [child]})
        await storage.save_executor_state(child, {"child_executor_ids": [leaf]})
        await storage.save_executor_state(leaf, {})
        await storage.save_actor_state(root, str(uuid4()), {"a": 1})
        with redis_server.client() as client:
            before = client.dbsize()
            assert await storage.delete_session(str(story.root))
            assert await storage.delete_session(root)
            assert before - client.dbsize() == 6
        assert not any(keys_of(redis_server, found) for found in (story.root, root, child, leaf))


async def test_a_deletion_that_was_cut_off_can_be_repeated(redis_server, monkeypatch):
    """The state that leads to the others goes last."""
    root, child = str(uuid4()), str(uuid4())
    async with storage_on(redis_server) as storage:
        await storage.save_executor_state(root, {"child_executor_ids": [child]})
        await storage.save_executor_state(child, {})
        with monkeypatch.context() as patch:
            patch.setattr(storage, "_command", _cut_off_at("UNLINK", storage._command))
            with pytest.raises(StorageError, match="cut off"):
                await storage.delete_session(root)
        assert keys_of(redis_server, child) == {}
        assert await storage.delete_session(root)
        assert keys_of(redis_server, root) == {}


def _cut_off_at(verb, command):
    async def cut_off(*arguments):
        if arguments[0] == verb:
            raise StorageError("cut off")
        return await command(*arguments)

    return cut_off


# ── commits and pages ────────────────────────────────────────────────────────────────────────────


async def test_a_commit_is_one_command(redis_server):
    """However many rows it has, and whether or not a turn begins."""
    story = Story()
    first, *others = story.tell(turns=10)
    together = Commit(first.root, 20, tuple(row for c in others[1:] for row in c.rows), Touched)
    async with storage_on(redis_server) as storage:
        await storage.commit(first)
        async with overheard(redis_server) as verbs:
            for commit in [*others, together]:
                await storage.commit(commit)
        assert verbs == ["EVALSHA"] * 20


async def test_opening_a_session_is_one_command(redis_server):
    """Unless it is longer than a page."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=100)
        assert await storage.load_rows("-") == []
        async with overheard(redis_server) as verbs:
            assert await storage.load_rows(str(story.root)) == story.rows
        assert verbs == ["EVALSHA"]


async def test_a_server_that_forgot_the_script_gets_it_again(redis_server):
    """Scripts are not kept over a restart, nor by ``SCRIPT FLUSH``."""
    story = Story()
    async with storage_on(redis_server) as storage:
        for commit in story.tell(turns=2):
            with redis_server.client() as client:
                client.script_flush()
            await storage.commit(commit)
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_long_session_is_read_in_pages(redis_server, monkeypatch):
    """Each holds about a megabyte, however long single rows are."""
    story = Story()
    async with storage_on(redis_server) as storage:
        for length in (10, 3_000_000, 10, 200_000, 200_000, 400_000, 10):
            story.text = "x" * length
            await tell(storage, story, turns=5)
        sizes = []
        page_of = storage._page

        async def page(root, first, life):
            length, *rows = await page_of(root, first, life)
            sizes.append(sum(map(len, rows)))
            return length, *rows

        monkeypatch.setattr(storage, "_page", page)
        assert await storage.load_rows(str(story.root)) == story.rows
    assert sum(sizes) == sum(len(dump_row(row)) for row in story.rows)
    assert 10 <= len(sizes) < len(story.rows) / 2
    assert max(sizes) < 2**20 + 3_000_200


async def test_a_session_deleted_while_it_is_read_is_gone(redis_server, monkeypatch):
    """Not half there."""
    story = Story(text="x" * 1_000_000)
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=2)
        page_of = storage._page

        async def page(root, first, life):
            found = await page_of(root, first, life)
            await storage.delete_session(root)
            return found

        monkeypatch.setattr(storage, "_page", page)
        assert await storage.load_rows(str(story.root)) == []
