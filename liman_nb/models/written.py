"""Replies that code writes instead of a model: for scripts, and for functions used as models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from liman_nb.errors import UsageError
from liman_nb.models.llm import Reply, ToolCall

Written: TypeAlias = str | Mapping[str, Any] | ToolCall | Sequence[str | ToolCall] | Reply
"""What stands for a reply: text, a mapping (its JSON is the text), calls, or the reply itself."""


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A tool call in a written reply.

    Example:
        >>> call("get_weather", city="Oslo").arguments
        '{"city": "Oslo"}'

    Args:
        name: the tool's name.
        arguments: its arguments, JSON-able. Without any, the text of the arguments is empty, as it
            is from real models. For arguments that are not valid JSON, write a
            :class:`~liman_nb.models.llm.ToolCall` yourself.

    Raises:
        UsageError: the arguments are not JSON-able.
    """
    return ToolCall(id="", name=name, arguments=_json(arguments) if arguments else "")


def as_reply(written: Any, *, model: str, new_id: Callable[[int], str]) -> Reply:
    """The reply that was written.

    Args:
        written: see :data:`Written`.
        model: name of the model, where the writing names none.
        new_id: gives a call without an id its own, by its position in the reply.

    Raises:
        UsageError: it is none of these.
    """
    match written:
        case Reply():
            return replace(written, model=written.model or model)
        case str():
            return Reply(text=written, model=model)
        case Mapping():
            return Reply(text=_json(dict(written)), model=model)
        case ToolCall():
            return _with_calls([written], model, new_id)
        case [*parts] if parts and all(isinstance(part, str | ToolCall) for part in parts):
            return _with_calls(parts, model, new_id)
    raise UsageError(
        f"{type(written).__name__} is not a reply; write text, a dictionary, call('tool', …), a"
        " list of calls and text, or a Reply"
    )


def _with_calls(parts: Sequence[str | ToolCall], model: str, new_id: Callable[[int], str]) -> Reply:
    calls = [part for part in parts if isinstance(part, ToolCall)]
    text = "".join(part for part in parts if isinstance(part, str))
    named = (replace(c, id=c.id or new_id(position)) for position, c in enumerate(calls))
    return Reply(text=text or (None if calls else ""), tool_calls=tuple(named), model=model)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a written reply must be JSON-able: {error}") from error
