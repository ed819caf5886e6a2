"""Two kernels on one session: real processes, killed and paused, on disk and on Redis."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from liman_nb import Agent, DiskCacheStateStorage, RedisStateStorage
from liman_nb.errors import OpenTurn, SessionConflict

LEASE_LIFE = 1.0  # seconds, on Redis

STORES = ["disk", pytest.param("redis", marks=pytest.mark.redis)]

PRELUDE = """
import asyncio, os, random, sys
from liman_nb import Agent, DiskCacheStateStorage, RedisStateStorage
from liman_nb.errors import SessionConflict
place, session_id, argument = sys.argv[1:]
storage = (
    RedisStateStorage(place, lease_life=LIFE) if "://" in place else DiskCacheStateStorage(place)
)
def agent(model):
    specs = "{kind: LLMNode, name: chat}"
    return Agent(specs, llm=model, state_storage=storage, session_id=session_id, name="a")
""".replace("LIFE", str(LEASE_LIFE))

ANSWERS_WHEN_TOLD = """
async def model(request):
    print("asked", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return "answered"

async def main():
    try:
        print((await agent(model).step("from the first")).output)
    except SessionConflict as error:
        print("conflict:", error)
    await storage.close()
asyncio.run(main())
"""

TURNS_IN_A_RACE = """
async def model(request):
    os.close(os.open(argument, os.O_CREAT | os.O_EXCL))  # fails while another process is in here
    await asyncio.sleep(random.random() / 100)
    os.unlink(argument)
    return "answered"

async def main():
    own, done = agent(model), 0
    while done < 5:
        try:
            result = await own.step(f"{os.getpid()}.{done}")
        except SessionConflict as error:
            assert "nothing of this call was stored" in str(error)
            await asyncio.sleep(random.random() / 50)
            continue
        done += 1
        print(result.turn)
    await storage.close()
asyncio.run(main())
"""


@pytest.fixture(params=STORES)
def place(request, tmp_path):
    """Where the store is: a directory, or a server's url."""
    if request.param == "disk":
        return str(tmp_path / "store")
    return request.getfixturevalue("redis_server").url


@pytest.fixture
def session_id(request):
    """One of the test's own."""
    return request.node.name


def _start(code, place, session_id, argument=""):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PRELUDE + code, place, session_id, str(argument)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def _in_a_turn(place, session_id):
    """A process whose model was asked, and answers when it is told to."""
    process = _start(ANSWERS_WHEN_TOLD, place, session_id)
    try:
        assert process.stdout.readline() == "asked\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def _finish(process):
    """Tell a process to answer; what it said since."""
    out, err = process.communicate("\n", timeout=60)
    assert (process.returncode, err) == (0, "")
    return out


class _Second:
    """An agent of the tests' own process on the same store; knows what its model was asked."""

    def __init__(self, place, session_id):
        is_server = "://" in place
        self.storage = (
            RedisStateStorage(place, lease_life=LEASE_LIFE)
            if is_server
            else DiskCacheStateStorage(place)
        )
        self.asked = []
        specs = "{kind: LLMNode, name: chat}"
        self.agent = Agent(
            specs, llm=self._model, state_storage=self.storage, session_id=session_id, name="a"
        )

    async def _model(self, request):
        said = [m["content"] for m in request.messages if m["role"] == "user"]
        self.asked.append(said)
        return "seconded"

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.storage.close()

    async def step_when_free(self, text):
        """A turn as soon as no dead process has the session any more."""
        async with asyncio.timeout(20 * LEASE_LIFE):
            while True:
                try:
                    return await self.agent.step(text)
                except SessionConflict:
                    await asyncio.sleep(LEASE_LIFE / 10)


async def test_a_second_kernel_is_refused_before_its_model_is_asked(place, session_id):
    """It is told by whom, and what to do; when the first one has ended, it goes on from there."""
    async with _Second(place, session_id) as second, _Second(place, f"{session_id}2") as beside:
        with _in_a_turn(place, session_id) as first:
            for ask in (lambda: second.agent.step("too early"), second.agent.resume):
                with pytest.raises(SessionConflict) as caught:
                    await ask()
                assert re.match(
                    rf"session '{re.escape(session_id)}': process {first.pid} on '.+' \(since "
                    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\) is writing to it; nothing of this call was "
                    r"stored\. Wait until its turn has ended, stop it there \(.+\), or use another "
                    r"session_id\. ",
                    str(caught.value),
                )
            assert second.asked == []
            assert (await beside.agent.step("hello")).output == "seconded"
            await asyncio.sleep(
                2 * LEASE_LIFE
            )  # a lease that is renewed is not over after its life
            with pytest.raises(SessionConflict):
                await second.agent.step("still too early")
            assert _finish(first) == "answered\n"
        assert (await second.agent.step("from the second")).turn == 2
        assert second.asked == [["from the first", "from the second"]]


