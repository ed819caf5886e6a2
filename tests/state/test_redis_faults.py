"""What can be wrong with a Redis server, and what its user is told."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
import redis.exceptions
from redis_server import free_port, keys_of, storage_on, tell, wire_to

from liman_nb.errors import SessionConflict, StorageError, UsageError
from liman_nb.state.redis import RedisStateStorage
from liman_nb.state.redis.address import Address
from liman_nb.state.redis.faults import explained, is_passing
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis

SECRET = "canary/0815"  # noqa: S105 - the tests look for it
QUOTED = "canary%2F0815"


async def _error_of(storage):
    """What a storage says when it is used, and once more, the same."""
    with pytest.raises(StorageError) as first:
        await storage.commit(next(Story().tell(turns=1)))
    with pytest.raises(StorageError) as second:
        await storage.list_sessions()
    await storage.close()
    assert str(second.value).partition(" (")[0] == str(first.value).partition(" (")[0]
    assert not isinstance(first.value, SessionConflict)
    return str(first.value)


# ── no server, or another one ────────────────────────────────────────────────────────────────────


async def test_no_server_is_reported_at_once():
    """There is nothing to wait for: it never was there."""
    port = free_port()
    storage = RedisStateStorage(f"redis://127.0.0.1:{port}", timeout=30)
    began = time.perf_counter()
    message = await _error_of(storage)
    assert time.perf_counter() - began < 5
    assert message.startswith(
        f"redis://127.0.0.1:{port}/0: it does not answer: start it, or check host and port, and "
        "whether it wants TLS (rediss://) ("
    )


async def test_no_such_host():
    """The same, with what the system says of the name."""
    message = await _error_of(RedisStateStorage("redis://no-such-host.invalid:6379/0"))
    assert "no-such-host.invalid:6379/0: it does not answer" in message


async def test_a_wrong_password(start_redis):
    """None, and another one; the right one works."""
    server = start_redis(requirepass=SECRET)
    place = server.place
    for url in (place, place.replace("//", "//:wrong@"), place.replace("//", "//who:wrong@")):
        message = await _error_of(RedisStateStorage(url))
        assert message.startswith(f"{place}: it wants a password, or another one than was given: ")
        assert "wrong" not in message
    storage = RedisStateStorage(place.replace("//", f"//:{QUOTED}@"))
    await tell(storage, Story(), turns=1)
    await storage.close()


async def test_a_user_who_may_not(start_redis):
    """What a user of the server needs is said, and is enough."""
    server = start_redis(user="only on >pass ~liman_nb:* +@connection")
    url = server.place.replace("//", "//only:pass@")
    message = await _error_of(RedisStateStorage(url))
    rules = "+@read +@write +@scripting +@connection +time"
    assert f"allow it the keys liman_nb:* and the commands {rules} (" in message
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "only", *rules.split())
    storage, story = RedisStateStorage(url), Story()
    await tell(storage, story, turns=1)
    assert [line.session_id for line in await storage.list_sessions()] == ["alice"]
    assert await storage.delete_session(str(story.root))
    await storage.close()


async def test_a_database_that_is_not_there(redis_server):
    """Servers have sixteen."""
    message = await _error_of(RedisStateStorage(redis_server.place[:-1] + "99"))
    assert "/99: it has no database of that number: most servers have 0 to 15" in message


async def test_something_else_answers():
    """Such as a web server."""
    async with _answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        message = await _error_of(RedisStateStorage(f"redis://127.0.0.1:{port}"))
    assert "what answers there does not speak the protocol of Redis: check host and port" in message


@asynccontextmanager
async def _answering(answer):
    """A port on which everything gets the same answer."""

    async def serve(reader, writer):
        while await reader.read(4096):
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


# ── a server that takes no writes ────────────────────────────────────────────────────────────────


async def test_a_replica_is_read_and_not_written(start_redis):
    """The primary's address is what is needed."""
    primary = start_redis()
    replica = start_redis(replicaof=f"127.0.0.1 {primary.port}")
    async with storage_on(replica) as storage:
        with pytest.raises(StorageError, match="read-only replica: give the address of the prim"):
            await storage.commit(next(Story().tell(turns=1)))
        with replica.client() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        story = Story()
        await tell(storage, story, turns=1)
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_full_memory_stores_nothing_and_loses_nothing(start_redis):
    """No half of a commit is left; what is there can be read and deleted; then there is room."""
    server = start_redis()
    story, large = Story(), Story(session_id="large", text="x" * 3_000_000)
    async with storage_on(server) as storage:
        await tell(storage, story, turns=1)
        await tell(storage, large, turns=1)
        with server.client() as client:
            limit = client.info("memory")["used_memory"]
            client.config_set("maxmemory", limit)
            begun, answered = story.tell(turns=1)
            with pytest.raises(StorageError, match="memory is full: delete sessions, or raise"):
                await storage.commit(begun)
            assert await storage.load_rows(str(story.root)) == story.rows[:2]
            assert await storage.delete_session(str(large.root))
            while client.info("memory")["used_memory"] > limit - 1_000_000:
                client.ping()
        await storage.commit(begun)
        await storage.commit(answered)
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_server_that_evicts_is_warned_of(start_redis):
    """Once, when it is first used."""
    server = start_redis(maxmemory="50mb", maxmemory_policy="allkeys-lru")
    async with storage_on(server) as storage:
        with pytest.warns(UserWarning, match=r"\(maxmemory-policy allkeys-lru\): set its maxmem"):
            await storage.list_sessions()
        await tell(storage, Story(), turns=1)
    with server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
    async with storage_on(server) as storage:
        await tell(storage, Story(), turns=1)


