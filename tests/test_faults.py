"""Faults, and what a person sees of each: `faults.md` is the table, and these tests are its rows.

``python tests/test_faults.py`` prints the table anew.
"""

import asyncio
import os
import re
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from liman_nb import (
    Agent,
    Bounds,
    DiskCacheStateStorage,
    RedisStateStorage,
    ScriptedLLM,
    Suspend,
)
from liman_nb.errors import LimanError

TABLE = Path(__file__).with_name("faults.md")

CHAT = "{kind: LLMNode, name: chat, tools: [look]}\n---\n{kind: ToolNode, name: look}"
DESK = "{kind: HumanNode, name: desk, question: Pay?, yields: {agreed: boolean}, timeout: 60}"

Provoke = Callable[[Path], Awaitable[object]]
FAULTS: dict[str, Provoke] = {}


def fault(name: str) -> Callable[[Provoke], Provoke]:
    """A row of the table: what happens, provoked in a directory of its own."""

    def add(provoke: Provoke) -> Provoke:
        FAULTS[name] = provoke
        return provoke

    return add


def look(call_id: str) -> str:
    """Look."""
    return "seen"


def chat(directory: Path, *replies: object, specs: str = CHAT, **more: object) -> Agent:
    """An agent whose sessions are kept in the directory."""
    more.setdefault("functions", [look])
    more.setdefault("state_storage", DiskCacheStateStorage(directory / "store", timeout=0.2))
    model = ScriptedLLM(list(replies) or ["hello"])
    return Agent(specs, llm=model, name="n", session_id="alice", **more)


def desk(directory: Path, **more: object) -> Agent:
    """An agent that asks a person."""
    return chat(directory, specs=DESK, **more)


