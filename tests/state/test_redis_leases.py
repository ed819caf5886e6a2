"""Leases on a Redis server: their numbers, what is left of them, and replies that are lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from redis_server import keys_of, overheard, storage_on, tell, wire_to

from liman_nb.errors import SessionConflict, StorageError
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis


def _lease(storage, story):
    return storage.lease(str(story.root), story.session_id)


def _known(server, story):
    """What the server knows of a session besides its rows."""
    keys = keys_of(server, story.root)
    with server.client() as client:
        return client.hgetall(keys["session"]) if "session" in keys else {}


async def _over(server, story):
    """Wait until the time of a session's lease is over."""
    with server.client() as client:
        until = int(_known(server, story)["until"])
        seconds, micros = client.time()
    await asyncio.sleep(max(0, until / 1000 - seconds - micros / 1e6) + 0.005)


async def _pause(lease):
    """Keep a lease from being renewed, as if its process was paused."""
    lease._renewing.cancel()
    await asyncio.wait({lease._renewing})


async def test_a_lease_is_one_command_to_take_and_one_to_give_back(redis_server):
    """And nothing is asked in between for a short turn."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
        await (await _lease(storage, story)).release()
        async with overheard(redis_server) as verbs:
            await (await _lease(storage, story)).release()
        assert verbs == ["EVALSHA"] * 2


async def test_the_numbers_of_leases_rise(redis_server):
    """Over releases, over leases that ran out, and over the session's own end."""
    story, numbers = Story(), []
    async with (
        storage_on(redis_server, lease_life=0.1) as storage,
        storage_on(redis_server, lease_life=0.1) as other,
    ):
        await tell(storage, story, turns=1)
        for taker in (storage, other, storage):
            lease = await _lease(taker, story)
            numbers.append(lease.number)
            await lease.release()
        lease = await _lease(storage, story)
        await _pause(lease)
        await _over(redis_server, story)
        lease, earlier = await _lease(other, story), lease
        numbers += [earlier.number, lease.number]
        await lease.release()
        await storage.delete_session(str(story.root))
        numbers.append((await _lease(storage, story)).number)
    assert numbers == sorted(set(numbers))


async def test_a_lease_that_ran_out_is_its_holders_until_somebody_takes_it(redis_server):
    """A commit renews it; after somebody took it, nothing is stored, and it says who."""
    story = Story()
    async with (
        storage_on(redis_server, lease_life=0.1) as storage,
        storage_on(redis_server, lease_life=30) as other,
    ):
        await tell(storage, story, turns=1)
        lease = await _lease(storage, story)
        await _pause(lease)
        await _over(redis_server, story)
        begun, answered = story.tell(turns=1)
        await storage.commit(replace(begun, lease=lease))
        with pytest.raises(SessionConflict):
            await _lease(other, story)
        await _over(redis_server, story)
        later = await _lease(other, story)
        assert later.rows == 3
        with pytest.raises(SessionConflict, match=r"passed on to process \d+ on .* is stored, the"):
            await storage.commit(replace(answered, lease=lease))
        await lease.release()
        await other.commit(replace(answered, lease=later))
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_lease_is_renewed_while_it_is_held(redis_server):
    """Also before the session's first commit; and not for longer."""
    story = Story()
    async with storage_on(redis_server, lease_life=0.2) as storage:
        lease = await _lease(storage, story)
        for _ in range(5):
            await asyncio.sleep(0.2)
            with pytest.raises(SessionConflict):
                await _lease(storage, story)
        assert lease.rows == 0
        await lease.release()
        assert lease._renewing.cancelled()
        await asyncio.sleep(0.2)
        assert _known(redis_server, story) == {}


async def test_nothing_is_left_of_a_session_that_never_began(redis_server):
    """Whether its lease was given back or its holder died; and it is never listed."""
    given_back, died = Story(), Story()
    async with storage_on(redis_server, lease_life=0.1) as storage:
        await (await _lease(storage, given_back)).release()
        assert keys_of(redis_server, given_back.root) == {}
        await _pause(await _lease(storage, died))
        roots = {line.root for line in await storage.list_sessions()}
        assert str(died.root) not in roots
        await asyncio.sleep(0.3)
        assert keys_of(redis_server, died.root) == {}


