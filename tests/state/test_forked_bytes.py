"""Forks and exports leave what is stored as it is: compared byte by byte in every storage."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from liman_nb import Agent, DiskCacheStateStorage, InMemoryStateStorage, RedisStateStorage, call
from liman_nb.errors import StorageError, UsageError
from liman_nb.state.rows import dump_row

SPECS = """
{kind: LLMNode, name: chat, tools: [add], edges: [person]}
---
{kind: ToolNode, name: add}
---
{kind: HumanNode, name: person, question: Well?}
"""


def add(a: int) -> int:
    """Adds."""
    return a + 1


def agent_on(storage, **options) -> Agent:
    """An agent whose turns call a tool, then ask a person."""
    replies = [reply for n in range(4) for reply in ([call("add", a=n)], f"said {n}")]
    options = {"name": "a", "session_id": "s", **options}
    return Agent(SPECS, llm=replies, tools=[add], state_storage=storage, **options)


async def talk(agent: Agent) -> None:
    """Two turns, the second one waiting for a person."""
    await agent.step("one")
    await agent.resume("yes")
    await agent.step("two")


@pytest.fixture(params=["memory", "disk", pytest.param("redis", marks=pytest.mark.redis)])
async def storage(request, tmp_path):
    """Each of the built-in storages."""
    match request.param:
        case "memory":
            made = InMemoryStateStorage()
        case "disk":
            made = DiskCacheStateStorage(tmp_path)
        case _:
            server = request.getfixturevalue("redis_server")
            made = RedisStateStorage(server.url, agency=str(uuid4()))
    yield made
    await made.close()


async def kept(storage, root: str) -> tuple:
    """The rows of a session, as bytes, and its line in the list."""
    lines = [line for line in await storage.list_sessions() if line.root == root]
    return [dump_row(row) for row in await storage.peek_rows(root)], lines


async def test_a_fork_and_a_retried_turn_change_no_byte_of_their_parent(storage):
    """Whatever turn they begin after, and whatever becomes of them."""
    agent = agent_on(storage)
    await talk(agent)
    (line,) = await storage.list_sessions()
    before = await kept(storage, line.root)

    for turns in (None, 2, 1, 0):
        agent.fork("s", at_turn=turns)
        if turns in (None, 2):
            await agent.resume("no")
    await agent.retry_turn("s")
    agent.history("s"), agent.dump("s")

    assert await kept(storage, line.root) == before
    assert agent.pending(session_id="s")[0].text == "Well?"
    assert len(await storage.list_sessions()) == 1 + 3 + 1  # the fork without turns is not stored


async def test_a_fork_is_one_commit(storage, monkeypatch):
    """All of it or nothing."""
    agent = agent_on(storage)
    await talk(agent)
    commits, commit = [], type(storage).commit

    async def counted(self, one):
        commits.append(len(one.rows))
        await commit(self, one)

    monkeypatch.setattr(type(storage), "commit", counted)
    agent.fork()
    assert commits == [len(agent.dump().splitlines()) - 1]


async def test_a_dumped_session_is_the_same_elsewhere(storage):
    """Byte by byte, in a storage of another kind, and it goes on there."""
    await talk(agent := agent_on(storage))
    text = agent.dump()
    elsewhere = agent_on(InMemoryStateStorage(), session_id=None)

    assert elsewhere.load(text) == "s" == elsewhere.session_id
    assert elsewhere.dump() == text
    assert repr(elsewhere.tree()) == repr(agent.tree())
    assert (await elsewhere.resume("fine")).output == "fine"
    assert agent.dump() == text


async def test_a_fork_keeps_its_lineage_elsewhere(storage):
    """The parent need not be there."""
    await talk(agent := agent_on(storage))
    agent.fork(at_turn=1, new_session_id="f")
    elsewhere = agent_on(InMemoryStateStorage())
    elsewhere.load(agent.dump())
    assert elsewhere.history().lineage == "forked from s after turn 1"


async def test_an_agent_of_another_name_gets_a_session_of_its_own(storage):
    """The same turns under other ids; it knows them by the same session id."""
    await talk(agent := agent_on(storage))
    other = agent_on(storage, name="b", session_id=None)
    assert other.load(agent.dump()) == "s"

    (ours, theirs) = (json.loads(a.dump().splitlines()[0])["root"] for a in (agent, other))
    assert ours != theirs
    assert ours not in other.dump()
    assert [m["content"] for m in other.messages("chat")] == [
        m["content"] for m in agent.messages("chat")
    ]
    assert (await other.resume("fine")).output == "fine"
    assert agent.pending()[0].text == "Well?"
    back = agent_on(InMemoryStateStorage())
    back.load(agent_on(storage, name="b").dump())
    back_rows = back.dump().splitlines()[: len(agent.dump().splitlines())]
    assert back_rows[1:] == agent.dump().splitlines()[1:]


async def test_a_session_that_is_open_shows_what_was_loaded(storage):
    """Also where the object had an earlier state of it, or none."""
    agent = agent_on(storage)
    await agent.step("one")
    early = agent.dump()
    await agent.resume("yes")
    other = agent_on(InMemoryStateStorage())
    assert len(other.history()) == 0
    other.load(early)
    assert other.pending()[0].text == "Well?"
    other.load(agent.dump())
    assert (list(other.pending()), other.history()[0].status) == ([], "completed")
    with pytest.raises(UsageError, match="with another content"):
        other.load(early)


def damaged(text: str) -> list[tuple[str, str]]:
    """Texts that are no session, and what is said about them."""
    header, *rows = text.splitlines()
    unknown = json.loads(rows[1]) | {"executor": str(uuid4())}
    join = {"fork": str(uuid4()), "run": 1, "node": "x", "node_type": "FunctionNode"}
    forged = json.loads(rows[1]) | {"joins": [join]}
    return [
        ("", "nothing to import"),
        ("hello", "line 1 is no JSON"),
        ("\n".join([header, *rows[:-1]]), "rows follow"),
        ("\n".join([header, rows[0], json.dumps(unknown), *rows[2:]]), "could not run then"),
        ("\n".join([header, rows[0], json.dumps(forged), *rows[2:]]), "is not there"),
        ("\n".join([header, *rows[1:], rows[0]]), "begins with a turn"),
        ("\n".join([header, *rows[:-1], '{"kind": "run"}']), "is no row of a session"),
    ]


@pytest.mark.parametrize("name", ["a", "b"])
async def test_nothing_is_written_of_what_is_no_session(tmp_path, name):
    """Whether the agent has the same name or not."""
    await talk(agent := agent_on(InMemoryStateStorage()))
    target = DiskCacheStateStorage(tmp_path / "store")
    other = agent_on(target, name=name, session_id="mine")
    for text, reason in damaged(agent.dump()):
        with pytest.raises((UsageError, StorageError), match=reason):
            other.load(text)
    with pytest.raises(UsageError, match="load takes the text"):
        other.load(b"bytes")
    assert await target.list_sessions() == []
    assert other.session_id == "mine"
    await target.close()
