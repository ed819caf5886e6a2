"""An agent's session(), sessions() and explain(): which session, which storage, after a restart."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from four_methods import FourMethods

from liman_nb import (
    Agent,
    DiskCacheStateStorage,
    InMemoryStateStorage,
    RedisStateStorage,
    ScriptedLLM,
    StateStorage,
)
from liman_nb.errors import StorageError, UsageError
from liman_nb.state.storage import SessionInfo

SPECS = """
kind: LLMNode
name: solver
yields: {answer: number}
edges:
  - {target: checker, when: answer >= 0}
  - {target: person, when: answer > 100}
---
{kind: LLMNode, name: checker}
---
{kind: HumanNode, name: person, question: "Is {answer} right?", yields: {right: boolean}}
"""


class Files(StateStorage):
    """The four methods, on JSON files."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)

    async def save_actor_state(self, execution_id, actor_id, state):
        """Keep it."""
        (self.folder / f"{execution_id}.{actor_id}").write_text(json.dumps(state))

    async def load_actor_state(self, execution_id, actor_id):
        """Give it back."""
        return self._load(f"{execution_id}.{actor_id}")

    async def save_executor_state(self, execution_id, state):
        """Keep it."""
        (self.folder / execution_id).write_text(json.dumps(state))

    async def load_executor_state(self, execution_id):
        """Give it back."""
        return self._load(execution_id)

    def _load(self, name):
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None


def agent(storage, script=None, name="test", session_id="s", **more) -> Agent:
    """An agent on a storage."""
    script = script or {"solver": [{"answer": 4}, {"answer": 200}], "checker": ["fine", "big"]}
    return Agent(
        SPECS,
        llm=ScriptedLLM(script),
        state_storage=storage,
        name=name,
        session_id=session_id,
        start_node="solver",
        **more,
    )


async def talked(storage, **more) -> Agent:
    """Two turns, of which the second waits for a person."""
    one = agent(storage, **more)
    await one.step("2 + 2?")
    await one.step("100 + 100?")
    return one


# ── session() ────────────────────────────────────────────────────────────────────────────────────

STORAGES = {"disk": DiskCacheStateStorage, "four methods": Files}


@pytest.mark.parametrize("kind", STORAGES)
def test_after_a_restart_in_another_process_the_picture_is_the_same(kind, tmp_path):
    """With a journal, and with only Liman's four methods."""
    code = (
        "import asyncio, json, sys\n"
        "from test_session_readers import STORAGES, talked\n"
        "storage = STORAGES[sys.argv[1]](sys.argv[2])\n"
        "one = asyncio.run(talked(storage))\n"
        "told = [str(edge) for edge in one.explain('solver', turn=1)]\n"
        "print(json.dumps([one.session().to_dict(), told]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, kind, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    picture, told = json.loads(done.stdout)
    again = agent(STORAGES[kind](tmp_path / "store"))
    assert again.session().to_dict() == picture
    assert [str(edge) for edge in again.explain("solver", turn=1)] == told
    assert picture["turns"] == 2
    assert [y["yields"] for y in picture["yields"]] == [{"answer": 4}, {"answer": 200}]
    assert told[0] == "solver → checker fired: answer = 4 is at least 0"


async def test_any_session_of_the_agent_is_read_without_opening_it():
    """The opened one stays the opened one."""
    storage = InMemoryStateStorage()
    await talked(storage)
    two = agent(storage, session_id="t")
    assert two.session("s").turns == 2
    assert two.session().turns == 0
    assert two.session_id == "t"


async def test_records_expire_as_the_storage_says():
    """The conversation does not; nor does anything where no time is set."""
    begun = datetime(2026, 11, 30, tzinfo=UTC)
    views = []
    for storage in (InMemoryStateStorage(), InMemoryStateStorage(record_ttl=3600)):
        times = [begun]
        one = await talked(storage, clock=lambda now=times: now[-1])
        assert one.session().expired == {}
        times.append(begun + timedelta(hours=2))
        views.append(one.session())
    kept, view = views
    assert kept.expired == {}
    assert (len(view.conversation), view.yields, view.expired["yields"]) == (9, (), 2)
    assert view.record_ttl == 3600


async def test_a_storage_of_one_s_own_sets_the_time_as_an_attribute(monkeypatch):
    """One that is no number of seconds is refused with its name."""

    class Hour(FourMethods):
        record_ttl = 3600

    one = await talked(Hour())
    assert one.session().record_ttl == 3600
    Hour.record_ttl = "an hour"
    with pytest.raises(UsageError, match=r"record_ttl is a number of seconds .* not 'an hour'"):
        one.session()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "3600"])
@pytest.mark.parametrize(
    "make",
    [InMemoryStateStorage, DiskCacheStateStorage, RedisStateStorage],
    ids=lambda m: m.__name__,
)
def test_a_time_that_is_none_is_refused_by_the_storage(make, seconds):
    """When the object is made."""
    with pytest.raises(UsageError, match="record_ttl is a number of seconds"):
        make(record_ttl=seconds)


def test_the_times_are_those_of_the_page_on_redis_and_none_elsewhere():
    """An hour there; a notebook that is opened next month must still read."""
    assert RedisStateStorage().record_ttl == 3600
    assert RedisStateStorage(record_ttl=None).record_ttl is None
    assert InMemoryStateStorage().record_ttl is None
    assert DiskCacheStateStorage().record_ttl is None


# ── sessions() ───────────────────────────────────────────────────────────────────────────────────


