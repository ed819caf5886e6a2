"""The example specs: clean, and doing what their comments say, with a script and with a model."""

import importlib.util
import sys
from pathlib import Path

import pytest

from liman_nb import Agent, InMemoryStateStorage, LocalLLM, ScriptedLLM, call

SPECS = Path(__file__).parent.parent / "specs"


def functions_of(file: Path) -> list:
    """The functions that a Python file beside the specs defines."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return [f for f in vars(module).values() if getattr(f, "__module__", "") == file.stem]


def example(name: str, storage=None, **options) -> Agent:
    """An agent on one of the example folders, with the functions that stand beside it."""
    functions = [f for file in (SPECS / name).glob("*.py") for f in functions_of(file)]
    storage = storage or InMemoryStateStorage()
    return Agent(SPECS / name, functions=functions, state_storage=storage, **options)


def outcomes(agent: Agent) -> dict[str, str]:
    """Target and outcome of every transition."""
    return {t.target: t.outcome for t in agent.transitions()}


@pytest.mark.parametrize("name", ["hello", "weather", "triage", "solver_checker", "claims"])
def test_an_example_has_neither_errors_nor_warnings(name):
    """What we show is clean."""
    assert example(name).check() == []


async def test_weather_asks_its_tools_and_answers():
    """Two rounds of tools, then the answer."""
    script = [
        [call("get_weather", city="Oslo"), call("get_weather", city="Atlantis")],
        call("to_fahrenheit", celsius=-3.0),
        "26.6 °F and light snow in Oslo; nobody observes Atlantis.",
    ]
    agent = example("weather", llm=script)
    result = await agent.step("How cold is it in Oslo and Atlantis, in Fahrenheit?")
    answers = [m["content"] for m in agent.messages("assistant") if m["role"] == "tool"]
    assert answers == [
        '{"city":"Oslo","sky":"light snow","celsius":-3.0}',
        "Error: LookupError: no observations for 'Atlantis'; there are some for Oslo, Lisbon, "
        "Nairobi",
        "26.6",
    ]
    assert result.output.startswith("26.6")


GOLD = {"user_id": "u-1", "customer": {"tier": "gold"}}


async def test_triage_sends_a_message_to_every_desk_that_it_concerns():
    """Conditions of every shape; the desks act on their slice of the context."""
    reply = {"category": "technical", "urgency": 5, "topics": ["login"], "order": "A-1042"}
    agent = example("triage", llm=[reply])
    result = await agent.step("Nobody can log in!", context=GOLD)
    assert outcomes(agent) == {
        "billing_desk": "not fired",
        "technical_desk": "fired",
        "on_call": "fired",
        "order_desk": "fired",
        "loyal_customers": "fired",
        "small_talk": "not fired",
        "sorted_by_hand": "not fired",
        "statistics": "fired",
    }
    assert dict(result.outputs)["technical_desk"] == {"ticket": "technical-1", "urgency": 5}
    assert dict(result.outputs)["on_call"] == "paged for: login"


async def test_triage_counts_over_turns_and_hands_broken_replies_to_a_colleague():
    """A function's state outlives the turn; an edge reacts to an error."""
    reply = {"category": "other", "urgency": 1, "topics": [], "order": None}
    agent = example("triage", llm=[reply, reply, "?", "?"])
    for _ in range(2):
        result = await agent.step("hi", context=GOLD)
    assert dict(result.outputs)["statistics"] == {"other": 2}
    assert dict(result.outputs)["small_talk"] == "Thank you for writing."
    result = await agent.step("gibberish", context=GOLD)
    assert result.output == "A colleague sorts this one (YieldsError)."


async def test_triage_speaks_german_through_its_overlay():
    """The overlay adds German prompts; English stays as it is."""
    for language, begin in (("de", "Du sortierst"), ("en", "You sort"), (None, "You sort")):
        script = ScriptedLLM([{"category": "other", "urgency": 1, "topics": [], "order": None}])
        agent = example("triage", llm=script, language=language)
        await agent.step("hi", context=GOLD)
        assert script.requests[0].messages[0]["content"].startswith(begin)


async def test_the_solver_s_yields_are_the_checker_s_input():
    """Structured output travels along the edge and is read by node."""
    script = ScriptedLLM(
        {
            "solver": [{"answer": 4, "steps": ["2 + 2"]}],
            "checker": [{"is_correct": True, "explanation": "2 + 2 is 4"}],
        }
    )
    agent = example("solver_checker", llm=script)
    result = await agent.step("What is 2 + 2?")
    assert result["answer"] == 4
    assert result.yields["checker"]["is_correct"] is True
    assert script.requests[1].messages[-1]["content"] == '{"answer": 4, "steps": ["2 + 2"]}'


# ── with the real local model: its structure is promised, its wisdom is not ──────────────────────


@pytest.mark.model
async def test_the_local_model_remembers_a_name_and_streams():
    """The main job on a machine without an account."""
    agent = example("hello", llm=LocalLLM())
    tokens = [e.text async for e in agent.stream("My name is Alice.") if e.kind == "token"]
    assert len(tokens) > 3
    assert "".join(tokens) == agent.last_result.output
    assert "Alice" in (await agent.step("What is my name?")).output
    assert agent.last_result.usage.output_tokens > 0


@pytest.mark.model
async def test_the_local_model_keeps_to_the_yields_of_solver_and_checker():
    """Two structured replies, the second about the first."""
    agent = example("solver_checker", llm=LocalLLM())
    result = await agent.step("What is 2 + 2?")
    assert isinstance(result["answer"], int | float)
    assert set(result.yields["checker"]) == {"is_correct", "explanation"}
    assert isinstance(result.yields["checker"]["is_correct"], bool)


@pytest.mark.model
async def test_the_local_model_sorts_a_message_to_desks_that_exist():
    """A choice of three is one of the three."""
    agent = example("triage", llm=LocalLLM())
    await agent.step("I was charged twice for order A-1042.", context=GOLD)
    assert agent.yields()["triage"]["category"] in {"billing", "technical", "other"}
    assert outcomes(agent)["statistics"] == "fired"


@pytest.mark.model
async def test_the_local_model_calls_a_tool_with_arguments_that_fit():
    """Whatever it answers in the end, the call that it makes is one that the tool takes."""
    agent = example("weather", llm=LocalLLM())
    await agent.step("What is the weather in Oslo?")
    calls = [m for m in agent.messages("assistant") if m.get("tool_calls")]
    assert calls
    assert {c["function"]["name"] for m in calls for c in m["tool_calls"]} <= {
        "get_weather",
        "to_fahrenheit",
    }
