"""Chat models of the real langchain-core are models: messages, tools, usage, streams and errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    GenericFakeChatModel,
    ParrotFakeChatModel,
)
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

import liman_nb
from liman_nb import Agent, InMemoryStateStorage, errors
from liman_nb.errors import ModelError, UsageError
from liman_nb.models.choose import as_llm
from liman_nb.models.langchain import LangChainLLM
from liman_nb.models.llm import Reply, Request, ToolCall, ToolSchema, Usage

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = Request("n", [{"role": "user", "content": "?"}])
OSLO = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}

UNREADABLE = {"name": "t", "args": '{"a"', "id": "x", "error": "", "type": "invalid_tool_call"}


class Chat(BaseChatModel):
    """A small chat model that answers with what it is given, and remembers what it gets."""

    answers: list[Any] = Field(default_factory=list)
    chunks: list[AIMessageChunk] = Field(default_factory=list)
    heard: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "small"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable | Any], **kwargs: Any
    ) -> Any:
        """As the chat models of the providers do it."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("only its async side is used")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        answer = self._next(messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.heard.append(messages)
        self.options.append(options)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return AIMessage(answer) if isinstance(answer, str) else answer


class Streaming(Chat):
    """The same with a stream of its own."""

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.chunks:
            yield ChatGenerationChunk(message=chunk)


def chat(*answers: Any) -> Chat:
    """A chat model with these answers."""
    return Chat(answers=list(answers))


async def answer(message: Any, request: Request = ASK) -> Reply:
    """The reply to one message of the chat model."""
    return await as_llm(chat(message)).complete(request)


# ── there ────────────────────────────────────────────────────────────────────────────────────────


async def test_messages_arrive_as_langchains_own():
    """System, user, assistant with calls, and tool become the classes that say so."""
    model = chat("ok")
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    await as_llm(model).complete(Request("n", messages))
    (heard,) = model.heard
    assert [type(m) for m in heard] == [SystemMessage, HumanMessage, AIMessage, ToolMessage]
    assert [m.content for m in heard] == ["Be brief.", "Oslo?", "", "rain"]
    assert heard[2].tool_calls == [OSLO]
    assert heard[3].tool_call_id == "c1"
    assert messages[2]["content"] is None


@pytest.mark.parametrize(
    ("written", "arrives"),
    [
        ("", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', {"invalid": '{"a": '}),
        ("[1]", {"invalid": "[1]"}),
    ],
)
async def test_arguments_that_a_model_wrote_badly(written: str, arrives: dict[str, Any]):
    """A remembered call whose arguments are no JSON object does not stop the conversation."""
    model = chat("ok")
    call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": written}}
    messages = [
        *ASK.messages,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "no"},
    ]
    await as_llm(model).complete(Request("n", messages))
    assert model.heard[0][1].tool_calls[0]["args"] == arrives


async def test_tools_and_options_are_passed_on():
    """Tools are bound; the node's own options go by LangChain's names, if there are any."""
    model = chat("ok", "ok")
    tool = ToolSchema("weather", "The weather.", CITY)
    request = Request("n", ASK.messages, [tool], model="big", temperature=0.0, max_tokens=7)
    await as_llm(model).complete(request)
    await as_llm(model).complete(ASK)
    function = {"name": "weather", "description": "The weather.", "parameters": CITY}
    assert model.options == [
        {
            "tools": [{"type": "function", "function": function}],
            "model": "big",
            "temperature": 0.0,
            "max_tokens": 7,
        },
        {},
    ]


async def test_a_chat_model_without_tools():
    """One that cannot bind tools is only refused where there are tools."""
    llm = as_llm(FakeListChatModel(responses=["hi"]))
    assert (await llm.complete(ASK)).text == "hi"
    tool = ToolSchema("weather", "", CITY)
    with pytest.raises(
        UsageError, match=r"FakeListChatModel.* takes no tools .* node 'n' has some"
    ):
        await llm.complete(Request("n", ASK.messages, [tool]))


async def test_yields_are_asked_for_in_words():
    """The schema stands in the prompt, since every chat model reads that."""
    model = chat("{}")
    await as_llm(model).complete(
        Request("n", ASK.messages, response_format={"name": "r", "schema": CITY})
    )
    system = model.heard[0][0]
    assert isinstance(system, SystemMessage)
    assert '"required": ["city"]' in str(system.content)


# ── and back ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_whole_reply():
    """Text, calls, usage and the model's name."""
    message = AIMessage(
        "Let me see.",
        tool_calls=[OSLO],
        usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
        response_metadata={"model_name": "big-1", "finish_reason": "tool_calls"},
    )
    call = ToolCall("c1", "weather", '{"city": "Oslo"}')
    assert await answer(message) == Reply("Let me see.", (call,), Usage(9, 4), "big-1")


@pytest.mark.parametrize(
    ("message", "means"),
    [
        (AIMessage("hi"), Reply("hi")),
        (AIMessage(""), Reply("")),
        (
            AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]),
            Reply("hi"),
        ),
        (
            AIMessage("", tool_calls=[OSLO | {"id": None, "args": {}}]),
            Reply(None, (ToolCall("call_0", "weather", "{}"),)),
        ),
        (
            AIMessage(
                "",
                invalid_tool_calls=[UNREADABLE],
            ),
            Reply(None, (ToolCall("x", "t", '{"a"'),)),
        ),
    ],
)
async def test_shapes_of_replies(message: AIMessage, means: Reply):
    """Parts that are no text are left out; bad arguments reach the engine as they were written."""
    assert await answer(message) == means


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"finish_reason": "length"}, errors.ModelReplyTruncated),
        ({"stop_reason": "max_tokens"}, errors.ModelReplyTruncated),
        ({"finish_reason": "MAX_TOKENS"}, errors.ModelReplyTruncated),
        ({"done_reason": "length"}, errors.ModelReplyTruncated),
        ({"finish_reason": "content_filter"}, errors.ModelContentFiltered),
        ({"finish_reason": "SAFETY"}, errors.ModelContentFiltered),
    ],
)
async def test_replies_that_ended_too_early(told: dict[str, str], named: type):
    """Whatever a provider calls it, a cut reply is no reply."""
    with pytest.raises(named):
        await answer(AIMessage("so", response_metadata=told))


