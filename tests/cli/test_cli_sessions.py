"""`liman-nb sessions`: what is stored is looked at, moved and deleted from a terminal."""

from __future__ import annotations

import asyncio
import io
import json
import re
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from commands_run import run_in_process, start

from liman_nb import Agent, DiskCacheStateStorage
from liman_nb.errors import TurnFailed
from liman_nb.state.storage import Commit, Touched

SPECS = "{kind: LLMNode, name: chat}"


async def _talk(name, session, *texts, replies=None, store=".liman_nb"):
    storage = DiskCacheStateStorage(store)
    llm = list(replies or [f"echo of {text}" for text in texts])
    agent = Agent(SPECS, llm=llm, name=name, session_id=session, state_storage=storage)
    try:
        for text in texts:
            await agent.step(text)
    except TurnFailed:
        pass
    finally:
        await storage.close()
    return str(agent.last_result.execution_id)


@pytest.fixture
def talk(_alone):
    """Holds a conversation in a store, and gives the root's id."""
    return lambda *arguments, **more: asyncio.run(_talk(*arguments, **more))


async def _rows(root, store=".liman_nb"):
    storage = DiskCacheStateStorage(store)
    rows = await storage.load_rows(root)
    lines = [line for line in await storage.list_sessions() if line.root == root]
    await storage.close()
    return rows, lines


# ── list ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_list_of_sessions(run, talk):
    """The last used first, in columns, also with wide letters."""
    first = talk("a", "日本", "hi", "again")
    second = talk("a", "alice", "hi", replies=[ValueError("no")])
    done = run("sessions", "list")
    assert (done.status, done.err) == (0, "")
    head, *rows = done.out.splitlines()
    assert head.split() == ["session", "root", "turns", "status", "last", "used"]
    assert [row.split()[:4] for row in rows] == [
        ["alice", second[:8], "1", "failed"],
        ["日本", first[:8], "2", "completed"],
    ]
    assert rows[0].index(second[:8]) == head.index("root") == rows[1].index(first[:8]) + 2


def test_the_store_is_the_one_that_agents_take(run, talk, monkeypatch, tmp_path):
    """What the environment says, unless the command names another one."""
    talk("a", "alice", "hi", store=str(tmp_path / "elsewhere"))
    assert run("sessions", "list").out.startswith("no sessions")
    monkeypatch.setenv("LIMAN_NB_DIR", str(tmp_path / "elsewhere"))
    assert "alice" in run("sessions", "list").out
    assert run("sessions", "list", "--store", ".liman_nb").out.startswith("no sessions")
    refused = run("sessions", "list", "--agency", "bank")
    assert "--agency is for a Redis server" in refused.err
    monkeypatch.setenv("LIMAN_NB_STORE", "redis")
    monkeypatch.setenv("REDIS_PORT", "1")
    assert "redis://localhost:1/0: it does not answer" in run("sessions", "list").err
    monkeypatch.setenv("LIMAN_NB_STORE", "memory")
    assert "name a store: --store DIRECTORY" in run("sessions", "list").err


def test_a_list_for_programs(run, talk):
    """Whole ids, in JSON."""
    root = talk("a", "alice", "hi")
    (known,) = json.loads(run("sessions", "list", "--json").out)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", known.pop("used_at"))
    assert known.pop("created_at")
    assert known == {"root": root, "session_id": "alice", "turns": 1, "status": "completed"}


def test_a_store_that_is_not_there(run, tmp_path):
    """Looking at one never makes it."""
    done = run("sessions", "list", "--store", "none")
    assert (done.status, done.out) == (0, "no sessions in DiskCacheStateStorage('none')\n")
    assert run("sessions", "list", "--store", "none", "--json").out == "[]\n"
    assert run("sessions", "show", "alice").status == 1
    assert run("sessions", "prune", "--older-than", "1d").out.count("deleted 0") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_cannot_be_read_is_listed(run, talk):
    """The others are, too; opening it says what is wrong."""
    root = talk("a", "broken", "hi")
    talk("a", "fine", "hi")

    async def damage():
        storage = DiskCacheStateStorage()
        await storage._append(Commit(root, 2, (), Touched, open=True), [b"{}"], [])
        await storage.close()

    asyncio.run(damage())
    done = run("sessions", "list")
    statuses = {line.split()[0]: line.split()[3] for line in done.out.splitlines()[1:]}
    assert statuses == {"broken": "unreadable", "fine": "completed"}
    assert run("sessions", "show", "broken").err.startswith(f"error: row 2 of session {root}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--store", "http://localhost"), "--store: it begins with none of redis://"),
        (("--store", "redis://h:x"), "the url of a Redis server cannot be used"),
        (("--agency", "acme"), "--agency is for a Redis server"),
        (("--store", "redis://:canary@127.0.0.1:1"), r"redis://127.0.0.1:1/0: it does not answer"),
    ],
)
def test_a_store_that_is_none(run, options, said):
    """One sentence, without a password."""
    done = run("sessions", "list", *options)
    assert (done.status, done.out) == (1, "")
    assert re.match(f"error: {said}", done.err)
    assert done.err.count("\n") == 1
    assert "canary" not in done.err


