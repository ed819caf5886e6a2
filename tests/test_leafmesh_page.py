"""What LeafMesh's page on sessions prints, with an `Agent` as its `leafmesh`, and what it promises.

Source: "Session & State Management" in LeafMesh's documentation. The page's "Redis" is a real one.
Its Studio and its REST API are theirs; `agent.session()` and `agent.sessions()` stand for both.
"""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from textwrap import dedent

import pytest
from redis_server import RedisServer, keys_of, storage_on

from liman_nb import Agent, InMemoryStateStorage, RedisStateStorage, ScriptedLLM, call
from liman_nb.errors import SpecError, TurnFailed
from liman_nb.settings import VARIABLES

ENV = """
# .env
LEAFMESH_AGENCY_NAME=my-agency
LEAFMESH_STORE=redis
REDIS_HOST=localhost
REDIS_PORT=6379
REDIS_DB=0
# 1 hour for general data
REDIS_DEFAULT_TTL=3600
# 7 days for sessions (the default)
REDIS_SESSION_TTL=604800
"""

SPECS = """
agents:
  # Step 1: Solver stores its yields automatically
  solver:
    name: "solver"
    model: "gpt-4o-mini"
    yields:
      answer: "number"
      steps: "array"
    can_call:
      - agent: "checker"
        condition: "answer >= 0"

  # Step 2: Checker receives solver's yields as input_data
  checker:
    name: "checker"
    model: "gpt-4o-mini"
    yields:
      is_correct: "boolean"
      explanation: "string"
"""


async def stateful_agent(llm_response, input_data, context):
    """Access session state within an intelligence function"""  # noqa: D415 - as printed
    session_id = context.get("session_id", "default")  # noqa: F841 - as printed
    yields = context.get("yields", {})
    return {"answer": llm_response.get("answer", ""), "has_history": len(yields) > 0}


async def checker(llm_response, input_data, context):
    """As on the page."""
    # input_data contains the solver's yields
    claimed_answer = input_data.get("answer")  # From solver
    steps = input_data.get("steps", [])  # noqa: F841 - From solver; as printed

    # Verify independently
    return {"is_correct": True, "explanation": f"Verified answer: {claimed_answer}"}


FIRST = {"answer": 4, "steps": ["2 + 2 = 4"]}
SECOND = {"answer": 12, "steps": ["4 * 3 = 12"]}
RIGHT = {"is_correct": True, "explanation": "That is right."}
NOON = datetime(2026, 2, 26, 12, tzinfo=UTC)


def script(**replies) -> ScriptedLLM:
    """What the two models say in two turns."""
    return ScriptedLLM({"solver": [FIRST, SECOND], "checker": [RIGHT, RIGHT]} | replies)


def mesh(storage=None, llm=None, specs=SPECS, **options) -> Agent:
    """The page's two agents."""
    storage = storage or InMemoryStateStorage()
    return Agent(specs=specs, llm=llm or script(), state_storage=storage, name="mesh", **options)


async def first_call(leafmesh: Agent):
    """As printed."""
    result = await leafmesh.mesh_call(
        "solver", input_data={"message": "What is 2 + 2?"}, session_id="user_123"
    )
    return result  # noqa: RET504 - as printed


async def second_call(leafmesh: Agent):
    """As printed."""
    result2 = await leafmesh.mesh_call(
        "solver", input_data={"message": "Now multiply that by 3"}, session_id="user_123"
    )
    return result2  # noqa: RET504 - as printed