async def test_a_killed_holder_frees_the_session(place, session_id):
    """Its turn is open, and is resumed by whoever comes next."""
    async with _Second(place, session_id) as second:
        with _in_a_turn(place, session_id) as first:
            first.kill()
            first.wait()
            with pytest.raises(OpenTurn):
                await second.step_when_free("and now?")
        assert second.asked == []
        assert (await second.agent.resume()).output == "seconded"
        assert second.asked == [["from the first"]]


async def test_on_disk_a_paused_holder_keeps_the_session(tmp_path, session_id):
    """The second is told how to free it; the first goes on as if nothing had been."""
    place = str(tmp_path / "store")
    async with _Second(place, session_id) as second:
        with _in_a_turn(place, session_id) as first:
            first.send_signal(signal.SIGSTOP)
            with pytest.raises(SessionConflict) as caught:
                await second.agent.step("too early")
            assert (
                f"one that is paused keeps it, until it goes on (kill -CONT {first.pid}) or is "
                f"killed (kill -KILL {first.pid})" in str(caught.value)
            )
            first.send_signal(signal.SIGCONT)
            assert _finish(first) == "answered\n"
        assert second.asked == []
        assert (await second.agent.step("from the second")).turn == 2


@pytest.mark.redis
async def test_on_redis_the_lease_of_a_paused_holder_passes_on(redis_server, session_id):
    """When it goes on, its next commit is refused, and nothing of that is stored."""
    async with _Second(redis_server.url, session_id) as second:
        with _in_a_turn(redis_server.url, session_id) as first:
            first.send_signal(signal.SIGSTOP)
            with pytest.raises(SessionConflict, match=r"the session is free in [01]\.\d s"):
                await second.agent.step("too early")
            with pytest.raises(OpenTurn):
                await second.step_when_free("too early")
            await second.agent.abandon()
            assert (await second.agent.step("from the second")).turn == 2
            root = second.agent.last_result.execution_id
            stored = await second.storage.load_rows(str(root))
            first.send_signal(signal.SIGCONT)
            said = _finish(first)
        assert said.startswith("conflict: session ")
        assert "the lease of this turn passed on" in said
        assert "the input of this turn is stored, the result of the node run is not" in said
        assert await second.storage.load_rows(str(root)) == stored
        assert (await second.agent.step("once more")).turn == 3


async def test_many_processes_race_for_one_session(place, session_id, tmp_path):
    """One turn at a time, each with a number of its own, and every input is stored once."""
    processes = [_start(TURNS_IN_A_RACE, place, session_id, tmp_path / "busy") for _ in range(5)]
    turns = [int(word) for process in processes for word in _finish(process).split()]
    assert sorted(turns) == list(range(1, 26))
    async with _Second(place, session_id) as second:
        await second.agent.step("last")
    (said,) = second.asked
    assert sorted(said[:-1]) == sorted(f"{p.pid}.{n}" for p in processes for n in range(5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
async def test_a_forked_child_does_not_keep_its_dead_parents_lock(tmp_path, session_id):
    """As a worker that a tool started, and that outlives the kernel."""
    code = """
async def model(request):
    child = os.fork()
    if not child:
        sys.stdin.readline()
        os._exit(0)
    print(child, flush=True)
    await asyncio.Event().wait()
asyncio.run(agent(model).step("x"))
"""
    place = str(tmp_path / "store")
    parent = _start(code, place, session_id)
    child = int(await asyncio.to_thread(parent.stdout.readline))
    async with _Second(place, session_id) as second:
        with pytest.raises(SessionConflict, match=f"process {parent.pid} "):
            await second.agent.step("y")
        parent.kill()
        parent.wait()
        os.kill(child, 0)  # it lives
        with pytest.raises(OpenTurn):
            await second.agent.step("y")
    os.kill(child, signal.SIGKILL)
    parent.communicate()
