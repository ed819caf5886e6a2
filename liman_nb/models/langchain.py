"""`LangChainLLM`: a chat model of LangChain, or whatever has its `ainvoke` and `bind_tools`.

Nothing of LangChain is imported: chat models take messages and tools as dictionaries of the shape
that this package uses anyway, and what they return is read by its attributes
(https://docs.langchain.com/oss/python/langchain/messages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from liman_nb.errors import (
    LimanError,
    ModelError,
    ModelRefused,
    ModelReplyInvalid,
    ModelUnavailable,
    UsageError,
)
from liman_nb.models.forbidding import check_allowed
from liman_nb.models.llm import OnToken, Reply, Request, ToolCall, Usage
from liman_nb.models.openai_body import messages_for, tools_for
from liman_nb.models.openai_errors import from_status
from liman_nb.models.openai_replies import arguments_text, check_finish, content_text, quote

_BAD_STATUS = 400
_CONNECTION = re.compile("connect|timeout|network|protocol|readerror|writeerror", re.IGNORECASE)
_FINISHES: Mapping[str, str] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
}
"""What providers call the two ways in which a reply can end too early."""


def is_chat_model(model: object) -> bool:
    """Whether an object has what a chat model of LangChain has."""
    return all(callable(getattr(model, name, None)) for name in ("ainvoke", "bind_tools"))


class LangChainLLM:
    """A chat model of LangChain as a model.

    A node's `model`, `temperature` and `max_tokens` are passed to the call by these names. For a
    node's `yields` the schema is put into the prompt, and the reply is validated. When anybody
    listens, the reply is streamed.

    Example:
        >>> agent = Agent("specs/", llm=ChatAnthropic(model="claude-sonnet-4-5"))  # is wrapped

    Args:
        chat_model: has `ainvoke`, `astream` and, for nodes with tools, `bind_tools`.
    """

    def __init__(self, chat_model: Any) -> None:
        self._model = chat_model

    def __repr__(self) -> str:
        """The class of the chat model, and its model's name where it tells; never its key."""
        name = getattr(self._model, "model_name", None) or getattr(self._model, "model", None)
        shown = f", {name!r}" if isinstance(name, str) else ""
        return f"LangChainLLM({type(self._model).__name__}{shown})"

    def check_setup(self) -> None:
        """Whether it may be used, asked before a turn begins.

        Raises:
            RealModelForbidden: real models are forbidden; see `liman_nb.testing`.
        """
        check_allowed(self)

    def body(self, request: Request) -> dict[str, Any]:
        """Messages, tools and options as the chat model gets them."""
        return {
            "messages": _readable(messages_for(request, "prompt")),
            "tools": tools_for(request),
            **_options(request),
        }

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request; see :class:`liman_nb.models.llm.LLM`.

        Raises:
            ModelError: the subclass says what happened, as far as the chat model's error does.
            UsageError: the node has tools, and the chat model takes none.
            RealModelForbidden: real models are forbidden; see `liman_nb.testing`.
        """
        self.check_setup()
        model, messages = self._with_tools(request), self.body(request)["messages"]
        try:
            if on_token is None:
                answer = await model.ainvoke(messages, **_options(request))
            else:
                answer = await _streamed(model.astream(messages, **_options(request)), on_token)
        except LimanError:
            raise
        except Exception as error:
            raise _meant(error, repr(self)) from error
        return _reply(answer, repr(self))

    def _with_tools(self, request: Request) -> Any:
        if not request.tools:
            return self._model
        try:
            return self._model.bind_tools(tools_for(request))
        except NotImplementedError:
            raise UsageError(
                f"{self!r} takes no tools (its bind_tools is not implemented), and node"
                f" {request.node!r} has some; give the node another model with llms={{…}}"
            ) from None


# ── there ────────────────────────────────────────────────────────────────────────────────────────


def _options(request: Request) -> dict[str, Any]:
    named = {
        "model": request.model,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in named.items() if value is not None}


def _readable(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages as LangChain reads them: content is never null, arguments are JSON objects."""
    return [_message(message) for message in messages]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    given = {**message, "content": message.get("content") or ""}
    if calls := message.get("tool_calls"):
        given["tool_calls"] = [_call(call["id"], call["function"]) for call in calls]
    return given


def _call(call_id: str, function: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(_object(function.get("arguments")), ensure_ascii=False)
    named = {"name": function["name"], "arguments": arguments}
    return {"type": "function", "id": call_id, "function": named}


def _object(arguments: Any) -> dict[str, Any]:
    """Arguments as an object; what a model wrote that is none stays readable in one."""
    try:
        read = json.loads(arguments or "{}")
    except ValueError:
        read = arguments
    return read if isinstance(read, dict) else {"invalid": arguments}


# ── and back ─────────────────────────────────────────────────────────────────────────────────────


async def _streamed(chunks: Any, on_token: OnToken) -> Any:
    """Pass the text on as it arrives, and return the sum of the chunks."""
    whole = None
    async for chunk in chunks:
        if text := _text(chunk.content):
            on_token(text)
        whole = chunk if whole is None else whole + chunk
    return whole


def _reply(answer: Any, who: str) -> Reply:
    if not hasattr(answer, "content"):
        raise ModelReplyInvalid(f"{who} returned {type(answer).__name__}, which is no message")
    told = _mapping(answer, "response_metadata")
    usage = _usage(_mapping(answer, "usage_metadata"))
    check_finish(_finish(told), usage, who)
    if refusal := _mapping(answer, "additional_kwargs").get("refusal"):
        raise ModelRefused(f"{who} refused: {quote(refusal)}")
    calls = _calls(answer)
    text = _text(answer.content)
    return Reply(
        text=text if text or not calls else None,
        tool_calls=calls,
        usage=usage,
        model=str(told.get("model_name") or told.get("model") or ""),
    )


def _text(content: Any) -> str:
    """The text of a message's content, which may be a list of texts and parts."""
    parts = content if isinstance(content, list) else [content]
    return "".join(part if isinstance(part, str) else content_text([part]) for part in parts)


def _calls(answer: Any) -> tuple[ToolCall, ...]:
    """The calls, and after them those whose arguments LangChain could not read."""
    read = [
        *(getattr(answer, "tool_calls", None) or ()),
        *(getattr(answer, "invalid_tool_calls", None) or ()),
    ]
    return tuple(
        ToolCall(
            id=str(call.get("id") or f"call_{position}"),
            name=str(call.get("name") or ""),
            arguments=arguments_text(call.get("args")),
        )
        for position, call in enumerate(read)
    )


def _usage(counted: Mapping[str, Any]) -> Usage:
    return Usage(counted.get("input_tokens") or 0, counted.get("output_tokens") or 0)


def _finish(told: Mapping[str, Any]) -> str | None:
    reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason")
    return _FINISHES.get(str(reason).lower())


def _mapping(answer: Any, name: str) -> Mapping[str, Any]:
    value = getattr(answer, name, None)
    return value if isinstance(value, Mapping) else {}


def _meant(error: Exception, who: str) -> ModelError:
    """What an exception of a provider's own client means: by its HTTP status, else by its class."""
    response = getattr(error, "response", None)
    for status in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(status, int) and status >= _BAD_STATUS:
            known = response if hasattr(response, "headers") else None
            return from_status(int(status), str(error), known, who)
    said = quote(str(error) or type(error).__name__)
    classes = [c.__name__ for c in type(error).__mro__]
    if isinstance(error, OSError) or any(_CONNECTION.search(name) for name in classes):
        return ModelUnavailable(f"no connection to {who}, or it broke: {said}")
    return ModelError(f"{who} failed: {type(error).__name__}: {said}")
