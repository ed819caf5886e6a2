"""Several processes on one Redis server: writers, agents, and one of them killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from uuid import uuid4

import pytest
from redis_server import storage_on, tell

from liman_nb import Agent, RedisStateStorage, call
from liman_nb.errors import OpenTurn, SessionConflict, StorageError
from liman_nb.state.redis.storage import WEEK
from liman_nb.testing.story import Story

pytestmark = pytest.mark.redis

PRELUDE = """
import asyncio, random, sys
from liman_nb import Agent, RedisStateStorage
from liman_nb.errors import SessionConflict
from liman_nb.state.rows import RunRow
from liman_nb.state.storage import Commit, Touched
url, argument = sys.argv[1:]
storage = RedisStateStorage(url, lease_life=0.3)
"""

SHARED_SESSION = """
async def main():
    mine = 0
    while mine < 30:
        number = len(await storage.load_rows(argument))
        row = RunRow(kind="run", at="", executor=argument, output=[random.random(), mine])
        await asyncio.sleep(random.random() / 500)
        try:
            await storage.commit(Commit(argument, number, (row,), Touched, open=True))
        except SessionConflict:
            continue
        mine += 1
        print(row.output[0])
asyncio.run(main())
"""

ONE_TURN = """
def model(request):
    said = [m["content"] for m in request.messages if m["role"] == "user"]
    return f"You said: {' '.join(said)}"

async def main():
    agent = Agent("{kind: LLMNode, name: chat}", llm=model, state_storage=storage, session_id="al")
    print((await agent.step(argument)).output)
asyncio.run(main())
"""


DIE_IN_A_TOOL = """
import os
from liman_nb import call

def deliver(what: str) -> str:
    "Dies."
    os._exit(7)

async def main():
    specs, replies = "{kind: LLMNode, name: chat, tools: [deliver]}", [call("deliver", what="tea")]
    agent = Agent(specs, llm=replies, tools=[deliver], state_storage=storage, session_id=argument)
    await agent.step("Tea, please.")
asyncio.run(main())
"""


def _start(code, server, argument):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PRELUDE + code, server.url, argument],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process):
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


# ── writing at the same time ─────────────────────────────────────────────────────────────────────


async def test_two_processes_on_one_session_lose_nothing(redis_server):
    """Every row that one was told is stored is stored once; nothing else is."""
    root = str(uuid4())
    processes = [_start(SHARED_SESSION, redis_server, root) for _ in range(2)]
    told = [float(word) for process in processes for word in _finish(process)]
    async with storage_on(redis_server) as storage:
        stored = [row.output[0] for row in await storage.load_rows(root)]
        assert await storage.delete_session(root)
    assert sorted(stored) == sorted(told)
    assert len(stored) == 60


async def test_a_second_kernel_is_told_that_it_came_second(redis_server):
    """What the first one wrote is there, whole."""
    story = Story()
    async with storage_on(redis_server) as first, storage_on(redis_server) as second:
        await tell(first, story, turns=2)
        late = Story(root=story.root)
        with pytest.raises(SessionConflict, match="the input of this turn was not stored"):
            await second.commit(next(late.tell(turns=1)))
        assert await second.load_rows(str(story.root)) == story.rows


# ── agents ───────────────────────────────────────────────────────────────────────────────────────


def test_agents_in_two_processes_remember(redis_server):
    """One is told a name, the next one knows it."""
    assert _finish(_start(ONE_TURN, redis_server, "I am Alice.")) == ["You said: I am Alice."]
    assert _finish(_start(ONE_TURN, redis_server, "Who am I?")) == [
        "You said: I am Alice. Who am I?"
    ]


SPECS = "{kind: LLMNode, name: chat, tools: [deliver]}"


def _agent(server, tools, replies, **options):
    storage = RedisStateStorage(server.url, timeout=0.3, lease_life=0.3)
    return Agent(SPECS, llm=replies, tools=tools, state_storage=storage, session_id="al", **options)


async def test_a_server_killed_in_the_middle_of_a_turn_loses_nothing(start_redis):
    """The turn ends with the error; with the server it is there again, and is resumed."""
    server = start_redis(appendonly="yes", appendfsync="always")
    delivered = []

    def deliver(what: str) -> str:
        """Delivers something, while the server is killed."""
        delivered.append(what)
        if len(delivered) == 1:
            server.kill()
        return f"delivered {what}"

    agent = _agent(server, [deliver], [call("deliver", what="tea"), "Here you are."])
    with pytest.raises(StorageError, match="answers no more: start it again"):
        await agent.step("Tea, please.")
    await agent.state_storage.close()

    server.start()
    again = _agent(server, [deliver], ["Here you are."])  # the model is not asked a second time
    await asyncio.sleep(0.4)  # the lease could not be given back, and is over soon
    with pytest.raises(OpenTurn):
        await again.step("Is it there?")
    result = await again.resume()
    assert result.output == "Here you are."
    assert delivered == ["tea", "tea"]
    roles = [message["role"] for message in again.messages("chat")]
    assert roles == ["user", "assistant", "tool", "assistant"]
    await again.state_storage.close()


async def test_the_same_agent_goes_on_when_the_server_is_back(start_redis):
    """Nothing has to be made or opened anew, and the lease that was left there is no obstacle."""
    server = start_redis(appendonly="yes", appendfsync="always")

    def deliver(what: str) -> str:
        """Delivers something."""
        return what

    agent = _agent(server, [deliver], ["One.", "Three."], on_open_turn="resume")
    await agent.step("1")
    server.kill()
    with pytest.raises(StorageError, match="answers no more: start it again"):
        await agent.step("2")
    server.start()
    assert (await agent.step("3")).output == "Three."
    said = [message["content"] for message in agent.messages("chat")]
    assert said == ["1", "One.", "3", "Three."]
    await agent.state_storage.close()


async def test_a_turn_that_a_crash_left_open_is_kept_until_it_is_resumed(start_redis):
    """Only then the session's time to live begins."""
    server = start_redis()

    def deliver(what: str) -> str:
        """Dies."""
        return what

    dying = _start(DIE_IN_A_TOOL, server, "al")
    dying.communicate(timeout=60)
    assert dying.returncode == 7
    with server.client() as client:
        assert [client.ttl(key) for key in client.scan_iter()] == [-1, -1]
        await asyncio.sleep(0.4)
        agent = _agent(server, [deliver], ["Here you are."])
        assert (await agent.resume()).output == "Here you are."
        await agent.state_storage.close()
        assert all(client.ttl(key) > WEEK - 60 for key in client.scan_iter())