def stored_in(server: RedisServer, agency: str, result) -> dict[str, str]:
    """The keys of an agency's session, by what they are for."""
    return keys_of(server, f"{agency}*{result.execution_id}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A Redis server."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as running:
        yield running


# ── How state works ──────────────────────────────────────────────────────────────────────────────


async def test_a_call_creates_or_loads_the_session_of_its_id():
    """“Creates or loads a session (keyed by session_id)”."""
    leafmesh = mesh(llm=script(solver=[FIRST, SECOND, {"answer": -1, "steps": []}]))
    assert list(leafmesh.sessions()) == []
    one = await first_call(leafmesh)
    two = await second_call(leafmesh)
    await leafmesh.mesh_call("solver", {"message": "What is 0 - 1?"}, session_id="user_456")
    assert one.execution_id == two.execution_id
    turns = {row.session_id: row.turns for row in leafmesh.sessions()}
    assert turns == {"user_123": 2, "user_456": 1}


async def test_the_pipeline_is_pre_compose_then_the_model_then_the_intelligence_function():
    """“Executes the agent pipeline (pre-compose, LLM call, intelligence function)”."""
    steps = []

    def reply(request):
        steps.append(f"LLM call: {request.messages[-1]['content']}")
        return FIRST

    leafmesh = mesh(llm=script(solver=[reply]))

    @leafmesh.pre_compose("solver")
    def prepare(input_data):
        steps.append(f"pre-compose: {input_data['message']}")
        return {"task": input_data["message"]}

    @leafmesh.intelligence("solver")
    def work(llm_response):
        steps.append(f"intelligence function: {llm_response['answer']}")

    await first_call(leafmesh)
    assert steps == [
        "pre-compose: What is 2 + 2?",
        'LLM call: {"task": "What is 2 + 2?"}',
        "intelligence function: 4",
    ]


@pytest.mark.parametrize(("answer", "called"), [(4, ["checker"]), (0, ["checker"]), (-1, [])])
async def test_a_communication_is_stored_if_a_rule_triggers_a_downstream_agent(answer, called):
    """“Stores mesh communications if can_call rules trigger downstream agents”."""
    leafmesh = mesh(llm=script(solver=[{"answer": answer, "steps": []}]))
    await first_call(leafmesh)
    record = leafmesh.session("user_123")
    assert [c.to_agent for c in record.mesh_communications] == called
    assert [d.decision for d in record.decisions] == (["fire"] if called else ["skip"])


@pytest.mark.redis
async def test_nothing_is_saved_or_loaded_by_hand(server):
    """“You do not need to explicitly save or load state”: another agent object goes on."""
    llm = script()
    for turn in (first_call, second_call):
        async with storage_on(server, agency="by-hand") as storage:
            await turn(mesh(storage, llm))
    async with storage_on(server, agency="by-hand") as storage:
        record = mesh(storage).session("user_123")
    assert [r.yields for r in record.yields if r.agent_name == "solver"] == [FIRST, SECOND]
    solver = [r for r in llm.requests if r.node == "solver"][-1]
    assert "What is 2 + 2?" in [m["content"] for m in solver.messages]


# ── Redis configuration ──────────────────────────────────────────────────────────────────────────


@pytest.mark.redis
async def test_the_printed_env_file_is_all_that_it_takes(server, tmp_path, monkeypatch):
    """The file as printed; only the test's server has another port, which the environment says."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REDIS_PORT", str(server.port))
    (tmp_path / ".env").write_text(ENV)

    leafmesh = Agent.from_env(tmp_path / ".env", specs=SPECS, llm=script(), name="mesh")
    result = await first_call(leafmesh)
    assert isinstance(leafmesh.state_storage, RedisStateStorage)
    assert leafmesh.state_storage.record_ttl == 3600
    keys = stored_in(server, "my-agency", result)
    assert sorted(keys) == ["rows", "session"]
    with server.client() as client:
        assert all(604_740 < client.ttl(key) <= 604_800 for key in keys.values())
    await leafmesh.state_storage.close()


@pytest.mark.parametrize("line", ["store: redis", "persistence: {store: redis}"])
def test_the_store_is_never_set_in_the_yaml(line):
    """“The store is set only in .env, never in the YAML”: an error that says where it belongs."""
    with pytest.raises(SpecError, match=r"LIMAN_NB_STORE|state_storage"):
        mesh(specs=f"{line}\n{dedent(SPECS)}")


@pytest.mark.redis
async def test_every_execution_call_and_decision_is_persisted(server):
    """“Every agent execution, mesh call, and coordination decision is persisted”."""
    async with storage_on(server, agency="every") as storage:
        leafmesh = mesh(storage)
        await first_call(leafmesh)
        seen = leafmesh.session("user_123").to_dict()
    async with storage_on(server, agency="every") as storage:
        kept = mesh(storage).session("user_123")
    assert kept.to_dict() == seen
    assert [a.agent_name for a in kept.analyses] == ["solver", "checker"]
    assert [(c.from_agent, c.to_agent) for c in kept.mesh_communications] == [("solver", "checker")]
    assert [(d.decision, d.why) for d in kept.decisions] == [("fire", "answer = 4 is at least 0")]


# ── Creating and using sessions ──────────────────────────────────────────────────────────────────


async def test_the_second_call_has_the_conversation_as_user_and_assistant_turns():
    """“The platform assembles it as user/assistant turns in the message array”."""
    leafmesh = mesh()
    result = await first_call(leafmesh)
    result2 = await second_call(leafmesh)
    assert (result["answer"], result2["answer"]) == (4, 12)
    _, second = leafmesh.requests("solver")
    assert [(m["role"], m["content"]) for m in second["messages"][1:]] == [
        ("user", "What is 2 + 2?"),
        ("assistant", json.dumps(FIRST)),
        ("assistant", f"[checker] {json.dumps(RIGHT)}"),
        ("user", "Now multiply that by 3"),
    ]


# ── Session data structure ───────────────────────────────────────────────────────────────────────


async def test_a_record_has_the_five_printed_keys_and_values():
    """Role, content, timestamp, agent name and type; all four types and all three roles occur."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with_tool = "{kind: Overlay, to: LLMNode:solver, tools: [add]}"
    leafmesh = mesh(
        llm=script(solver=[call("add", a=2, b=2), FIRST]),
        specs=f"{SPECS}\n---\n{with_tool}",
        tools=[add],
        clock=lambda: datetime(2026, 2, 26, 10, 30, tzinfo=UTC),
    )
    await first_call(leafmesh)
    entries = [entry.as_dict() for entry in leafmesh.session("user_123").conversation]
    assert {tuple(entry) for entry in entries} == {
        ("role", "content", "timestamp", "agent_name", "type")
    }
    assert [(e["role"], e["agent_name"], e["type"], e["content"]) for e in entries] == [
        ("user", "solver", "user_message", "What is 2 + 2?"),
        ("system", "add", "tool_result", "4"),
        ("assistant", "solver", "agent_response", json.dumps(FIRST)),
        ("system", "solver", "mesh_call", json.dumps(FIRST)),
        ("assistant", "checker", "agent_response", json.dumps(RIGHT)),
    ]
    for entry in entries:
        assert entry["timestamp"].endswith("Z")
        assert datetime.fromisoformat(entry["timestamp"]) == datetime(
            2026, 2, 26, 10, 30, tzinfo=UTC
        )


# ── Inspecting sessions (the page's Studio and REST API) ─────────────────────────────────────────


async def test_every_step_is_recorded_as_structured_data():
    """“This gives you the complete picture”: in a cell as a table, in code as JSON values."""
    leafmesh = mesh()
    await first_call(leafmesh)
    record = leafmesh.session("user_123")
    picture = json.loads(json.dumps(record.to_dict()))
    kinds = ("conversation", "yields", "mesh_communications", "analyses", "decisions")
    assert {kind: len(picture[kind]) for kind in kinds} == {
        "conversation": 4,
        "yields": 2,
        "mesh_communications": 1,
        "analyses": 2,
        "decisions": 1,
    }
    assert "Coordination decisions" in record._repr_mimebundle_()["text/html"]
    assert "answer = 4 is at least 0" in str(leafmesh.explain("user_123", "solver"))


# ── Using context in intelligence functions ──────────────────────────────────────────────────────

STATEFUL = """
agents:
  stateful_agent:
    yields: {answer: string, "has_history?": boolean}
"""


@pytest.mark.parametrize("attached", ["by decorator", "in the spec"])
async def test_the_printed_stateful_agent_sees_whether_there_is_history(attached):
    """“The context parameter … provides access to session information”."""
    llm = ScriptedLLM([{"answer": "four"}, {"answer": "twelve"}])
    if attached == "in the spec":
        named = f"{STATEFUL}    intelligence: stateful_agent\n"
        leafmesh = mesh(llm=llm, specs=named, functions=[stateful_agent])
    else:
        leafmesh = mesh(llm=llm, specs=STATEFUL)
        leafmesh.intelligence("stateful_agent")(stateful_agent)
    one = await leafmesh.mesh_call("stateful_agent", {"message": "2 + 2?"}, "user_123")
    two = await leafmesh.mesh_call("stateful_agent", {"message": "times 3"}, "user_123")
    other = mesh(llm=ScriptedLLM([{"answer": "one"}]), specs=STATEFUL)
    other.intelligence("stateful_agent")(stateful_agent)
    new = await other.mesh_call("stateful_agent", {"message": "0 + 1?"}, "user_456")
    assert one.output == {"answer": "four", "has_history": False}
    assert two.output == {"answer": "twelve", "has_history": True}
    assert new.output == {"answer": "one", "has_history": False}


async def test_context_has_the_session_s_id():
    """“session_id = context.get("session_id", "default")”: it is never the default."""
    leafmesh, seen = mesh(), []

    @leafmesh.intelligence("solver")
    async def note(llm_response, input_data, context):
        seen.append(context.get("session_id", "default"))

    await first_call(leafmesh)
    assert seen == ["user_123"]


# ── Auto-stored agent yields ─────────────────────────────────────────────────────────────────────


def test_the_printed_yaml_loads_without_a_finding():
    """Both agents; the solver is where a turn starts."""
    leafmesh = mesh()
    assert leafmesh.check() == []
    assert str(leafmesh.graph).splitlines()[1:] == [
        "solver (LLM, start)",
        "  → checker when answer >= 0",
        "checker (LLM)",
    ]


@pytest.mark.redis
async def test_yields_are_stored_with_their_session(server):
    """“Stored in Redis under the session”: the very bytes are there."""
    async with storage_on(server, agency="yields") as storage:
        result = await first_call(mesh(storage))
    rows = stored_in(server, "yields", result)["rows"]
    with server.client() as client:
        assert "2 + 2 = 4" in str(client.lrange(rows, 0, -1))


@pytest.mark.parametrize("reply", ["four", {"answer": "four", "steps": []}, {"answer": 4}])
async def test_yields_are_parsed_according_to_their_schema(reply):
    """What does not fit is never stored as yields, nor filled in."""
    leafmesh = mesh(llm=script(solver=[reply, reply]))
    with pytest.raises(TurnFailed, match="solver"):
        await first_call(leafmesh)
    assert leafmesh.session("user_123").yields == ()


async def test_the_solver_s_yields_are_the_checker_s_input():
    """“Passed as input_data to the checker via the mesh call”."""
    leafmesh = mesh()
    await first_call(leafmesh)
    (communication,) = leafmesh.session("user_123").mesh_communications
    assert communication.payload == FIRST
    assert json.loads(leafmesh.requests("checker")[0]["messages"][-1]["content"]) == FIRST


@pytest.mark.parametrize("attached", ["by decorator", "in the spec"])
async def test_the_printed_checker_verifies_what_the_solver_claimed(attached):
    """“The checker's intelligence function receives the solver's output directly”."""
    llm = script(checker=[{"is_correct": False, "explanation": "I am not sure."}] * 2)
    if attached == "in the spec":
        overlay = "{kind: Overlay, to: LLMNode:checker, intelligence: checker}"
        leafmesh = mesh(llm=llm, specs=f"{SPECS}\n---\n{overlay}", functions=[checker])
    else:
        leafmesh = mesh(llm=llm)
        leafmesh.intelligence("checker")(checker)
    result = await first_call(leafmesh)
    assert result.output == {"is_correct": True, "explanation": "Verified answer: 4"}
    assert leafmesh.session("user_123").yields[-1].yields == result.output


# ── What gets stored automatically ───────────────────────────────────────────────────────────────


@pytest.mark.redis
async def test_session_and_conversation_live_seven_days(server):
    """One time for both: the conversation is read off the session's own rows."""
    async with storage_on(server, agency="week") as storage:
        result = await first_call(mesh(storage))
    keys = stored_in(server, "week", result)
    with server.client() as client:
        assert all(604_740 < client.ttl(key) <= 604_800 for key in keys.values())
        assert "What is 2 + 2?" in str(client.lrange(keys["rows"], 0, -1))
        for key in keys.values():
            client.pexpire(key, 1)
    await asyncio.sleep(0.05)
    async with storage_on(server, agency="week") as storage:
        assert mesh(storage).session("user_123").conversation == ()


@pytest.mark.redis
async def test_yields_communications_analyses_and_decisions_are_on_record_for_an_hour(server):
    """After it they are counted, not shown; session and conversation stay, and the memory works."""
    now = [NOON]
    async with storage_on(server, agency="hour") as storage:
        assert storage.record_ttl == 3600
        leafmesh = mesh(storage, clock=lambda: now[-1])
        await first_call(leafmesh)
        now.append(NOON + timedelta(hours=1))
        assert leafmesh.session("user_123").expired == {}

        now.append(NOON + timedelta(hours=1, milliseconds=1))
        record = leafmesh.session("user_123")
        assert len(record.conversation) == 4
        assert record.expired == {
            "yields": 2,
            "mesh_communications": 1,
            "analyses": 2,
            "decisions": 1,
        }
        left = (record.yields, record.mesh_communications, record.analyses, record.decisions)
        assert left == ((), (), (), ())

        await second_call(leafmesh)
        record = leafmesh.session("user_123")
        assert [r.yields for r in record.yields] == [SECOND, RIGHT]
        assert record.expired["yields"] == 2


# ── Persistence vs. observability ────────────────────────────────────────────────────────────────

TELEMETRY = re.compile(r"latency|duration|elapsed|seconds|per_second|trace|span|metric", re.I)


@pytest.mark.redis
async def test_no_trace_metric_or_latency_is_stored(server):
    """“Traces are never stored in Redis”: the same talk, slow and fast, stores the same bytes."""

    async def slowly(_request):
        await asyncio.sleep(0.05)
        return FIRST

    stored = []
    for agency, reply in (("fast", FIRST), ("slow", slowly)):
        async with storage_on(server, agency=agency) as storage:
            leafmesh = mesh(storage, script(solver=[reply]), clock=lambda: NOON)
            result = await first_call(leafmesh)
        keys = stored_in(server, agency, result)
        with server.client() as client:
            stored.append(client.lrange(keys["rows"], 0, -1))
            assert not TELEMETRY.search(str(client.hgetall(keys["session"])))
    fast, slow = stored
    assert fast == slow
    assert "2 + 2 = 4" in str(fast)
    assert not TELEMETRY.search(str(fast))


@pytest.mark.redis
async def test_a_record_s_time_and_a_session_s_are_independent(server):
    """“Data retention policies for each concern are independent”."""
    async with storage_on(server, agency="both", session_ttl=None, record_ttl=60) as storage:
        now = [NOON]
        leafmesh = mesh(storage, clock=lambda: now[-1])
        result = await first_call(leafmesh)
        now.append(NOON + timedelta(days=365))
        record = leafmesh.session("user_123")
    assert (len(record.conversation), record.yields) == (4, ())
    with server.client() as client:
        assert {client.ttl(k) for k in stored_in(server, "both", result).values()} == {-1}