# ── keys that are not as they were written ───────────────────────────────────────────────────────


@pytest.mark.parametrize("part", ["rows", "session"])
async def test_a_part_that_was_evicted_is_noticed(redis_server, part):
    """Such a session is neither read nor continued; it can be deleted, and begun again."""
    story, other = Story(), Story(session_id="other")
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
        await tell(storage, other, turns=1)
        with redis_server.client() as client:
            client.delete(keys_of(redis_server, story.root)[part])
        missing = f"a part of session {story.root} is missing, because the server evicts keys"
        for use in (storage.load_rows(str(story.root)), storage.commit(next(story.tell(turns=1)))):
            with pytest.raises(StorageError, match=missing):
                await use
        with pytest.raises(StorageError, match=missing):
            await storage.commit(next(Story(root=story.root).tell(turns=1)))
        assert await storage.load_rows(str(other.root)) == other.rows
        assert await storage.delete_session(str(story.root))
        await storage.commit(next(Story(root=story.root).tell(turns=1)))


@pytest.mark.parametrize(
    ("part", "command"),
    [
        ("rows", "SET {} x"),
        ("session", "SET {} x"),
        ("session", "RPUSH {} x"),
        ("rows", "HSET {} x y"),
    ],
)
async def test_a_key_of_another_type_stops_a_commit_before_it_begins(redis_server, part, command):
    """Whatever another program put there."""
    story = Story()
    async with storage_on(redis_server, agency=str(uuid4())) as storage:
        await tell(storage, story, turns=1)
        keys = keys_of(redis_server, story.root)
        with redis_server.client() as client:
            client.delete(keys[part])
            client.execute_command(*command.format(keys[part]).split())
            before = {name: client.dump(key) for name, key in keys.items()}
        for use in (storage.load_rows(str(story.root)), storage.commit(next(story.tell(turns=1)))):
            with pytest.raises(StorageError, match="holds something that liman_nb never writes"):
                await use
        with redis_server.client() as client:
            assert {name: client.dump(key) for name, key in keys.items()} == before
        assert await storage.delete_session(str(story.root))
        assert await storage.list_sessions() == []


async def test_rows_that_are_none_are_named(redis_server):
    """With their number, and the storage."""
    story = Story()
    async with storage_on(redis_server) as storage:
        await tell(storage, story, turns=1)
        key = keys_of(redis_server, story.root)["rows"]
        for odd in ("{", '{"kind": "novel"}', "\x80\x03cos"):
            with redis_server.client() as client:
                client.lset(key, 1, odd)
            with pytest.raises(StorageError, match=f"row 1 of session {story.root} in Redis"):
                await storage.load_rows(str(story.root))


