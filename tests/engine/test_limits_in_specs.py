"""Limits that a node, an edge or a mesh document declares for itself."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from four_methods import FourMethods, Killed, seen

from liman_nb import Agent, Bounds, InMemoryStateStorage, ScriptedLLM, call
from liman_nb.engine.loading import load_tree
from liman_nb.errors import TurnFailed


def agent_of(specs, storage=None, **more) -> Agent:
    """An agent of these specs."""
    storage = storage or InMemoryStateStorage()
    return Agent(specs, state_storage=storage, name="test", session_id="s", **more)


def names(inputs):
    """What a join got, by name."""
    return sorted(inputs)


def echo(text: str) -> str:
    """Say it again."""
    return text


# ── replies ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("again", [0, 1, 3])
async def test_a_reply_goes_back_as_often_as_the_node_says(again):
    """Each time with what is wrong; then the run fails with the last reply."""
    specs = f"{{kind: LLMNode, name: a, yields: {{n: integer}}, enforce_yields_retry: {again}}}"
    agent = agent_of(specs, llm=ScriptedLLM(["no"] * again + [{"n": 1}]))
    assert (await agent.step("hi"))["n"] == 1
    assert len(agent.requests("a")) == again + 1
    agent = agent_of(specs, llm=ScriptedLLM(["no"] * (again + 1)))
    with pytest.raises(TurnFailed, match="YieldsError"):
        await agent.step("hi")
    assert len(agent.requests("a")) == again + 1


async def test_a_model_that_has_made_its_tool_calls_is_told_so():
    """The calls beyond are answered, and not made; the next message counts anew."""
    specs = """
{kind: LLMNode, name: a, tools: [echo], max_tool_calls_per_message: 3}
---
{kind: ToolNode, name: echo}
"""
    two = [call("echo", text="x"), call("echo", text="y")]
    agent = agent_of(specs, llm=ScriptedLLM([two, two, "done", two, "done"]), functions=[echo])
    await agent.step("hi")
    results = [m["content"] for m in agent.messages("a") if m["role"] == "tool"]
    assert results[:3] == ["x", "y", "x"]
    assert "all the tool calls that it may make for one message" in results[3]
    await agent.step("hi")
    results = [m["content"] for m in agent.messages("a") if m["role"] == "tool"]
    assert results[4:] == ["x", "y"]


# ── how many, how often ──────────────────────────────────────────────────────────────────────────


async def test_no_more_runs_of_a_function_go_side_by_side_than_it_says():
    """Others are not held up by it."""
    specs = """
{kind: FunctionNode, name: start, edges: [many, many, many, many, other]}
---
{kind: FunctionNode, name: many, max_concurrent: 2}
---
{kind: FunctionNode, name: other}
"""
    now, most = 0, 0

    async def many():
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    functions = {"start": lambda: "go", "many": many, "other": lambda: "done"}
    agent = agent_of(specs, functions=functions, start_node="start")
    await agent.step("hi")
    assert most == 2
    assert agent.tree().total == 7


async def test_an_edge_is_followed_no_more_often_than_it_says():
    """In each turn anew; the record says why it was not."""
    specs = """
kind: FunctionNode
name: count
edges: [{target: count, max_visits: 3}, {target: end, when: "output >= 3"}]
---
{kind: FunctionNode, name: end}
"""
    functions = {"count": lambda n: int(n) + 1, "end": lambda n: n}
    agent = agent_of(specs, functions=functions, start_node="count")
    assert (await agent.step("0")).outputs == (("end", 4), ("end", 3))
    refused = [t for t in agent.transitions() if t.outcome == "not fired" and t.target == "count"]
    assert [t.reason for t in refused] == [
        "it was followed 3 times in this turn, as often as its max_visits allows"
    ]
    assert (await agent.step("0")).outputs == (("end", 4), ("end", 3))


async def test_a_mesh_s_bound_ends_the_turn_and_the_session_goes_on():
    """The narrower of the mesh's and the agent's counts; the error names it."""
    specs = """
mesh: {max_chain_events: 4}
agents:
  a: {agent_type: programmatic, can_call: [{agent: a}]}
"""
    agent = agent_of(specs, functions={"a": lambda text: text})
    with pytest.raises(TurnFailed, match="bound node_runs=4") as failed:
        await agent.step("hi")
    assert failed.value.result.status == "failed"
    narrow = agent_of(specs, functions={"a": lambda text: text}, bounds=Bounds(node_runs=2))
    with pytest.raises(TurnFailed, match="bound node_runs=2"):
        await narrow.step("hi")
    with pytest.raises(TurnFailed, match="bound node_runs=4"):
        await agent.step("again")


async def test_a_mesh_call_may_name_an_entry_point():
    """It is the node that the mesh document says."""
    specs = """
entry_points: [{name: ask, target: a}]
agents:
  a: {agent_type: programmatic}
