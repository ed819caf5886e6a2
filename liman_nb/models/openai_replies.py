"""What an OpenAI-compatible server answers: a whole chat completion becomes a reply.

Pure: no client and no I/O. Servers differ in many small ways; the rules about whole replies stand
here, those about pieces of a stream in `openai_stream.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from liman_nb.errors import (
    ModelContentFiltered,
    ModelRefused,
    ModelReplyInvalid,
    ModelReplyTruncated,
    ModelServerError,
)
from liman_nb.models.llm import Reply, ToolCall, Usage

_SHOWN = 300
"""Characters of a server's own text that an error quotes."""


def read_reply(completion: Mapping[str, Any], who: str) -> Reply:
    """Read one whole chat completion.

    Args:
        completion: the object of https://platform.openai.com/docs/api-reference/chat/object.
        who: the model and server, for errors.

    Raises:
        ModelReplyTruncated: the finish reason is ``length``.
        ModelContentFiltered: the finish reason is ``content_filter``.
        ModelServerError: the finish reason is ``error``.
        ModelRefused: the model filled the protocol's refusal field.
        ModelReplyInvalid: there is no choice, or no message in it.
    """
    choice = _only_choice(completion, who)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise ModelReplyInvalid(f"{who} sent a choice without a message: {quote(choice)}")
    usage = _usage(completion.get("usage"))
    check_finish(choice.get("finish_reason"), usage, who)
    if refusal := message.get("refusal"):
        raise ModelRefused(f"{who} refused: {quote(refusal)}")
    calls = _tool_calls(message)
    text = content_text(message.get("content"))
    return Reply(
        text=text if text or not calls else None,
        tool_calls=calls,
        usage=usage,
        model=str(completion.get("model") or ""),
    )


def _only_choice(completion: Mapping[str, Any], who: str) -> Mapping[str, Any]:
    for choice in objects_of(completion.get("choices")):
        return choice
    raise ModelReplyInvalid(f"{who} sent a reply without choices: {quote(completion)}")


def check_finish(reason: Any, usage: Usage, who: str) -> None:
    """Raise what a finish reason means, if it means that the reply is of no use.

    Raises:
        ModelError: see :func:`read_reply`.
    """
    if reason == "length":
        after = f" after {usage.output_tokens} tokens" if usage.output_tokens else ""
        raise ModelReplyTruncated(
            f"{who} stopped at its token limit{after}, so the reply is incomplete; raise max_tokens"
            " (on the node or on the LLM object), or ask for a shorter answer"
        )
    if reason == "content_filter":
        raise ModelContentFiltered(
            f"{who} withheld the reply (finish reason content_filter); rephrase what the node sends"
        )
    if reason == "error":
        raise ModelServerError(f"{who} broke off with the finish reason error; ask again")


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects in what should be a list of them."""
    listed = value if isinstance(value, list | tuple) else ()
    return [item for item in listed if isinstance(item, Mapping)]


def content_text(content: Any) -> str:
    """The text of a message's content: text itself, text parts joined, nothing for null."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in objects_of(content))
    return "".join(part for part in parts if isinstance(part, str))


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The message's calls; a legacy ``function_call`` counts as one."""
    calls: Sequence[Mapping[str, Any]] = objects_of(message.get("tool_calls"))
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    return tuple(_tool_call(call, position) for position, call in enumerate(calls))


def _tool_call(call: Mapping[str, Any], position: int) -> ToolCall:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return ToolCall(
        id=str(call.get("id") or f"call_{position}"),
        name=str(function.get("name") or ""),
        arguments=arguments_text(function.get("arguments")),
    )


def arguments_text(arguments: Any) -> str:
    """Arguments as JSON text: as written, or written by us where a server sent an object."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def quote(value: Any) -> str:
    """A short printable piece of what a server sent."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"