# ── show ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_is_shown(run, talk):
    """Its facts, and the tree as `agent.tree()` prints it."""
    root = talk("a", "alice", "hi", "again")
    done = run("sessions", "show", "alice")
    assert (done.status, done.err) == (0, "")
    facts, _, tree = done.out.partition("\n\n")
    assert facts.splitlines()[:3] == ["session: alice", "status: completed", "turns: 2"]
    storage = DiskCacheStateStorage()
    agent = Agent(SPECS, llm=[], name="a", session_id="alice", state_storage=storage)
    assert tree == f"{agent.tree()}\n"
    assert tree.startswith(f"Root Executor ({root}) - COMPLETED")
    asyncio.run(storage.close())


def test_the_messages_of_a_node(run, talk):
    """As `agent.messages()` prints them; a name that is wrong gets the nearest one."""
    talk("a", "alice", "hi")
    done = run("sessions", "show", "alice", "--messages", "chat")
    assert done.out == "Messages of chat (2)\nuser: hi\nassistant: echo of hi\n"
    done = run("sessions", "show", "alice", "--messages", "chit")
    assert (done.status, done.out) == (1, "")
    assert done.err == ("error: no node 'chit' ran in session 'alice'; did you mean 'chat'?\n")


@pytest.mark.parametrize("wanted", [lambda root: root, lambda root: root[:6], lambda root: "ali"])
def test_a_session_is_known_by_a_part_of_its_id(run, talk, wanted):
    """Of the root's or of its own, as long as no other begins so."""
    root = talk("a", "alice", "hi")
    talk("a", "bob", "hi")
    assert run("sessions", "show", wanted(root)).out.startswith("session: alice\n")


def test_two_agents_with_a_session_of_the_same_id(run, talk):
    """The root's id says which one is meant."""
    first, second = talk("a", "alice", "hi"), talk("b", "alice", "hi")
    done = run("sessions", "show", "alice")
    assert (done.status, done.out) == (1, "")
    head, *listed = done.err.splitlines()
    assert head == (
        "error: 2 sessions have this session id, of different agents: give the root id of one"
    )
    assert listed == [f"  {second}  alice", f"  {first}  alice"]
    assert first in run("sessions", "show", first).out


def test_a_whole_id_goes_before_a_part(run, talk):
    """Otherwise `a` could not be named beside `ab`; and an empty text is no part of all."""
    talk("a", "a", "hi")
    talk("a", "ab", "hi")
    assert run("sessions", "show", "a").out.startswith("session: a\n")
    done = run("sessions", "show", "")
    assert done.err.startswith("error: no session '' in DiskCacheStateStorage('.liman_nb')")


def test_several_sessions_begin_so(run, talk):
    """They are listed."""
    roots = {talk("a", f"alice{number}", "hi") for number in range(3)}
    done = run("sessions", "show", "alice")
    assert done.err.startswith("error: 3 sessions begin so: give the root id of one\n")
    assert {line.split()[0] for line in done.err.splitlines()[1:]} == roots


def test_nothing_that_was_said_commands_the_terminal(run, talk):
    """Control and hidden characters are written out."""
    talk("a", "s\x1b[31m\u202e", "\x1b]0;title\x07", replies=["\x9b31m"])
    out = run("sessions", "list").out + run("sessions", "show", "s").out
    out += run("sessions", "show", "s", "--messages", "chat").out
    out += run("sessions", "export", "s").out
    out += run("sessions", "delete", "s", "--yes").out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out)
    assert "⟨U+001B⟩" in out