@pytest.mark.parametrize(
    "change", [{"turns": "many"}, {"session_id": b"\xff"}, {"used_at": None}, {"open": "x"}]
)
async def test_a_line_of_the_list_that_is_none_is_named(redis_server, change):
    """The list is not shown as if it were not there."""
    story = Story()
    async with storage_on(redis_server, agency=str(uuid4())) as storage:
        await tell(storage, story, turns=1)
        ((field, value),) = change.items()
        key = keys_of(redis_server, story.root)["session"]
        with redis_server.client() as client:
            client.hdel(key, field) if value is None else client.hset(key, field, value)
        if field == "open":
            with pytest.raises(StorageError, match="a part of session"):
                await storage.commit(next(story.tell(turns=1)))
        else:
            odd = f"session {story.root} in the list of sessions cannot be read: something else"
            with pytest.raises(StorageError, match=odd):
                await storage.list_sessions()


# ── a server that goes away ──────────────────────────────────────────────────────────────────────


async def test_a_dead_server_is_one_clear_error_and_a_restart_is_enough(start_redis):
    """Nothing that was acknowledged is lost, and no object has to be made anew."""
    server = start_redis(appendonly="yes", appendfsync="always")
    story = Story()
    async with storage_on(server, timeout=0.3) as storage:
        await tell(storage, story, turns=3)
        server.kill()
        begun, answered = story.tell(turns=1)
        for use in (storage.commit(begun), storage.load_rows("-"), storage.list_sessions()):
            with pytest.raises(StorageError) as caught:
                await use
            assert str(caught.value).startswith(
                f"{server.place}: it answers no more: start it again, or check the network; what "
                "was being stored may or may not be there, which the next call finds out ("
            )
        server.start()
        await storage.commit(begun)
        await storage.commit(answered)
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_restart_is_waited_for(start_redis):
    """A commit that meets it takes a moment longer."""
    server = start_redis(appendonly="yes", appendfsync="always")
    story = Story()
    async with storage_on(server, timeout=30) as storage:
        await tell(storage, story, turns=1)
        server.kill()
        telling = asyncio.create_task(tell(storage, story, turns=1))
        await asyncio.sleep(0.1)
        assert not telling.done()
        server.start()
        await telling
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_server_that_hangs_holds_nobody_up(start_redis):
    """The event loop goes on; after the time-out the error says how long was waited."""
    server = start_redis()
    story = Story()
    async with storage_on(server, timeout=0.4) as storage:
        await tell(storage, story, turns=1)
        server.pause()
        waiting = asyncio.create_task(storage.list_sessions())
        longest = 0.0
        while not waiting.done():
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began)
        server.go_on()
        with pytest.raises(StorageError, match="it answers no more"):
            await waiting
        assert longest < 0.3
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_cancelled_call_leaves_nothing_behind_for_the_next(start_redis):
    """The reply that nobody waited for is not taken for another one's."""
    server = start_redis()
    story = Story()
    async with storage_on(server) as storage:
        await tell(storage, story, turns=1)
        server.pause()
        waiting = asyncio.create_task(storage.load_rows(str(story.root)))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        server.go_on()
        assert [line.session_id for line in await storage.list_sessions()] == ["alice"]
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_commit_whose_reply_was_lost_is_not_its_own_second_writer(redis_server):
    """It is sent again, and found to be there; nothing is stored twice."""
    story = Story()
    async with wire_to(redis_server) as (wire, storage):
        await tell(storage, story, turns=1)
        wire.losing = 1
        await tell(storage, story, turns=1)
        assert wire.losing == 0
        assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_commit_whose_reply_was_lost_may_have_come_second(redis_server):
    """Then it is a conflict, although it is sent twice."""
    story = Story()
    async with wire_to(redis_server) as (wire, storage):
        await tell(storage, story, turns=2)
        wire.losing = 1
        late = next(Story(root=story.root, text="other").tell(turns=1))
        with pytest.raises(SessionConflict):
            await storage.commit(late)
        assert wire.losing == 0
        assert await storage.load_rows(str(story.root)) == story.rows


# ── words for errors ─────────────────────────────────────────────────────────────────────────────

PLACE = Address.parse("redis://h")