async def test_a_refusal():
    """A refusal is one."""
    with pytest.raises(errors.ModelRefused, match="not that"):
        await answer(AIMessage("", additional_kwargs={"refusal": "not that"}))


# ── streams ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_stream_with_a_call_in_pieces():
    """Pieces of text are passed on as they come; pieces of a call, and the usage, are summed up."""

    def piece(arguments: str, **first: Any) -> AIMessageChunk:
        named = {"name": None, "id": None, "index": 0, "args": arguments} | first
        return AIMessageChunk("", tool_call_chunks=[named | {"type": "tool_call_chunk"}])

    model = Streaming(
        chunks=[
            AIMessageChunk("Let "),
            AIMessageChunk([{"type": "text", "text": "me.", "index": 0}]),
            piece('{"city"', name="weather", id="c1"),
            piece(': "Oslo"}'),
            AIMessageChunk(
                "",
                usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
                response_metadata={"model_name": "big-1"},
            ),
        ]
    )
    heard: list[str] = []
    reply = await as_llm(model).complete(ASK, heard.append)
    assert heard == ["Let ", "me."]
    call = ToolCall("c1", "weather", '{"city": "Oslo"}')
    assert reply == Reply("Let me.", (call,), Usage(9, 4), "big-1")


async def test_a_stream_of_langchains_own_fake():
    """The generic fake of langchain-core streams word by word."""
    heard: list[str] = []
    model = GenericFakeChatModel(messages=iter([AIMessage("one two")]))
    assert (await as_llm(model).complete(ASK, heard.append)).text == "one two"
    assert heard == ["one", " ", "two"]


async def test_a_model_that_does_not_stream():
    """Its reply comes in one piece."""
    heard: list[str] = []
    assert (await as_llm(chat("hi")).complete(ASK, heard.append)).text == "hi"
    assert heard == ["hi"]


async def test_nobody_listens():
    """Without a listener nothing is streamed."""
    model = Streaming(answers=["whole"])
    assert (await as_llm(model).complete(ASK)).text == "whole"


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


class Status(Exception):
    """An error of a provider's client, with a status where such clients have it."""

    def __init__(self, status: int, where: str, headers: dict[str, str] | None = None) -> None:
        super().__init__("the tides are wrong")
        self.response = SimpleNamespace(headers=headers or {})
        if where == "response":
            self.response.status_code = status
        else:
            setattr(self, where, status)


