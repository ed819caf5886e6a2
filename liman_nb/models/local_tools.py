"""Tool calls for a local model that was never taught to make them.

llama.cpp drops the tools of a request silently when the model's chat template has no place for
them, as that of the small default model. So such a model is asked in steps, each forced into a
schema: which of the functions a message asks for, shown by examples made of the tools'
descriptions; then that function's arguments. When the results are there, it is asked to say them.
Pure: requests become requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from liman_nb.models.llm import Request, ToolSchema
from liman_nb.models.openai_replies import content_text

NO_TOOL = "none"

Message = dict[str, Any]

# A message in three wordings for each tool, and messages that ask for no tool, in turns.
_ASKING: Sequence[Callable[[ToolSchema], str]] = (
    lambda tool: tool.name.replace("_", " "),
    lambda tool: f"I need this: {_first_line(tool)}.",
    lambda tool: f"{_first_line(tool)}, please?",
)
_NOT_ASKING = ("Hello!", "What is a dog?", "Thanks.")


def may_call_a_tool(request: Request) -> bool:
    """Whether the request has tools, and a person's message is to be answered.

    Once a tool has answered, this model only words the answer; it would call the tool for ever.
    """
    return bool(request.tools and request.messages and request.messages[-1].get("role") == "user")


def which_tool(request: Request) -> Request:
    """The request that asks for the name of a tool, or for :data:`NO_TOOL`."""
    names = [tool.name for tool in request.tools]
    schema = _object({"function": {"type": "string", "enum": [*names, NO_TOOL]}})
    words = f"Say which function the message asks for, or {NO_TOOL}."
    messages = [_said("system", words), *_examples(request.tools), _last_question(request)]
    return _asking(request, messages, schema)


def which_arguments(request: Request, tool: ToolSchema) -> Request:
    """The request that asks for a tool's arguments."""
    words = f"Write the arguments of the function {tool.name} as JSON. {tool.description}"
    messages = [_said("system", words), _last_question(request)]
    return _asking(request, messages, tool.parameters)


def without_tools(request: Request) -> Request:
    """The request in words alone: results stand with the question, calls are left out."""
    return replace(request, tools=(), messages=_told(request.messages))


def _examples(tools: Sequence[ToolSchema]) -> Iterator[Message]:
    for asking, not_asking in zip(_ASKING, _NOT_ASKING, strict=True):
        yield from _example(not_asking, NO_TOOL)
        for tool in tools:
            yield from _example(asking(tool), tool.name)


def _example(message: str, function: str) -> Iterator[Message]:
    yield _said("user", message)
    yield _said("assistant", json.dumps({"function": function}))


def _told(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The messages with each question and the results for it as one message."""
    told, results = list[Message](), list[str]()
    for message in messages:
        text = content_text(message.get("content"))
        if message.get("role") == "tool":
            results.append(_in_words(text))
        elif not message.get("tool_calls"):
            told = [*_with_results(told, results), dict(message)]
            results = []
    return _with_results(told, results)


def _with_results(told: Sequence[Message], results: Sequence[str]) -> list[Message]:
    if not results:
        return list(told)
    last = told[-1] if told else {}
    question = content_text(last.get("content")) if last.get("role") == "user" else ""
    words = f"{question}\nThe answer is: {'; '.join(results)}. Say it in one sentence."
    return [*(told[:-1] if question else told), _said("user", words.lstrip())]


def _in_words(result: str) -> str:
    """``sky: rain, wind: none`` for a JSON object; any other result as it is."""
    try:
        value = json.loads(result)
    except ValueError:
        return result
    if not isinstance(value, dict):
        return result
    return ", ".join(f"{name}: {part}" for name, part in value.items())


def _asking(request: Request, messages: Sequence[Message], schema: Mapping[str, Any]) -> Request:
    """A question of ours, which the bound on the node's own reply does not concern."""
    wanted = {"name": "reply", "schema": schema}
    return replace(request, messages=messages, tools=(), response_format=wanted, max_tokens=None)


def _last_question(request: Request) -> Message:
    return _said("user", content_text(request.messages[-1].get("content")))


def _first_line(tool: ToolSchema) -> str:
    return tool.description.partition("\n")[0].rstrip(". ") or tool.name


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}
