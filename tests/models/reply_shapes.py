"""Shapes of replies as servers send them, whole and streamed, each with what it means.

Written from the documentation of OpenAI, Azure OpenAI, OpenRouter, DeepSeek, Mistral, vLLM,
llama.cpp, Ollama and LM Studio.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from liman_nb.errors import (
    ModelContentFiltered,
    ModelError,
    ModelRefused,
    ModelReplyTruncated,
    ModelServerError,
)
from liman_nb.models.llm import Reply, ToolCall, Usage

OSLO, LIMA = '{"city": "Oslo"}', '{"city": "Lima"}'


@dataclass(frozen=True)
class Shape:
    """One reply, both ways.

    Attributes:
        name: whose shape it is, and what is special about it.
        message: the message of a whole reply.
        deltas: what the stream's chunks hold: a delta, a finish reason, or any chunk or line.
        means: the reply, or the error.
        finish: the finish reason of the whole reply.
        usage: the whole reply's; the stream must bring its own.
        model: the server's name for the model.
    """

    name: str
    message: dict[str, Any]
    deltas: list[Any]
    means: Reply | type[ModelError]
    finish: str | None = "stop"
    usage: dict[str, Any] | None = None
    model: str = "m-1"
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> dict[str, Any]:
        """The reply without streaming."""
        choice = {"index": 0, "message": {"role": "assistant", **self.message}}
        choices = [choice | {"finish_reason": self.finish}]
        head = {"id": "c-1", "object": "chat.completion", "created": 1, "model": self.model}
        return {**head, "choices": choices, "usage": self.usage, **self.extra}

    @property
    def chunks(self) -> list[Any]:
        """The reply in chunks."""
        return [self._chunk(part) for part in self.deltas]

    def _chunk(self, part: Any) -> Any:
        head = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        match part:
            case {"line": line}:
                return line
            case {"choices": _}:
                return {**head, **part}
            case str():
                return {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": part}]}
        return {**head, "choices": [{"index": 0, "delta": part, "finish_reason": None}]}


def said(text: str | None, *calls: ToolCall, usage: Usage | None = None) -> Reply:
    """A reply of the model m-1."""
    return Reply(text, calls, usage or Usage(), "m-1")


def function(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A tool call, or a piece of one; only what is given."""
    named = {"name": name} if name is not None else {}
    given = {"arguments": arguments} if arguments is not None else {}
    return {**more, "function": {**named, **given}}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    """A message or delta with tool calls."""
    return {"tool_calls": list(pieces)}


USED = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
USAGE_CHUNK = {"choices": [], "usage": USED}
ROLE = {"role": "assistant", "content": ""}
TYPE = "function"