@pytest.mark.parametrize(
    ("error", "words", "passing"),
    [
        (redis.exceptions.ResponseError("MISCONF Redis is configured to save"), "its disk", False),
        (redis.exceptions.ResponseError("NOREPLICAS Not enough good"), "too few replicas", False),
        (redis.exceptions.ResponseError("BUSY Redis is busy running a script"), "a script", True),
        (redis.exceptions.BusyLoadingError("Redis is loading"), "loading its data", True),
        (redis.exceptions.ConnectionError("max number of clients reached"), "maxclients", True),
        (redis.exceptions.MasterDownError("Link with MASTER is down"), "lost its primary", True),
        (redis.exceptions.ResponseError("who knows"), "it refused (who knows)", False),
        (ConnectionResetError(), "answers no more", True),
        (
            redis.exceptions.ResponseError(
                "Error running script (call to f_1): @user_script:9: -READONLY You can't write"
            ),
            "read-only replica",
            False,
        ),
        (
            redis.exceptions.ResponseError(
                "Error running script (call to f_1): @user_script:9: -OOM command not allowed"
            ),
            "memory is full",
            False,
        ),
    ],
)
def test_errors_of_every_kind_of_server_have_words(error, words, passing):
    """Those of older servers, too, and of moments that a test cannot make."""
    message = str(explained(error, PLACE, reached=True))
    assert message.startswith("redis://h:6379/0: ")
    assert words in message
    assert is_passing(error) == passing


# ── addresses and their secrets ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://", "redis://localhost:6379/0"),
        ("redis://h", "redis://h:6379/0"),
        (f"rediss://u:{QUOTED}@h:1/2?health_check_interval=3", "rediss://h:1/2"),
        (f"redis://:{QUOTED}@[::1]:7/0", "redis://[::1]:7/0"),
        (f"redis://h?db=4&password={QUOTED}", "redis://h:6379/4"),
        (f"unix://u:{QUOTED}@/run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
    ],
)
def test_an_address_is_shown_without_secrets(url, shown):
    """Neither the object's text nor that of its parts has any."""
    storage = RedisStateStorage(url)
    assert repr(storage) == f"RedisStateStorage({shown!r})"
    texts = [repr(storage), str(vars(storage)), str(vars(storage._server)), repr(storage._address)]
    texts.append(repr(vars(storage._server._clients)))
    assert not [text for text in texts if "canary" in text]


@pytest.mark.parametrize(
    "url",
    [
        "canary",
        "http://canary",
        "redis://:can/ary@h",
        "redis://:canary#@h",
        "redis://:12?canary@h",
        "redis://:canary:12x@h:canary",
        "redis://h:canary/0",
        "redis://h/canary",
        "redis://[canary/0",
        "redis://h:123456789/0",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_and_not_repeated(url):
    """It may be a password that stands in the wrong place."""
    with pytest.raises(UsageError, match="the url of a Redis server cannot be used: ") as caught:
        RedisStateStorage(url)
    text = "".join(traceback.format_exception(caught.value, chain=True))
    assert "canary" not in text.replace(f'RedisStateStorage("{url}")', "")
    assert "ary@" not in str(caught.value)


async def test_an_option_of_the_url_that_is_none_is_named(redis_server):
    """When the client is made, since only it knows its options."""
    storage = RedisStateStorage(f"{redis_server.url}?colour=red")
    with pytest.raises(UsageError, match=r"an option of the url is wrong: .*'colour'"):
        await storage.list_sessions()


async def test_a_server_that_repeats_the_password_does_not_get_it_into_an_error():
    """As those do that do not know a command."""
    answer = f"-ERR unknown command 'AUTH', with args beginning with: '{SECRET}'\r\n".encode()
    async with _answering(answer) as port:
        for protocol in (2, 3):
            url = f"redis://:{QUOTED}@127.0.0.1:{port}?protocol={protocol}"
            storage = RedisStateStorage(url)
            with pytest.raises(StorageError) as caught:
                await storage.list_sessions()
            await storage.close()
            text = "".join(traceback.format_exception(caught.value, chain=True))
            assert "unknown command 'AUTH', with args beginning with: '…'" in text
            assert "canary" not in text
            assert caught.value.__context__ is None
