"""What is sent to an OpenAI-compatible server: a request becomes a JSON body, and nothing else.

Pure: no client, no key, no address. The shape is the body of
https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from liman_nb.models.json_ways import Structured
from liman_nb.models.llm import Request, ToolSchema


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What an LLM object adds to each of its requests.

    Attributes:
        model: the model's name; a request's own name wins.
        temperature: used when the request names none; ``None`` leaves it to the server.
        max_tokens: used when the request names none; ``None`` leaves it to the server.
        limit_field: what the server calls that bound: OpenAI says ``max_completion_tokens`` and
            has deprecated ``max_tokens``, which most other servers still expect.
        structured: how to ask for JSON.
        extra_body: further fields of the body, which win over all others.
    """

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    structured: Structured = "schema"
    extra_body: Mapping[str, Any] = field(default_factory=dict)


def chat_body(request: Request, settings: ChatSettings, *, stream: bool = False) -> dict[str, Any]:
    """The JSON body of one chat completion.

    Args:
        request: what to answer.
        settings: the LLM object's own.
        stream: ask for a stream that ends with the tokens used.
    """
    temperature, limit = request.temperature, request.max_tokens
    body: dict[str, Any] = {
        "model": request.model or settings.model,
        "messages": messages_for(request, settings.structured),
        "tools": tools_for(request) or None,
        "response_format": _response_format(request.response_format, settings.structured),
        "temperature": settings.temperature if temperature is None else temperature,
        settings.limit_field: settings.max_tokens if limit is None else limit,
        "stream": stream,
        "stream_options": {"include_usage": True} if stream else None,
    }
    return {key: value for key, value in body.items() if value is not None} | dict(
        settings.extra_body
    )


def tools_for(request: Request) -> list[dict[str, Any]]:
    """The request's tools as the protocol describes them."""
    return [_tool(tool) for tool in request.tools]


def _tool(tool: ToolSchema) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def _response_format(wanted: Mapping[str, Any] | None, how: Structured) -> dict[str, Any] | None:
    if wanted is None or how == "prompt":
        return None
    if how == "json":
        return {"type": "json_object"}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(wanted.get("name", "")))[:64] or "reply"
    schema = {"name": name, "strict": wanted.get("strict", True), "schema": dict(wanted["schema"])}
    return {"type": "json_schema", "json_schema": schema}


def messages_for(request: Request, how: Structured) -> list[dict[str, Any]]:
    """The request's messages; with the schema in the system prompt where the server gets none."""
    messages = [dict(message) for message in request.messages]
    if request.response_format is None or how == "schema":
        return messages
    return _with_system_words(messages, _json_words(request.response_format["schema"]))


def _json_words(schema: Mapping[str, Any]) -> str:
    shown = json.dumps(schema, ensure_ascii=False)
    return (
        f"Answer with one JSON value and nothing else. It must satisfy this JSON schema:\n{shown}"
    )


def _with_system_words(messages: Sequence[dict[str, Any]], words: str) -> list[dict[str, Any]]:
    """The messages with ``words`` at the end of the system prompt, which is added when absent."""
    if messages and messages[0].get("role") == "system":
        first = messages[0] | {"content": f"{messages[0].get('content') or ''}\n\n{words}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": words}, *messages]
