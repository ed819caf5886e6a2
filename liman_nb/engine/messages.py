"""The messages of an LLM's history, in the shape of OpenAI's chat completions.

Pure: the same functions build the history when a run is applied and the request before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from liman_nb.engine.ids import call_via, child_id
from liman_nb.engine.tree import Executor, Tree
from liman_nb.state.json_values import copied
from liman_nb.state.rows import CallRecord, ErrorRecord
from liman_nb.tools.results import tool_text

Message = dict[str, Any]

CANCELLED = "Error: the call was cancelled before it gave a result."


def as_text(value: Any) -> str:
    """A value as a model reads it: text as it is, nothing as empty text, the rest as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def heard(tree: Tree, executor: Executor) -> list[Message]:
    """What the executor's next run tells the model: its input, or its tools' results."""
    if executor.calls:
        return tool_results(tree, executor)
    given = executor.input if executor.composed is None else executor.composed
    return [{"role": "user", "content": as_text(given)}]


def tool_results(tree: Tree, executor: Executor) -> list[Message]:
    """One tool message per open call, in call order."""
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": _result(
                tree.executors[child_id(executor.id, executor.runs, call_via(position, call.id))]
            ),
        }
        for position, call in enumerate(executor.calls)
    ]


def _result(call: Executor) -> str:
    if call.error is not None:
        return error_text(call.error)
    return tool_text(call.output) if call.runs else CANCELLED


def error_text(error: ErrorRecord) -> str:
    """A failure as a model reads it."""
    if error.type == "ToolError":
        return f"Error: {error.message}"
    return f"Error: {error.type}: {error.message}"


def said(text: str | None, calls: tuple[CallRecord, ...]) -> list[Message]:
    """The assistant's message; none when the model said nothing at all.

    With tool calls, a text of ``None`` stays null (OpenAI API reference, chat completions).
    """
    if calls:
        return [{"role": "assistant", "content": text, "tool_calls": [_call(c) for c in calls]}]
    return [{"role": "assistant", "content": text}] if text else []


def _call(call: CallRecord) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


def handed_out(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages that their receiver may change. Only those with calls hold more than text."""
    return [copied(m) if "tool_calls" in m else dict(m) for m in messages]


def recent(messages: list[Message], limit: int | None) -> list[Message]:
    """The last `limit` messages, begun at a user's message so that tool pairs are never split."""
    if limit is None or len(messages) <= limit:
        return messages
    start = len(messages) - limit
    while start > 0 and messages[start]["role"] != "user":
        start -= 1
    return messages[start:]


def fitted(history: list[Message], room: int, *, in_exchange: bool) -> list[Message]:
    """The latest part of a history that fits, begun at a user's message.

    Args:
        history: without the system prompt and what is said now.
        room: characters (see `size`).
        in_exchange: whether the last user's message and what follows it must stay, since what is
            said now answers its tool calls.
    """
    starts = [i for i, message in enumerate(history) if message["role"] == "user"]
    last = starts[-1] if in_exchange and starts else len(history)
    for start in [0, *starts]:
        if start >= last or size(history[start:]) <= room:
            return history[min(start, last) :]
    return history[last:]


def size(messages: Sequence[Mapping[str, Any]]) -> int:
    """About how many characters messages take in a model's window."""
    return sum(len(json.dumps(message, ensure_ascii=False)) for message in messages)
