"""How long a session is kept on a Redis server."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from redis_server import keys_of, storage_on, tell

from liman_nb.errors import SessionConflict
from liman_nb.state.redis.storage import WEEK
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis


def _lives(server, root):
    """Seconds left of a session's keys; -1 for ever."""
    with server.client() as client:
        return {name: client.ttl(key) for name, key in keys_of(server, root).items()}


async def test_a_session_lives_a_week_after_its_turn(redis_server):
    """Both keys end in the same millisecond."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
    with redis_server.client() as client:
        ends = {client.pexpiretime(key) for key in keys_of(redis_server, story.root).values()}
    assert len(ends) == 1
    assert all(0 <= WEEK - life < 60 for life in _lives(redis_server, story.root).values())


async def test_an_open_turn_does_not_expire(redis_server):
    """From its beginning to its end the session is kept; reading it changes nothing of that."""
    story = Story()
    async with storage_on(redis_server, session_ttl=1000) as storage:
        await tell(storage, story, turns=1)
        assert min(_lives(redis_server, story.root).values()) > 900
        begun, answered = story.tell(turns=1)
        await storage.commit(begun)
        assert set(_lives(redis_server, story.root).values()) == {-1}
        await storage.load_rows(str(story.root))
        assert set(_lives(redis_server, story.root).values()) == {-1}
        await storage.commit(answered)
        assert min(_lives(redis_server, story.root).values()) > 900


async def test_opening_and_writing_begin_the_time_anew(redis_server):
    """Looking at the list does not."""
    story = Story()
    async with storage_on(redis_server, session_ttl=1000) as storage:
        await tell(storage, story, turns=1)
        for use, renews in [
            (storage.list_sessions(), False),
            (storage.load_rows(str(story.root)), True),
            (tell(storage, story, turns=1), True),
        ]:
            with redis_server.client() as client:
                for key in keys_of(redis_server, story.root).values():
                    client.expire(key, 50)
            await use
            lives = set(_lives(redis_server, story.root).values())
            assert (min(lives) > 900) == renews
            assert len(lives) == 1


async def test_what_expired_is_an_unknown_session(redis_server, agency):
    """It can begin again; whoever has it open still is told that it is gone."""
    story = Story()
    async with storage_on(redis_server, agency=agency, session_ttl=0.05) as storage:
        await tell(storage, story, turns=1)
        await asyncio.sleep(0.2)
        assert await storage.list_sessions() == []
        assert await storage.load_rows(str(story.root)) == []
        assert await storage.delete_session(str(story.root)) is False
        with pytest.raises(SessionConflict):
            await storage.commit(next(story.tell(turns=1)))
        again = Story(root=story.root)
        await storage.commit(next(again.tell(turns=1)))
        assert await storage.load_rows(str(story.root)) == again.rows


async def test_sessions_may_be_kept_for_ever(redis_server):
    """Also one that was going to expire, from when it is opened by a storage that keeps."""
    story = Story()
    async with (
        storage_on(redis_server) as forgets,
        storage_on(redis_server, session_ttl=None) as keeps,
    ):
        await tell(forgets, story, turns=1)
        assert await keeps.load_rows(str(story.root)) == story.rows
        assert set(_lives(redis_server, story.root).values()) == {-1}
        await tell(keeps, story, turns=1)
        assert set(_lives(redis_server, story.root).values()) == {-1}


async def test_states_saved_one_by_one_are_kept(redis_server):
    """An old executor's state must not go while its session is used."""
    root, child = str(uuid4()), str(uuid4())
    async with storage_on(redis_server, session_ttl=0.05) as storage:
        await storage.save_executor_state(root, {"child_executor_ids": [child]})
        await storage.save_executor_state(child, {"a": 1})
        await storage.save_actor_state(root, child, {"b": 2})
        await asyncio.sleep(0.1)
        assert await storage.load_executor_state(child) == {"a": 1}
        assert await storage.load_actor_state(root, child) == {"b": 2}
        await storage.delete_session(root)