async def killed(directory: Path, **more: object) -> None:
    """A process that ends in the middle of a turn."""
    script = f"""
import asyncio, os
from liman_nb import Agent, DiskCacheStateStorage
agent = Agent({CHAT!r}, llm=lambda request: os._exit(9), functions={{"look": lambda: "seen"}},
              state_storage=DiskCacheStateStorage({str(directory / "store")!r}),
              name="n", session_id="alice")
asyncio.run(agent.step("hi", **{more!r}))
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    assert await process.wait() == 9


# ── open turns ───────────────────────────────────────────────────────────────────────────────────


@fault("the process was killed in the middle of a turn, then `step`")
async def _(directory):
    await killed(directory)
    await chat(directory).step("hi")


@fault("that turn had a context, then `resume` without it")
async def _(directory):
    await killed(directory, context={"user": "u-1"})
    await chat(directory).resume()


@fault("the specs changed since, then `resume`")
async def _(directory):
    await killed(directory)
    await chat(directory, specs=CHAT.replace("chat, tools", "chat, temperature: 0, tools")).resume()


@fault("a person is asked, then `step`")
async def _(directory):
    agent = desk(directory)
    await agent.step({"sum": 3})
    await agent.step({"sum": 4})


@fault("an answer that does not fit")
async def _(directory):
    agent = desk(directory)
    await agent.step({"sum": 3})
    await agent.resume("maybe")


@fault("an answer after the deadline")
async def _(directory):
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    agent = desk(directory, clock=lambda: now[0])
    await agent.step({"sum": 3})
    now[0] += timedelta(hours=1)
    await agent.resume(True)


@fault("nobody answered in time, and there is no fallback")
async def _(directory):
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    agent = desk(directory, clock=lambda: now[0])
    await agent.step({"sum": 3})
    now[0] += timedelta(hours=1)
    await agent.resume()


@fault("`resume` where no turn is open")
async def _(directory):
    agent = chat(directory)
    await agent.step("hi")
    await agent.resume()


# ── two writers ──────────────────────────────────────────────────────────────────────────────────


@fault("another kernel has a turn in the session")
async def _(directory):
    begun, over = asyncio.Event(), asyncio.Event()

    async def slow(request):
        begun.set()
        await over.wait()
        return "late"

    first = Agent(
        CHAT,
        llm=slow,
        functions=[look],
        state_storage=DiskCacheStateStorage(directory / "store"),
        name="n",
        session_id="alice",
    )
    turn = asyncio.create_task(first.step("hi"))
    await begun.wait()
    try:
        await chat(directory).step("hi")
    finally:
        over.set()
        await turn


# ── the store ────────────────────────────────────────────────────────────────────────────────────


async def stored(directory: Path) -> Path:
    """A database with a session in it, which nobody has open."""
    agent = chat(directory)
    await agent.step("hi")
    await agent.state_storage.close()
    return directory / "store" / "cache.db"


@fault("the database was cut short")
async def _(directory):
    database = await stored(directory)
    os.truncate(database, 5000)
    await chat(directory).step("hi")


@fault("the database is of a newer version")
async def _(directory):
    with sqlite3.connect(await stored(directory)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    await chat(directory).step("hi")


@fault("somebody put a pickle into the database")
async def _(directory):
    with sqlite3.connect(await stored(directory)) as connection:
        connection.execute("UPDATE Cache SET mode = 4")
    connection.close()
    await chat(directory).step("hi")


@fault("another process holds the database")
async def _(directory):
    connection = sqlite3.connect(await stored(directory), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        await chat(directory).step("hi")
    finally:
        connection.close()


@fault("the directory is a file")
async def _(directory):
    (directory / "store").write_text("")
    await chat(directory).step("hi")


@fault("there is no Redis server")
async def _(directory):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    storage = RedisStateStorage(f"redis://127.0.0.1:{port}/0", timeout=0.2)
    await chat(directory, state_storage=storage).step("hi")


@fault("what is loaded is no session")
async def _(directory):
    chat(directory).load("{}")


# ── values, nodes, bounds ────────────────────────────────────────────────────────────────────────


@fault("an input that JSON cannot hold")
async def _(directory):
    await chat(directory).step({"picture": b"\x89PNG"})


@fault("a function's result that JSON cannot hold")
async def _(directory):
    specs = "{kind: FunctionNode, name: score}"
    await chat(directory, specs=specs, functions={"score": lambda: float("nan")}).step("hi")


@fault("a function fails, and nothing reacts to it")
async def _(directory):
    specs = "{kind: FunctionNode, name: score}"
    await chat(directory, specs=specs, functions={"score": lambda: 1 / 0}).step("hi")


@fault("a turn that goes round and round")
async def _(directory):
    specs = "{kind: FunctionNode, name: again, edges: [again]}"
    bounds = Bounds(node_runs=5)
    functions = {"again": lambda text: text}
    await chat(directory, specs=specs, functions=functions, bounds=bounds).step("hi")


@fault("a function asks with a schema that is none")
async def _(directory):
    def score():
        raise Suspend("how many?", schema={"type": "numbr"})

    specs = "{kind: FunctionNode, name: score}"
    await chat(directory, specs=specs, functions={"score": score}).step("hi")


@fault("a fork of more turns than there are")
async def _(directory):
    agent = chat(directory)
    await agent.step("hi")
    agent.fork(at_turn=7)


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def rows() -> dict[str, str]:
    """The table as it is written: what happens, what a person sees."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return dict(cells[1:])


def seen(provoke: Provoke) -> str:
    """The error of a fault, without what differs from machine to machine."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            asyncio.run(provoke(Path(directory)))
        except LimanError as error:
            text = f"`{type(error).__name__}` {error}"
        else:
            text = "nothing"
    text = text.replace(directory, "…").replace(socket.gethostname(), "HOST")
    text = text.replace(str(Path(__file__).parent), "tests").replace("|", "\\|")
    for pattern, word in (
        (r"process,? \d+|ps -p \d+", lambda m: re.sub(r"\d+", "N", m[0])),
        (r"127\.0\.0\.1(:|', )\d+", lambda m: f"127.0.0.1{m[1]}PORT"),
        (r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z| UTC)?", lambda m: "TIME"),
        (r"test_faults\.py:\d+", lambda m: "test_faults.py:N"),
        (r"\s+", lambda m: " "),
    ):
        text = re.sub(pattern, word, text)
    return text


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_person_sees_of_a_fault(name):
    """One clear error: what happened, where, and what to do next."""
    assert seen(FAULTS[name]) == rows()[name]


def test_every_row_of_the_table_is_provoked():
    """And every fault has its row."""
    assert list(rows()) == list(FAULTS)


if __name__ == "__main__":
    print("# Faults, and what a person sees\n\n| what happens | what is seen |\n|---|---|")  # noqa: T201
    for row, maker in FAULTS.items():
        print(f"| {row} | {seen(maker)} |")  # noqa: T201
