"""`liman-nb sessions` on a Redis server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from redis_server import keys_of, storage_on, tell

from liman_nb import Agent
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.redis.storage import WEEK
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis


def _sessions(*arguments):
    """A command in a process of its own, where every warning is an error."""
    command = [sys.executable, "-W", "error", "-m", "liman_nb", "sessions", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


async def test_from_disk_to_redis_and_back(redis_server, agency, tmp_path):
    """The same rows and the same line of the list, and an agent goes on with it."""
    disk, last = tmp_path / "disk", tmp_path / "last"
    server = ("--store", redis_server.url, "--agency", agency)
    storage = DiskCacheStateStorage(disk)
    specs = "{kind: LLMNode, name: chat}"
    agent = Agent(specs, llm=["one", "zwei ✓"], session_id="s", name="a", state_storage=storage)
    await agent.step("first")
    result = await agent.step("second \u2028 \x85")
    _sessions("export", "s", tmp_path / "1.jsonl", "--store", disk)
    assert "4 of 4 rows were new" in _sessions("import", tmp_path / "1.jsonl", *server)
    assert json.loads(_sessions("list", "--json", *server)) == json.loads(
        _sessions("list", "--json", "--store", disk)
    )
    _sessions("export", "s", tmp_path / "2.jsonl", *server)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    _sessions("import", tmp_path / "2.jsonl", "--store", last)
    back = DiskCacheStateStorage(last)
    root = str(result.execution_id)
    assert await back.load_rows(root) == await storage.load_rows(root)
    assert await back.list_sessions() == await storage.list_sessions()
    again = Agent(specs, llm=["three"], session_id="s", name="a", state_storage=back)
    await again.step("third")
    assert len(again.messages("chat")) == 6
    assert "deleted session 's'" in _sessions("delete", "s", "--yes", *server)
    assert json.loads(_sessions("list", "--json", *server)) == []
    await storage.close()
    await back.close()


async def test_looking_at_a_session_changes_nothing_of_its_time(redis_server, agency):
    """Neither of one that is kept for ever nor of one that soon expires."""
    server = ("--store", redis_server.url, "--agency", agency)
    kept, soon = Story(session_id="kept"), Story(session_id="soon")
    async with (
        storage_on(redis_server, agency=agency, session_ttl=None) as keeps,
        storage_on(redis_server, agency=agency, session_ttl=1000) as expires,
    ):
        await tell(keeps, kept, turns=1)
        await tell(expires, soon, turns=1)
    with redis_server.client() as client:
        before = [client.pexpiretime(key) for key in _keys(redis_server, kept, soon)]
        for command in (("list",), ("export", kept.root), ("export", soon.root)):
            _sessions(*command, *server)
        after = [client.pexpiretime(key) for key in _keys(redis_server, kept, soon)]
    assert after == before
    assert set(before[:2]) == {-1}


async def test_what_is_imported_expires_a_week_later(redis_server, agency, tmp_path):
    """As every session on a server does that is given no other time."""
    storage = DiskCacheStateStorage(tmp_path / "disk")
    agent = Agent("{kind: LLMNode, name: chat}", llm=["one"], session_id="s", state_storage=storage)
    result = await agent.step("first")
    await storage.close()
    _sessions("export", "s", tmp_path / "s.jsonl", "--store", tmp_path / "disk")
    _sessions("import", tmp_path / "s.jsonl", "--store", redis_server.url, "--agency", agency)
    with redis_server.client() as client:
        lives = {client.ttl(key) for key in keys_of(redis_server, result.execution_id).values()}
    assert all(0 <= WEEK - life < 60 for life in lives)
    assert lives


async def test_the_server_prunes_by_itself(redis_server, agency):
    """The command has nothing to do."""
    server = ("--store", redis_server.url, "--agency", agency)
    assert _sessions("prune", *server) == "deleted 0 expired sessions\n"


def _keys(server, *stories):
    return [key for story in stories for key in sorted(keys_of(server, story.root).values())]