async def test_the_number_lives_as_long_as_the_session(redis_server):
    """It lies in a key of the session's, and expires with it, not with the lease."""
    story = Story()
    async with storage_on(redis_server, lease_life=0.1, session_ttl=1000) as storage:
        lease = await _lease(storage, story)
        for commit in story.tell(turns=1):
            await storage.commit(replace(commit, lease=lease))
        await lease.release()
    known = _known(redis_server, story)
    assert int(known["fence"]) > lease.number
    assert not {"holder", "until"} & set(known)
    with redis_server.client() as client:
        lives = {client.ttl(key) for key in keys_of(redis_server, story.root).values()}
    assert min(lives) > 900


async def test_a_lease_whose_reply_was_lost_does_not_keep_its_own_taker_out(redis_server):
    """It is asked for again, and is the same one."""
    story = Story()
    async with wire_to(redis_server) as (wire, storage):
        await tell(storage, story, turns=1)
        await (await _lease(storage, story)).release()
        wire.losing = 1
        lease = await _lease(storage, story)
        assert wire.losing == 0
        assert int(_known(redis_server, story)["fence"]) == lease.number
        wire.losing = 1
        for commit in story.tell(turns=1):
            await storage.commit(replace(commit, lease=lease))
        assert wire.losing == 0
        wire.losing = 1
        await lease.release()
        assert wire.losing == 0
        assert "holder" not in _known(redis_server, story)
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_what_was_stored_under_a_lease_stays_stored_though_it_passed_on(redis_server):
    """A commit whose reply was lost is found to be there; the next one is refused."""
    story = Story()
    async with (
        wire_to(redis_server, lease_life=0.1) as (_, storage),
        storage_on(redis_server) as other,
    ):
        await tell(storage, story, turns=1)
        lease = await _lease(storage, story)
        await _pause(lease)
        begun, answered = story.tell(turns=1)
        server_ask, taken = storage._server.ask, []

        async def ask(work):
            async def twice(client, again):
                await work(client, again)
                await _over(redis_server, story)
                taken.append(await _lease(other, story))
                return await work(client, True)

            return await server_ask(twice)

        storage._server.ask = ask
        await storage.commit(replace(begun, lease=lease))
        storage._server.ask = server_ask
        with pytest.raises(SessionConflict):
            await storage.commit(replace(answered, lease=lease))
        await other.commit(replace(answered, lease=taken[0]))
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_taking_that_is_cancelled_leaves_no_lease(start_redis):
    """Though the server gave it, a moment later."""
    server = start_redis()
    story = Story()
    async with storage_on(server) as storage, storage_on(server) as other:
        await tell(storage, story, turns=1)
        server.pause()
        taking = asyncio.create_task(_lease(storage, story))
        await asyncio.sleep(0.1)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        server.go_on()
        async with asyncio.timeout(5):
            while True:
                try:
                    await (await _lease(other, story)).release()
                except SessionConflict:
                    await asyncio.sleep(0.02)
                else:
                    break


async def test_a_lease_that_could_not_be_given_back_is_taken_anew_by_the_same_storage(start_redis):
    """A server that was away for a while holds nobody of this process up; others wait."""
    server = start_redis(appendonly="yes", appendfsync="always")
    story = Story()
    async with storage_on(server, timeout=0.2) as storage, storage_on(server) as other:
        await tell(storage, story, turns=1)
        lease = await _lease(storage, story)
        server.kill()
        await lease.release()
        with pytest.raises(StorageError):
            await _lease(storage, story)
        server.start()
        with pytest.raises(SessionConflict):
            await _lease(other, story)
        await (await _lease(storage, story)).release()
        await (await _lease(other, story)).release()


async def test_a_lease_that_is_forgotten_runs_out(redis_server):
    """As that of a turn whose event loop is gone; its own storage object need not wait."""
    story = Story()
    async with (
        storage_on(redis_server, lease_life=0.5) as storage,
        storage_on(redis_server) as other,
    ):
        lease = await _lease(storage, story)
        del lease
        with pytest.raises(SessionConflict):
            await _lease(other, story)
        lease = await _lease(storage, story)
        del lease
        await _over(redis_server, story)
        await (await _lease(other, story)).release()


@pytest.mark.parametrize("part", ["rows", "session"])
async def test_no_lease_of_a_session_of_which_a_part_is_missing(redis_server, part):
    """Nothing is written to what is left of it."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
        keys = keys_of(redis_server, story.root)
        with redis_server.client() as client:
            client.delete(keys[part])
        before = _known(redis_server, story)
        with pytest.raises(StorageError, match="a part of session"):
            await _lease(storage, story)
        assert _known(redis_server, story) == before
        await storage.delete_session(str(story.root))
