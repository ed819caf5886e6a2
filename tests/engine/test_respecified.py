"""Specs that are loaded again, while turns run and between them."""

import asyncio

import pytest
from four_methods import FourMethods

from liman_nb import Agent, InMemoryStateStorage, call


def echo(value):
    """Hands on its input."""
    return value


@pytest.fixture(params=[InMemoryStateStorage, FourMethods])
def storage(request):
    """With a journal, and without."""
    return request.param()


async def test_a_turn_runs_to_its_end_with_the_specs_that_it_was_asked_for_with(tmp_path):
    """One that runs and one that waits know the old nodes, the next one only the new ones."""
    file, go = tmp_path / "specs.yaml", asyncio.Event()
    file.write_text("{kind: FunctionNode, name: old, func: wait, yields: {said: string}}")

    async def wait(value):
        await go.wait()
        return {"said": value}

    agent = Agent(file, functions=[wait], state_storage=InMemoryStateStorage(), session_id="s")
    runs = asyncio.create_task(agent.step("runs"))
    waits = asyncio.create_task(agent.step("waits"))
    await asyncio.sleep(0.01)
    file.write_text("{kind: FunctionNode, name: new, func: wait}")
    agent.reload()
    last = asyncio.create_task(agent.step("last"))
    await asyncio.sleep(0.01)
    go.set()
    assert (await runs)["said"] == "runs"
    assert (await waits).yields == {"old": {"said": "waits"}}
    assert (await last).entry == "new"


async def test_models_go_on_when_specs_are_loaded_again(tmp_path):
    """A script is not played from its start, and no second client is made."""
    agent = Agent(
        "{kind: LLMNode, name: chat}", llm=["one", "two"], state_storage=InMemoryStateStorage()
    )
    assert (await agent.step("x")).output == "one"
    assert (await agent.reload().step("x")).output == "two"


async def test_a_function_that_became_a_model_remembers_from_then_on(tmp_path, storage):
    """Its history begins with its first turn as a model."""
    file, seen = tmp_path / "specs.yaml", []

    def model(request):
        seen.append([m["content"] for m in request.messages])
        return "ok"

    file.write_text("{kind: FunctionNode, name: n, func: echo}")
    agent = Agent(file, functions=[echo], llm=model, state_storage=storage, session_id="s")
    await agent.step("as a function")
    file.write_text("{kind: LLMNode, name: n}")
    agent.reload()
    await agent.step("one")
    again = Agent(file, functions=[echo], llm=model, state_storage=storage, session_id="s")
    await again.step("two")
    assert seen == [["one"], ["one", "ok", "two"]]


async def test_a_tool_that_became_a_function_keeps_its_state(tmp_path, storage):
    """The extras are what every kind of node has."""
    file = tmp_path / "specs.yaml"

    def visits(state: dict) -> int:
        """Counts."""
        state["n"] = state.get("n", 0) + 1
        return state["n"]

    file.write_text(
        "{kind: LLMNode, name: c, tools: [visits]}\n---\n{kind: ToolNode, name: visits}"
    )
    script = [call("visits"), "ok", "bye"]
    agent = Agent(file, functions=[visits], llm=script, state_storage=storage, session_id="s")
    await agent.step("one")
    file.write_text(
        "{kind: LLMNode, name: c, edges: [visits]}\n---\n{kind: FunctionNode, name: visits}"
    )
    assert (await agent.reload().step("two")).output == 2


async def test_what_is_shown_of_a_session_may_name_nodes_that_are_gone(tmp_path):
    """Removed and renamed nodes stay in the tree, in results and in the record."""
    file = tmp_path / "specs.yaml"
    file.write_text("{kind: LLMNode, name: a, edges: [b]}\n---\n{kind: LLMNode, name: b}")
    agent = Agent(file, llm=lambda request: "ok", state_storage=InMemoryStateStorage())
    before = await agent.step("one")
    file.write_text("{kind: LLMNode, name: a, edges: [c]}\n---\n{kind: LLMNode, name: c}")
    agent.reload()
    await agent.step("two")
    assert "b (" in str(agent.tree())
    assert "b (" in str(before)
    for view in (agent, agent.graph, agent.transitions(), agent.yields(), agent.last_result):
        assert view._repr_mimebundle_()["text/html"]
