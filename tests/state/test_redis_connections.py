"""How a Redis server is reached: loops, threads, connections, urls."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from uuid import uuid4

import pytest
from redis_server import storage_on, tell

from liman_nb.errors import SessionConflict, SetupError, StorageError, UsageError
from liman_nb.state.redis import RedisStateStorage
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis


def test_each_event_loop_has_connections_of_its_own(redis_server):
    """One object serves loop after loop, and leaves no connection behind when a loop ends."""
    storage = RedisStateStorage(redis_server.url)
    story = Story()
    for turn in story.tell(turns=2):
        asyncio.run(storage.commit(turn))
    assert asyncio.run(storage.load_rows(str(story.root))) == story.rows
    with redis_server.client() as client:
        assert len(client.client_list()) == 1


def test_threads_use_one_object_at_the_same_time(redis_server):
    """Each with its own loop, as synchronous callers do."""
    storage = RedisStateStorage(redis_server.url)
    stories = [Story(session_id=str(number)) for number in range(8)]

    async def tell_all():
        jobs = (asyncio.to_thread(asyncio.run, tell(storage, s, turns=10)) for s in stories)
        await asyncio.gather(*jobs)

    asyncio.run(tell_all())
    for story in stories:
        assert asyncio.run(storage.load_rows(str(story.root))) == story.rows


async def test_many_calls_at_a_time_share_a_few_connections(redis_server):
    """Thousands of sessions do not use up what connections a server allows."""
    async with storage_on(redis_server) as storage:
        await storage.load_rows("-")
        stories = [Story(session_id=str(number)) for number in range(300)]
        telling = asyncio.gather(*(tell(storage, story, turns=1) for story in stories))
        most = 0
        with redis_server.client() as client:
            while not telling.done():
                most = max(most, len(client.client_list()))
                await asyncio.sleep(0.005)
        await telling
    assert 10 < most <= 33


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_protocols_of_redis(redis_server, protocol):
    """What is stored and read is the same."""
    url, agency = f"{redis_server.url}?protocol={protocol}", str(uuid4())
    storage, story, root = RedisStateStorage(url, agency=agency), Story(), str(uuid4())
    await tell(storage, story, turns=2)
    assert await storage.load_rows(str(story.root)) == story.rows
    assert [line.turns for line in await storage.list_sessions()] == [2]
    with pytest.raises(SessionConflict):
        await storage.commit(next(Story(root=story.root).tell(turns=1)))
    await storage.save_actor_state(root, "a", {"b": 1})
    assert await storage.load_actor_state(root, "a") == {"b": 1}
    assert await storage.delete_session(root)
    await storage.close()


@pytest.fixture
def certificate(tmp_path):
    """A certificate for this machine, and its key beside it."""
    certificate = tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", tmp_path / "key.pem", "-out", certificate]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return certificate


async def test_tls(start_redis, certificate):
    """With a certificate that the client can check, and not with one that it cannot."""
    key = certificate.with_name("key.pem")
    files = {"tls_cert_file": str(certificate), "tls_key_file": str(key)}
    server = start_redis(tls_port="its own", tls_auth_clients="no", **files)
    url = f"rediss://127.0.0.1:{server.port}"
    story = Story()
    storage = RedisStateStorage(f"{url}?ssl_ca_certs={certificate}")
    await tell(storage, story, turns=1)
    assert await storage.load_rows(str(story.root)) == story.rows
    assert repr(storage) == f"RedisStateStorage('{url}/0')"
    await storage.close()
    suspicious = RedisStateStorage(url)
    with pytest.raises(StorageError, match="CERTIFICATE_VERIFY_FAILED"):
        await suspicious.list_sessions()
    await suspicious.close()


async def test_a_socket_in_the_file_system(start_redis, tmp_path):
    """`unix://` and the path."""
    start_redis(unixsocket=str(tmp_path / "s"))
    storage = RedisStateStorage(f"unix://{tmp_path}/s?db=3")
    story = Story()
    await tell(storage, story, turns=1)
    assert await storage.load_rows(str(story.root)) == story.rows
    assert repr(storage) == f"RedisStateStorage('unix://{tmp_path}/s?db=3')"
    await storage.close()


def test_making_the_object_loads_no_client():
    """Nor does it connect to anything."""
    code = (
        "import sys, liman_nb; s = liman_nb.RedisStateStorage(); print(s, 'redis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "RedisStateStorage('redis://localhost:6379/0') False"


def test_without_the_client_the_error_is_what_to_run(monkeypatch):
    """The client is an extra."""
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(SetupError, match=r"pip install 'liman_nb\[redis\]'"):
        RedisStateStorage()


@pytest.mark.parametrize(
    "options",
    [
        {"session_ttl": 0},
        {"session_ttl": -1},
        {"session_ttl": float("nan")},
        {"session_ttl": float("inf")},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"lease_life": 0.05},
        {"lease_life": float("nan")},
        {"agency": "\ud800"},
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options):
    """At once, and by name."""
    with pytest.raises(UsageError, match=next(iter(options))):
        RedisStateStorage(**options)