# ── export and import ────────────────────────────────────────────────────────────────────────────


def test_a_session_goes_into_another_store(run, talk, tmp_path):
    """By a file that only its owner may read; there it is the same session."""
    root = talk("a", "alice", "hi", "again")
    done = run("sessions", "export", "alice", "alice.jsonl")
    assert (done.status, done.out) == (0, "wrote session 'alice' to alice.jsonl\n")
    assert (tmp_path / "alice.jsonl").stat().st_mode & 0o777 == 0o600
    done = run("sessions", "import", "alice.jsonl", "--store", "other")
    assert done.out == f"imported session 'alice' ({root}): 4 of 4 rows were new\n"
    assert asyncio.run(_rows(root)) == asyncio.run(_rows(root, "other"))
    talk("a", "alice", "goes on there", store="other")
    done = run("sessions", "show", "alice", "--store", "other", "--messages", "chat")
    assert "user: hi\n" in done.out
    assert "user: goes on there\n" in done.out


def test_a_session_goes_through_a_pipe(talk):
    """Two processes, and letters of every kind."""
    root = talk("a", "älice \x7f 日本", "\u2028\r\n\x85 👩‍🔬", replies=["\x0b\x1c"])
    with start("sessions", "export", root[:10]) as source:
        taking = ("sessions", "import", "-", "--store", "other")
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "liman_nb", *taking],
            stdin=source.stdout,
            capture_output=True,
            check=False,
            env={"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONIOENCODING": "ascii"},
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert asyncio.run(_rows(root)) == asyncio.run(_rows(root, "other"))


def test_what_is_there_is_not_overwritten(run, talk, tmp_path):
    """Neither a file nor a session."""
    talk("a", "alice", "hi")
    (tmp_path / "file").write_text("mine")
    done = run("sessions", "export", "alice", "file")
    assert (done.status, done.err) == (
        1,
        "error: file is there already: give another name, or remove it\n",
    )
    assert (tmp_path / "file").read_text() == "mine"
    run("sessions", "export", "alice", "old.jsonl")
    assert run("sessions", "import", "old.jsonl").out.endswith(": it was there already\n")
    talk("a", "alice", "later")
    done = run("sessions", "import", "old.jsonl")
    assert done.status == 1
    assert "with another content (4 rows, 2 in what is imported)" in done.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "file.jsonl cannot be read: No such file"),
        (b"", "there is nothing to import"),
        (b"\xff\n", "file.jsonl is no text in UTF-8"),
        (b"hello\n", "line 1 is no JSON"),
    ],
)
def test_a_file_that_is_no_session(run, tmp_path, content, said):
    """One sentence, and no store is made for it."""
    if content is not None:
        (tmp_path / "file.jsonl").write_bytes(content)
    done = run("sessions", "import", "file.jsonl")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"error: {said}")
    assert not (tmp_path / ".liman_nb").exists()


# ── delete and prune ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_deleting_asks(run, talk, monkeypatch, answer, status):
    """Whatever is no yes deletes nothing."""
    root = talk("a", "alice", "hi")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(answer.encode())))
    done = run("sessions", "delete", "alice")
    assert done.status == status
    said = "nothing was deleted\n" if status else ""
    assert done.err == f"Delete session 'alice' ({root}, 1 turn)? [y/N] {said}"
    assert done.out == ("" if status else f"deleted session 'alice' ({root})\n")
    assert bool(asyncio.run(_rows(root))[0]) == bool(status)


def test_a_secure_deletion_leaves_no_byte(talk, tmp_path):
    """In none of the store's files."""
    talk("a", "alice", "canary-text " * 500)
    talk("a", "bob", "hi")
    done = run_in_process("sessions", "delete", "alice", "--secure", "--yes")
    assert (done.status, done.err) == (0, "")
    files = [path.read_bytes() for path in (tmp_path / ".liman_nb").iterdir()]
    assert not any(b"canary" in data or b"alice" in data for data in files)
    assert run_in_process("sessions", "show", "bob").status == 0


