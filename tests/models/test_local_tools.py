"""Tool calls of a model that knows none: requests become requests in words and schemas."""

from __future__ import annotations

import json

import pytest

from liman_nb.models.llm import Request, ToolSchema
from liman_nb.models.local_tools import (
    may_call_a_tool,
    which_arguments,
    which_tool,
    without_tools,
)

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSchema("get_weather", "Current weather of a city.\n\nIn Celsius.", CITY)
CLOCK = ToolSchema("get_time", "", CITY)
SYSTEM = {"role": "system", "content": "Be brief."}
OSLO = {"role": "user", "content": "Rain in Oslo?"}


def message(role: str, content: str) -> dict[str, str]:
    """A plain message."""
    return {"role": role, "content": content}


def called(*names: str) -> dict[str, object]:
    """A message of calls."""
    calls = [{"id": n, "type": "function", "function": {"name": n, "arguments": ""}} for n in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(content: str) -> dict[str, str]:
    """A tool's result."""
    return {"role": "tool", "tool_call_id": "a", "content": content}


@pytest.mark.parametrize(
    ("messages", "may"),
    [
        ([OSLO], True),
        ([SYSTEM, OSLO], True),
        ([OSLO, called("get_weather"), result("rain")], False),
        ([OSLO, message("assistant", "Yes.")], False),
        ([], False),
    ],
)
def test_when_a_tool_may_be_called(messages: list, may: bool):
    """A person's message may lead to a call; a tool's result is worded, or it would never end."""
    assert may_call_a_tool(Request("n", messages, tools=[WEATHER])) is may
    assert not may_call_a_tool(Request("n", messages))


def test_which_tool():
    """The choice is forced to one of the names, and shown by examples."""
    asked = which_tool(Request("n", [SYSTEM, OSLO], tools=[WEATHER, CLOCK]))
    chosen = asked.response_format["schema"]["properties"]["function"]
    assert chosen == {"type": "string", "enum": ["get_weather", "get_time", "none"]}
    assert asked.tools == ()
    assert asked.messages[-1] == OSLO
    examples = [m["content"] for m in asked.messages[1:-1]]
    pairs = list(zip(examples[::2], examples[1::2], strict=True))
    assert ("Hello!", '{"function": "none"}') in pairs
    assert ("get weather", '{"function": "get_weather"}') in pairs
    assert ("Current weather of a city, please?", '{"function": "get_weather"}') in pairs
    assert ("get_time, please?", '{"function": "get_time"}') in pairs
    assert all(json.loads(answer)["function"] in chosen["enum"] for _, answer in pairs)


def test_which_arguments():
    """The arguments are forced into the tool's own schema."""
    asked = which_arguments(Request("n", [SYSTEM, OSLO], tools=[WEATHER], max_tokens=3), WEATHER)
    assert asked.max_tokens is None
    assert asked.response_format["schema"] == CITY
    assert asked.messages[-1] == OSLO
    assert "get_weather" in asked.messages[0]["content"]
    assert asked.tools == ()


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([SYSTEM, OSLO], [SYSTEM, OSLO]),
        (
            [SYSTEM, OSLO, called("get_weather"), result("rain")],
            [
                SYSTEM,
                message("user", "Rain in Oslo?\nThe answer is: rain. Say it in one sentence."),
            ],
        ),
        (
            [OSLO, called("f", "g"), result('{"sky": "rain", "wind": 3}'), result("12:00")],
            [
                message(
                    "user",
                    "Rain in Oslo?\nThe answer is: sky: rain, wind: 3; 12:00."
                    " Say it in one sentence.",
                )
            ],
        ),
        (
            [
                OSLO,
                called("f"),
                result("1"),
                called("g"),
                result("[2]"),
                message("assistant", "Yes."),
            ],
            [
                message("user", "Rain in Oslo?\nThe answer is: 1; [2]. Say it in one sentence."),
                message("assistant", "Yes."),
            ],
        ),
        (
            [called("f"), result("1")],
            [message("user", "The answer is: 1. Say it in one sentence.")],
        ),
    ],
    ids=["nothing to tell", "one result", "two at once", "two in a row", "no question"],
)
def test_results_in_words(messages: list, told: list):
    """Results stand with the question that they answer; calls are left out."""
    request = Request("n", messages, tools=[WEATHER])
    assert list(without_tools(request).messages) == told
    assert without_tools(request).tools == ()