"""
    agent = agent_of(specs, functions={"a": lambda text: f"{text}!"})
    assert (await agent.mesh_call("ask", {"message": "hi"})).output == "hi!"


# ── joins that have waited long enough ───────────────────────────────────────────────────────────

WAITING = """
{{kind: FunctionNode, name: start, edges: [quick, slow]}}
---
{{kind: FunctionNode, name: quick, func: echo, edges: [sum]}}
---
{{kind: {slow}, edges: [sum]}}
---
{{kind: FunctionNode, name: sum, wait_for: "{rule}", wait_for_timeout: 0.05}}
"""
SLOW = "FunctionNode, name: slow"


async def test_a_join_starts_without_what_did_not_arrive_in_time():
    """The branch that comes too late is dropped, and says so."""
    released = asyncio.Event()

    async def slow():
        await released.wait()

    def total(inputs):
        released.set()
        return sorted(inputs)

    specs = WAITING.format(rule="quick and slow?", slow=SLOW)
    functions = {"start": echo, "echo": echo, "slow": slow, "sum": total}
    agent = agent_of(specs, functions=functions, start_node="start")
    assert (await agent.step("hi")).output == ["quick"]
    (join,) = (
        agent._workshop.sessions.opened(agent._workshop.sessions.root_of("s"))
        .tree.turns[0]
        .joins.values()
    )
    assert (join.outcome, join.gone, len(join.late)) == ("started", ("slow",), 1)


async def test_a_join_that_needs_what_did_not_arrive_in_time_halts():
    """The turn goes on without it."""
    released = asyncio.Event()

    async def slow():
        await asyncio.sleep(0.2)
        return "slow"

    specs = WAITING.format(rule="quick and slow", slow=SLOW)
    functions = {"start": echo, "echo": echo, "slow": slow, "sum": names}
    agent = agent_of(specs, functions=functions, start_node="start")
    result = await agent.step("hi")
    assert dict(result.outputs) == {"quick": "hi", "slow": "slow"}
    assert "did not arrive in time: slow; came too late: 1" in str(agent.explain("sum"))
    assert "slow did not arrive in time" in str(agent.transitions())
    assert "slow did not arrive in time" in str(agent.tree())
    (decision,) = [d for d in agent.session().decisions if d.decision == "halt"]
    assert decision.why == "arrived: quick; slow did not arrive in time"
    assert not released.is_set()


@pytest.mark.parametrize("storage", [InMemoryStateStorage, FourMethods])
async def test_a_deadline_passes_while_nobody_runs(storage):
    """A branch waits for a person; whoever goes on later finds that the join need not wait."""
    kept = storage()
    specs = WAITING.format(rule="quick and slow?", slow="HumanNode, name: slow, question: '?'")
    functions = {"start": echo, "echo": echo, "sum": names}
    agent = agent_of(specs, kept, functions=functions, start_node="start")
    assert (await agent.step("hi")).status == "suspended"
    await asyncio.sleep(0.06)
    later = agent_of(specs, kept, functions=functions, start_node="start")
    result = await later.resume()
    assert (result.status, result.outputs) == ("suspended", (("sum", ["quick"]),))
    assert (await later.resume("late")).output == ["quick"]


async def test_a_storage_cut_off_while_a_join_is_given_up_loses_nothing():
    """At every save of it."""
    specs = WAITING.format(rule="quick and slow?", slow="HumanNode, name: slow, question: '?'")
    functions = {"start": echo, "echo": echo, "sum": names}

    async def suspended(storage) -> Agent:
        agent = agent_of(specs, storage, functions=functions, start_node="start")
        await agent.step("hi")
        await asyncio.sleep(0.06)
        return agent_of(specs, storage, functions=functions, start_node="start")

    async def end(storage):
        return seen(await load_tree(storage, agent._workshop.sessions.root_of("s"), "s"))

    whole = FourMethods()
    agent = await suspended(whole)
    before = whole.saves
    await agent.resume()
    expected, cuts = await end(whole), whole.saves - before
    assert cuts > 3
    for cut in range(cuts):
        storage = FourMethods()
        agent = await suspended(storage)
        storage.left = cut
        with pytest.raises(Killed):
            await agent.resume()
        again = agent_of(specs, storage, functions=functions, start_node="start")
        await again.resume()
        assert await end(storage) == expected


@pytest.mark.parametrize("storage", [InMemoryStateStorage, FourMethods])
async def test_a_fork_has_the_joins_that_were_given_up(storage):
    """Under its own ids."""
    specs = WAITING.format(rule="quick and slow?", slow="HumanNode, name: slow, question: '?'")
    functions = {"start": echo, "echo": echo, "sum": names}
    agent = agent_of(specs, storage(), functions=functions, start_node="start")
    await agent.step("hi")
    await asyncio.sleep(0.06)
    await agent.resume()
    parent = seen(agent._read("s", lambda tree, _: tree))
    fork = seen(agent._read(agent.fork("s"), lambda tree, _: tree))
    assert fork["turns"] == parent["turns"]
    assert fork["executors"] == parent["executors"]
    assert (await agent.resume("late")).output == ["quick"]


def test_deadlines_are_texts_in_the_order_of_times():
    """So that they compare as they are stored."""
    from liman_nb.engine.times import stamp

    start = datetime(2030, 1, 1, tzinfo=UTC)
    times = [stamp(start + timedelta(seconds=s)) for s in (0, 0.001, 1, 60, 86400)]
    assert times == sorted(times)