def test_pruning_deletes_what_expired(run, talk):
    """Also though the command has no time-to-live of its own; the rest is kept."""
    kept = talk("a", "kept", "hi")

    async def expire():
        storage = DiskCacheStateStorage(session_ttl=1, clock=lambda: 1e9)
        agent = Agent(SPECS, llm=["hello"], session_id="expired", state_storage=storage)
        await agent.step("hi")
        await storage.close()

    asyncio.run(expire())
    assert [line.split()[0] for line in run("sessions", "list").out.splitlines()[1:]] == ["kept"]
    assert run("sessions", "prune").out == "deleted 1 expired session\n"
    assert run("sessions", "prune").out == "deleted 0 expired sessions\n"
    assert asyncio.run(_rows(kept))[0]


def _age(root, used_at):
    """Rewrites when a session was last used."""

    async def rewrite():
        storage = DiskCacheStateStorage()

        def work(table):
            line = table._line(root)
            table._put_line(line.model_copy(update={"used_at": used_at}))

        await storage._do(work)
        await storage.close()

    asyncio.run(rewrite())


def test_pruning_what_is_unused_asks(run, talk, monkeypatch):
    """Sessions whose last turn ended long ago; one with an open turn stays."""
    old, new, still_open = talk("a", "old", "hi"), talk("a", "new", "hi"), talk("a", "open", "hi")

    async def begin():
        storage = DiskCacheStateStorage()
        rows = await storage.load_rows(still_open)
        turn = rows[0].model_copy(update={"turn": 2})
        await storage.commit(Commit(still_open, 2, (turn,), Touched, open=True))
        await storage.close()

    asyncio.run(begin())
    for root in (old, still_open):
        _age(root, "2020-01-01T00:00:00.000Z")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"n\n")))
    done = run("sessions", "prune", "--older-than", "30d")
    assert done.status == 1
    assert done.err == f"  {old}\nDelete 1 unused session? [y/N] nothing was deleted\n"
    assert asyncio.run(_rows(old))[0]
    done = run("sessions", "prune", "--older-than", "30d", "--yes")
    assert (done.status, done.out) == (0, "deleted 0 expired sessions\ndeleted 1 unused session\n")
    assert [bool(asyncio.run(_rows(root))[0]) for root in (old, new, still_open)] == [
        False,
        True,
        True,
    ]


@contextmanager
def _in_use(root):
    """Somebody has the session's lease meanwhile."""
    storage = DiskCacheStateStorage()
    with closing(asyncio.new_event_loop()) as loop:
        lease = loop.run_until_complete(storage.lease(root, "alice"))
        yield
        loop.run_until_complete(lease.release())
        loop.run_until_complete(storage.close())


def test_a_session_in_use_is_neither_deleted_nor_pruned(run, talk):
    """To delete it is refused by name; what is unused beside it is pruned."""
    busy, unused = talk("a", "alice", "hi"), talk("a", "bob", "hi")
    for root in (busy, unused):
        _age(root, "2020-01-01T00:00:00.000Z")
    with _in_use(busy):
        done = run("sessions", "delete", "alice", "--yes")
        assert (done.status, done.out) == (1, "")
        assert f"nothing was deleted: session '{busy}': another" in done.err
        done = run("sessions", "prune", "--older-than", "30d", "--yes")
        assert done.out == "deleted 0 expired sessions\ndeleted 1 unused session\n"
    assert [bool(asyncio.run(_rows(root))[0]) for root in (busy, unused)] == [True, False]


@pytest.mark.parametrize("text", ["30", "d", "-1d", "1.5h", "1y", "999999d", "1d "])
def test_a_time_that_is_none(run, text):
    """One sentence, before anything is looked at."""
    done = run("sessions", "prune", "--older-than", text)
    assert done.status in (1, 2)
    assert done.status == 2 or "give a number with s, m, h, d or w, such as 30d" in done.err


def test_help_loads_no_heavy_library():
    """And names every command and the default store."""
    done = run_in_process("sessions", "--help")
    assert re.findall(r"^  (\w+)  ", done.out, re.MULTILINE)[-6:] == [
        "list",
        "show",
        "export",
        "import",
        "delete",
        "prune",
    ]
    assert ".liman_nb" in run_in_process("sessions", "list", "--help").out
    code = (
        "import sys, liman_nb.cli.sessions; "
        "print([m for m in ('openai', 'diskcache', 'redis', 'networkx') if m in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "[]\n"