async def test_the_sessions_are_listed_the_last_used_first_with_their_status():
    """Those of another agent in the same storage are marked, and not read."""
    storage = InMemoryStateStorage()
    one = await talked(storage)
    two = agent(storage, {"solver": [{"answer": -1}]}, session_id="t")
    await two.step("0 - 1?")
    await agent(storage, {"solver": [{"answer": -1}]}, "other", "o").step("x")
    found = one.sessions()
    assert {(r.session_id, r.is_own, r.status, r.questions, r.turns) for r in found} == {
        ("o", False, "", 0, 1),
        ("t", True, "completed", 0, 1),
        ("s", True, "suspended", 1, 2),
    }
    used = [row.used_at for row in found]
    assert used == sorted(used, reverse=True)
    assert found[-1].execution_id == str(one.last_result.execution_id)


async def test_the_list_is_paged():
    """Every session stands on one page."""
    storage = InMemoryStateStorage()
    for number in range(5):
        await agent(storage, {"solver": [{"answer": -1}]}, session_id=f"s{number}").step("x")
    one = agent(storage)
    pages = [one.sessions(page=number, per_page=2) for number in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    assert len({row.session_id for page in pages for row in page}) == 5
    assert {(page.pages, page.total) for page in pages} == {(3, 5)}


@pytest.mark.parametrize(
    "wrong", [{"page": 0}, {"page": "2"}, {"per_page": 0}, {"per_page": 1_001}]
)
def test_a_page_that_cannot_be_is_refused(wrong):
    """With what is possible."""
    with pytest.raises(UsageError, match="takes a page from 1 and 1 to 1,000 sessions"):
        agent(InMemoryStateStorage()).sessions(**wrong)


def test_looking_makes_no_store(tmp_path):
    """Nothing is written, not even a directory."""
    one = agent(DiskCacheStateStorage(tmp_path / "store"))
    assert len(one.sessions()) == 0
    assert one.session("nobody").turns == 0
    assert one.explain("solver").turn == 0
    assert list(tmp_path.iterdir()) == []


def test_a_storage_that_cannot_list_says_so():
    """It has only the four methods."""
    with pytest.raises(UsageError, match=r"does not implement list_sessions\(\)"):
        agent(FourMethods()).sessions()


async def test_a_session_that_cannot_be_read_spoils_no_other():
    """Its line says why. A storage's own list may come from a plain method, in any order."""

    class Listing(FourMethods):
        broken = ""

        def list_sessions(self):
            at = "2026-01-01T00:00:0{}Z"
            return [
                SessionInfo(
                    root=root, session_id=i, created_at=at.format(0), used_at=at.format(n), turns=2
                )
                for n, (i, root) in enumerate(self.roots.items())
            ]

        async def load_executor_state(self, execution_id):
            if execution_id == self.broken:
                raise StorageError("damaged")
            return await super().load_executor_state(execution_id)

    storage = Listing()
    one = await talked(storage)
    storage.roots = {"s": str(one.last_result.execution_id), "t": ""}
    storage.roots["t"] = storage.broken = one._workshop.sessions.root_of("t")
    first, second = one.sessions()
    assert (first.session_id, first.problem) == ("t", "StorageError: damaged")
    assert (second.session_id, second.status) == ("s", "suspended")


async def test_a_turn_under_way_in_this_kernel_is_shown_running():
    """What runs is not stored."""
    seen = []

    def reply(request):
        seen.extend(one.sessions())
        return '{"answer": -1}'

    one = Agent(
        "{kind: LLMNode, name: solver, yields: {answer: number}}",
        llm=reply,
        state_storage=InMemoryStateStorage(),
        session_id="s",
    )
    await one.step("x")
    assert [(row.status, row.shown) for row in seen] == [("running", "running")]


# ── explain() ────────────────────────────────────────────────────────────────────────────────────


async def test_explain_takes_the_node_or_the_session_and_the_node():
    """The session's id stands first; either may be given by name."""
    storage = InMemoryStateStorage()
    one = await talked(storage)
    other = agent(storage, session_id="t")
    wanted = str(one.explain("solver"))
    assert "with values 200 >= 0" in wanted
    assert str(one.explain(node="solver")) == wanted
    assert str(other.explain("s", "solver")) == wanted
    assert str(other.explain("s", node="solver")) == wanted
    assert str(other.explain("solver", session_id="s")) == wanted
    assert str(other.explain(session_id="s", node="solver", turn=2)) == wanted
    assert other.explain("solver").turn == 0


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        ((), {}, r"explain\(node\)"),
        (("a", "b", "solver"), {}, r"explain\(node\)"),
        (("s", "solver"), {"session_id": "s"}, r"explain\(node\)"),
        (("solvr",), {}, "there is no node 'solvr'; did you mean 'solver'"),
        (("solver",), {"turn": 3}, "session 's' has no turn 3; its turns: 1 to 2"),
        (("solver",), {"turn": "1"}, "session 's' has no turn '1'; its turns: 1 to 2"),
        (("t", "solver"), {"turn": 1}, "session 't' has no turn 1; its turns: none"),
    ],
)
async def test_what_cannot_be_explained_is_refused(names, more, message):
    """With the ways to call it, the nearest name, or the turns that there are."""
    one = await talked(InMemoryStateStorage())
    with pytest.raises(UsageError, match=message):
        one.explain(*names, **more)


async def test_a_node_that_the_specs_have_lost_is_still_explained():
    """The session remembers what it decided."""
    storage = InMemoryStateStorage()
    await talked(storage)
    later = Agent(
        "{kind: LLMNode, name: chat}", llm=[], state_storage=storage, name="test", session_id="s"
    )
    assert [edge.outcome for edge in later.explain("solver")] == ["fired", "fired"]