SHAPES = [
    Shape(
        "OpenAI: text, the usage in a last chunk without choices",
        {"content": "Hello there", "refusal": None, "annotations": []},
        [
            {**ROLE, "refusal": None},
            {"content": "Hello"},
            {"content": " there"},
            "stop",
            USAGE_CHUNK,
        ],
        said("Hello there", usage=Usage(9, 4)),
        usage=USED,
    ),
    Shape(
        "OpenAI: one call, the id only in its first piece",
        {"content": None, **calls(function("weather", OSLO, id="a", type=TYPE))},
        [
            {"role": "assistant", "content": None},
            calls(function("weather", "", index=0, id="a", type=TYPE)),
            calls(function(None, '{"city"', index=0)),
            calls(function(None, ': "Oslo"}', index=0)),
            "tool_calls",
        ],
        said(None, ToolCall("a", "weather", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "OpenAI: two calls, their pieces interleaved by index",
        {"content": None, **calls(function("w", OSLO, id="a"), function("w", LIMA, id="b"))},
        [
            calls(function("w", "", index=0, id="a"), function("w", "", index=1, id="b")),
            calls(function(None, '{"city": ', index=0)),
            calls(function(None, '{"city": ', index=1)),
            calls(function(None, '"Oslo"}', index=0), function(None, '"Lima"}', index=1)),
            "tool_calls",
        ],
        said(None, ToolCall("a", "w", OSLO), ToolCall("b", "w", LIMA)),
        finish="tool_calls",
    ),
    Shape(
        "OpenAI: the second call's pieces come first",
        {"content": None, **calls(function("f", "{}", id="a"), function("g", "{}", id="b"))},
        [
            calls(function("g", "{}", index=1, id="b")),
            calls(function("f", "{}", index=0, id="a")),
            "stop",
        ],
        said(None, ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")),
        finish="tool_calls",
    ),
    Shape(
        "OpenAI: text beside a call",
        {"content": "Let me see.", **calls(function("w", OSLO, id="a"))},
        [
            {"content": "Let me"},
            {"content": " see."},
            calls(function("w", OSLO, index=0, id="a")),
            "tool_calls",
        ],
        said("Let me see.", ToolCall("a", "w", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "OpenAI: a call without arguments has the empty text",
        {"content": None, **calls(function("now", "", id="a"))},
        [calls(function("now", "", index=0, id="a")), "tool_calls"],
        said(None, ToolCall("a", "now", "")),
        finish="tool_calls",
    ),
    Shape(
        "any: an empty object of arguments stays as it is written",
        {"content": None, **calls(function("now", "{}", id="a"))},
        [
            calls(function("now", "", index=0, id="a")),
            calls(function(None, "{}", index=0)),
            "tool_calls",
        ],
        said(None, ToolCall("a", "now", "{}")),
        finish="tool_calls",
    ),
    Shape(
        "OpenAI: two choices, of which the first counts",
        {"content": "one"},
        [
            {
                "choices": [
                    {"index": 0, "delta": {"content": "one"}},
                    {"index": 1, "delta": {"content": "two"}},
                ]
            },
            {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]},
            "stop",
        ],
        said("one"),
    ),
    Shape(
        "OpenAI: a legacy function_call",
        {"content": None, "function_call": {"name": "w", "arguments": OSLO}},
        [
            {"function_call": {"name": "w", "arguments": ""}},
            {"function_call": {"arguments": '{"city"'}},
            {"function_call": {"arguments": ': "Oslo"}'}},
            "function_call",
        ],
        said(None, ToolCall("call_0", "w", OSLO)),
        finish="function_call",
    ),
    Shape(
        "Azure: a first chunk without choices, with the prompt's filter results",
        {"content": "Hi", "content_filter_results": {"hate": {"filtered": False}}},
        [
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            ROLE,
            {"content": "Hi"},
            "stop",
        ],
        said("Hi"),
    ),
    Shape(
        "OpenRouter: comments between the events",
        {"content": "Hi", "reasoning": None},
        [{"line": ": OPENROUTER PROCESSING"}, {"content": "Hi"}, {"line": ": PROCESSING"}, "stop"],
        said("Hi"),
    ),
    Shape(
        "DeepSeek: reasoning in a field of its own is no part of the text",
        {"content": "4", "reasoning_content": "two and two"},
        [
            {"content": None, "reasoning_content": "two and"},
            {"reasoning_content": " two"},
            {"content": "4"},
            "stop",
        ],
        said("4"),
    ),
    Shape(
        "Mistral: content as a list of parts",
        {"content": [{"type": "text", "text": "Hello "}, {"type": "text", "text": "there"}]},
        [
            {"content": [{"type": "text", "text": "Hello "}]},
            {"content": [{"type": "text", "text": "there"}]},
            "stop",
        ],
        said("Hello there"),
    ),
    Shape(
        "Mistral: a whole call in one piece, without a type",
        {"content": "", **calls(function("w", OSLO, id="VvvODy9mT"))},
        [ROLE, calls(function("w", OSLO, id="VvvODy9mT", index=0)), "tool_calls"],
        said(None, ToolCall("VvvODy9mT", "w", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "llama.cpp: null content first, the finish in a chunk of its own, then usage with timings",
        {"content": "Hi"},
        [
            {"role": "assistant", "content": None},
            {"content": "Hi"},
            "stop",
            {**USAGE_CHUNK, "timings": {"predicted_n": 4}},
        ],
        said("Hi", usage=Usage(9, 4)),
        usage=USED,
    ),
    Shape(
        "llama.cpp: a call beside empty content",
        {"content": "", **calls(function("w", OSLO, id="x1", type=TYPE))},
        [
            {"role": "assistant", "content": None},
            calls(function("w", "{", index=0, id="x1", type=TYPE)),
            calls(function(None, '"city": "Oslo"}', index=0)),
            "tool_calls",
        ],
        said(None, ToolCall("x1", "w", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "vLLM: usage in every chunk, growing",
        {"content": "Hi you", "reasoning_content": None, "tool_calls": []},
        [
            {
                "choices": [{"index": 0, "delta": ROLE}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 0},
            },
            {
                "choices": [{"index": 0, "delta": {"content": "Hi"}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2},
            },
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": " you"},
                        "finish_reason": "stop",
                        "stop_reason": None,
                    }
                ],
                "usage": USED,
            },
        ],
        said("Hi you", usage=Usage(9, 4)),
        usage=USED,
    ),
    Shape(
        "vLLM: id and name repeated with each piece",
        {"content": None, **calls(function("w", OSLO, id="a", type=TYPE))},
        [
            calls(function("w", '{"city"', index=0, id="a", type=TYPE)),
            calls(function("w", ': "Oslo"}', index=0, id="a", type=TYPE)),
            "tool_calls",
        ],
        said(None, ToolCall("a", "w", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "Ollama: whole calls, all with index 0 and ids of their own, finish reason stop",
        {
            "content": "",
            **calls(function("w", OSLO, id="a", index=0), function("w", LIMA, id="b", index=0)),
        },
        [
            {**ROLE, **calls(function("w", OSLO, id="a", index=0, type=TYPE))},
            {**ROLE, **calls(function("w", LIMA, id="b", index=0, type=TYPE))},
            {"choices": [{"index": 0, "delta": ROLE, "finish_reason": "stop"}]},
        ],
        said(None, ToolCall("a", "w", OSLO), ToolCall("b", "w", LIMA)),
    ),
    Shape(
        "Ollama: text, no usage unless asked",
        {"content": "Hi"},
        [
            {**ROLE, "content": "Hi"},
            {"choices": [{"index": 0, "delta": ROLE, "finish_reason": "stop"}]},
        ],
        said("Hi"),
    ),
    Shape(
        "LM Studio: usage beside the last choice, and fields of its own",
        {"content": "Hi"},
        [
            {"content": "Hi"},
            {
                "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}],
                "usage": USED,
                "stats": {},
            },
        ],
        said("Hi", usage=Usage(9, 4)),
        usage=USED,
    ),
    Shape(
        "a small server: calls without ids",
        {"content": None, **calls(function("f", OSLO), function("g", LIMA))},
        [calls(function("f", OSLO, index=0)), calls(function("g", LIMA, index=1)), "tool_calls"],
        said(None, ToolCall("call_0", "f", OSLO), ToolCall("call_1", "g", LIMA)),
        finish="tool_calls",
    ),
    Shape(
        "a small server: null ids, all with index 0, told apart by name",
        {"content": None, **calls(function("f", OSLO, id=None), function("g", LIMA, id=None))},
        [
            calls(function("f", OSLO, index=0, id=None)),
            calls(function("g", LIMA, index=0, id=None)),
            "stop",
        ],
        said(None, ToolCall("call_0", "f", OSLO), ToolCall("call_1", "g", LIMA)),
    ),
    Shape(
        "a small server: no index",
        {"content": None, **calls(function("w", OSLO, id="a"), function("w", LIMA, id="b"))},
        [
            calls(function("w", '{"city": ', id="a")),
            calls(function(None, '"Oslo"}')),
            calls(function("w", LIMA, id="b")),
            "tool_calls",
        ],
        said(None, ToolCall("a", "w", OSLO), ToolCall("b", "w", LIMA)),
        finish="tool_calls",
    ),
    Shape(
        "a small server: the same function twice, neither ids nor index",
        {"content": None, **calls(function("w", OSLO), function("w", LIMA))},
        [calls(function("w", OSLO)), calls(function("w", LIMA)), "tool_calls"],
        said(None, ToolCall("call_0", "w", OSLO), ToolCall("call_1", "w", LIMA)),
        finish="tool_calls",
    ),
    Shape(
        "a small server: arguments as an object instead of text",
        {"content": None, **calls(function("w", {"city": "Oslo"}, id="a"))},
        [calls(function("w", {"city": "Oslo"}, index=0, id="a")), "tool_calls"],
        said(None, ToolCall("a", "w", OSLO)),
        finish="tool_calls",
    ),
    Shape(
        "a small server: null arguments",
        {
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "now", "arguments": None}}],
        },
        [
            {
                "tool_calls": [
                    {"index": 0, "id": "a", "function": {"name": "now", "arguments": None}}
                ]
            },
            "stop",
        ],
        said(None, ToolCall("a", "now", "")),
    ),
    Shape(
        "any: null content without calls is the empty text, never the word None",
        {"content": None},
        [{"content": None}, "stop"],
        said(""),
    ),
    Shape(
        "any: null instead of a list of calls",
        {"content": "Hi", "tool_calls": None, "function_call": None},
        [{"content": "Hi", "tool_calls": None, "function_call": None}, "stop"],
        said("Hi"),
    ),
    Shape(
        "any: letters of several bytes, cut anywhere",
        {"content": "Blåbærsyltetøy 🫐 日本"},
        [{"content": "Blåbær"}, {"content": "syltetøy 🫐"}, {"content": " 日本"}, "stop"],
        said("Blåbærsyltetøy 🫐 日本"),
    ),
    Shape(
        "any: white space is kept",
        {"content": "\n\n a  b \n"},
        [{"content": "\n\n"}, {"content": " a "}, {"content": " b \n"}, "stop"],
        said("\n\n a  b \n"),
    ),
    Shape(
        "any: the last text comes with the finish reason",
        {"content": "Hi you"},
        [
            {"content": "Hi"},
            {"choices": [{"index": 0, "delta": {"content": " you"}, "finish_reason": "stop"}]},
        ],
        said("Hi you"),
    ),
    Shape(
        "any: stopped at the token limit",
        {"content": "Once upon"},
        [{"content": "Once"}, {"content": " upon"}, "length", USAGE_CHUNK],
        ModelReplyTruncated,
        finish="length",
        usage=USED,
    ),
    Shape(
        "any: stopped at the token limit inside a call",
        {"content": None, **calls(function("w", '{"ci', id="a"))},
        [calls(function("w", '{"ci', index=0, id="a")), "length"],
        ModelReplyTruncated,
        finish="length",
    ),
    Shape(
        "Azure: withheld by the content filter",
        {"content": ""},
        [ROLE, "content_filter"],
        ModelContentFiltered,
        finish="content_filter",
    ),
    Shape(
        "OpenAI: a refusal",
        {"content": None, "refusal": "I can't help with that."},
        [
            {"role": "assistant", "content": None, "refusal": ""},
            {"refusal": "I can't help"},
            {"refusal": " with that."},
            "stop",
        ],
        ModelRefused,
    ),
    Shape(
        "OpenRouter: the finish reason error",
        {"content": ""},
        [{"content": "He"}, "error"],
        ModelServerError,
        finish="error",
    ),
]