class ConnectError(Exception):
    """As HTTP libraries call it."""


@pytest.mark.parametrize("where", ["status_code", "response", "code"])
@pytest.mark.parametrize(
    ("status", "named", "retryable"),
    [
        (400, errors.ModelRejected, False),
        (401, errors.ModelRejected, False),
        (429, errors.ModelRateLimited, True),
        (503, errors.ModelServerError, True),
    ],
)
async def test_statuses(where: str, status: int, named: type, retryable: bool):
    """An HTTP status counts wherever a client keeps it."""
    with pytest.raises(ModelError, match=rf"HTTP {status}: the tides are wrong") as caught:
        await answer(Status(status, where))
    assert (type(caught.value), caught.value.retryable) == (named, retryable)
    assert isinstance(caught.value.__cause__, Status)


async def test_how_long_to_wait():
    """The server's word on when to ask again is kept."""
    with pytest.raises(errors.ModelRateLimited) as caught:
        await answer(Status(429, "status_code", {"retry-after": "7"}))
    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    ("raised", "named"),
    [
        (ConnectionRefusedError("no"), errors.ModelUnavailable),
        (TimeoutError(), errors.ModelUnavailable),
        (ConnectError("no"), errors.ModelUnavailable),
        (ValueError("no key"), errors.ModelError),
        (errors.ModelRefused("mine"), errors.ModelRefused),
    ],
)
async def test_other_errors(raised: Exception, named: type):
    """A broken connection may pass, anything else is named as it is; our own stay."""
    with pytest.raises(named) as caught:
        await answer(raised)
    assert type(caught.value) is named
    assert str(raised) in str(caught.value)


async def test_an_object_that_answers_with_nothing_useful():
    """Whatever has the two methods is taken for a chat model, and held to what it returns."""

    class Odd:
        def bind_tools(self, tools: Any) -> Any:
            return self

        async def ainvoke(self, messages: Any) -> Any:
            return "text"

    with pytest.raises(errors.ModelReplyInvalid, match="returned str, which is no message"):
        await as_llm(Odd()).complete(ASK)


# ── in an agent ──────────────────────────────────────────────────────────────────────────────────

SPECS = """
kind: LLMNode
name: chat
tools: [weather]
nodes: [report]
---
kind: LLMNode
name: report
yields: {city: string}
"""


def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


async def test_an_agent_with_tools_and_yields():
    """Calls are made, yields that do not fit are corrected, and tokens are counted."""
    used = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    talker = chat(
        AIMessage("", tool_calls=[OSLO], usage_metadata=used),
        AIMessage("It rains.", usage_metadata=used),
    )
    reporter = chat('{"town": 1}', 'So: {"city": "Oslo"}')
    agent = Agent(
        SPECS,
        llm=talker,
        llms={"report": reporter},
        tools=[weather],
        state_storage=InMemoryStateStorage(),
        start_node="chat",
    )
    result = await agent.step("Oslo?")
    assert result.output == {"city": "Oslo"}
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 4)
    assert talker.heard[1][-1].content == "rain in Oslo"
    assert len(reporter.heard) == 2


# ── as a value ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_recognised():
    """Chat models are wrapped, a wrapped one stays, and a bound one is one, too."""
    model = ParrotFakeChatModel()
    llm = as_llm(model)
    assert isinstance(llm, LangChainLLM)
    assert as_llm(llm) is llm
    assert repr(llm) == "LangChainLLM(ParrotFakeChatModel)"


def test_the_repr_names_the_model_and_no_key():
    """Where the chat model tells its model's name, the repr has it."""

    class Named(Chat):
        model_name: str = "big"
        api_key: str = "sk-canary"

    assert repr(as_llm(Named())) == "LangChainLLM(Named, 'big')"


def test_the_body_is_what_the_chat_model_gets():
    """`body` shows messages, tools and options for people who tune prompts."""
    assert LangChainLLM(chat()).body(Request("n", ASK.messages, temperature=1.0)) == {
        "messages": [{"role": "user", "content": "?"}],
        "tools": [],
        "temperature": 1.0,
    }


def test_langchain_is_not_imported():
    """Whoever passes no chat model of LangChain never loads it."""
    code = (
        "import sys, liman_nb.models as m; m.as_llm(['hi']); m.LangChainLLM(None);"
        " print([n for n in sys.modules if n.startswith('langchain')])"
    )
    root = Path(liman_nb.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
