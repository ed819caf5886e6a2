"""A node's message history as it is shown, with tool calls and their results paired."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from markupsafe import Markup

from liman_nb.views.bundles import View
from liman_nb.views.elements import (
    SMALL,
    caption,
    card,
    count,
    folded,
    header,
    join,
    more,
    part,
    tag,
    text_block,
)
from liman_nb.views.escape import TEXT_CAP, json_text, one_line, safe, visible
from liman_nb.views.palette import OUTCOMES, STATUSES

HTML_LIMIT = 50
TEXT_LIMIT = 100

_TEXT_CAP = 1_000

_CALL_CAP = 2_000
_TITLE_CAP = 80
_ROLES = {
    "user": "#58a6ff",
    "assistant": "#8b949e",
    "system": "#a371f7",
    "tool": "#d29922",
    "question": OUTCOMES["undecided"].both,
    "fallback": OUTCOMES["undecided"].both,
    "error": STATUSES["failed"].dark.border,
}
_BUBBLE = "padding:2px 0 2px 12px;margin:0 0 10px;border-left:3px solid"


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call with its result.

    Attributes:
        name: the tool, as the model wrote it.
        arguments: JSON text, as the model wrote it.
        result: what the model was answered; ``None`` while there is no answer.
    """

    name: str
    arguments: str
    result: str | None


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        text: its content as text; empty when it has none.
        calls: the tool calls of an assistant's message.
    """

    role: str
    text: str
    calls: tuple[ShownCall, ...] = ()


class MessagesView(View, Sequence[dict[str, Any]]):
    """The messages of one node, oldest first. A sequence of OpenAI-style dictionaries.

    Attributes:
        node: the node's name.
    """

    def __init__(self, node: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take a copy of a history.

        Args:
            node: the node's name.
            messages: OpenAI-style messages, oldest first.
        """
        self.node = node
        self._messages = [copy.deepcopy(dict(message)) for message in messages]

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._messages[index]

    def text(self) -> str:
        """The last hundred messages, a paragraph each."""
        shown = list(shown_messages(self._messages))
        hidden = len(shown) - TEXT_LIMIT
        head = f"Messages of {one_line(self.node)} ({len(self):,})"
        earlier = [f"… {hidden:,} earlier"] if hidden > 0 else []
        return "\n".join([head, *earlier, *map(_message_text, shown[-TEXT_LIMIT:])])

    def html(self) -> Markup:
        """A card with the last fifty messages, tool calls folded under them."""
        title = f"Messages of {one_line(self.node)}"
        return card(header(title, facts=count(len(self), "message")), part(self.body()))

    def body(self, limit: int = HTML_LIMIT, cap: int = TEXT_CAP) -> Markup:
        """The last messages, to stand in a card.

        Args:
            limit: messages at most.
            cap: characters of each.
        """
        shown = list(shown_messages(self._messages))
        if not shown:
            return tag("div", "No messages.", style=SMALL)
        hidden = more(len(shown) - limit, "earlier; messages[i] gives each")
        return tag("div", hidden, *(_message_html(m, cap) for m in shown[-limit:]))


def shown_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[ShownMessage]:
    """The messages with each tool result put to its call.

    Ids of calls repeat over a session, so results are looked for only right after their calls. A
    result without a call stays a message of its own.
    """
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        results: dict[str, str] = {}
        if message.get("tool_calls"):
            position = _collect_results(messages, position, message["tool_calls"], results)
        yield _shown(message, results)


def _collect_results(
    messages: Sequence[Mapping[str, Any]],
    position: int,
    calls: Sequence[Mapping[str, Any]],
    results: dict[str, str],
) -> int:
    """Read the results of these calls; return the position after them."""
    asked = {str(call.get("id")) for call in calls}
    while position < len(messages) and messages[position].get("role") == "tool":
        identity = str(messages[position].get("tool_call_id"))
        if identity not in asked or identity in results:
            break
        results[identity] = content_text(messages[position].get("content"))
        position += 1
    return position


def _shown(message: Mapping[str, Any], results: Mapping[str, str]) -> ShownMessage:
    calls = tuple(_call(call, results) for call in message.get("tool_calls") or ())
    return ShownMessage(str(message.get("role", "")), content_text(message.get("content")), calls)


def _call(call: Mapping[str, Any], results: Mapping[str, str]) -> ShownCall:
    function = call.get("function") or {}
    return ShownCall(
        str(function.get("name", "")),
        content_text(function.get("arguments")),
        results.get(str(call.get("id"))),
    )


def content_text(content: Any) -> str:
    """A message's content as text: the text of its parts, anything else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part_text(part) for part in content)
    return "" if content is None else json_text(content)


def _part_text(content: Any) -> str:
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json_text(content, _CALL_CAP)


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def _message_text(message: ShownMessage) -> str:
    lines = [f"{one_line(message.role)}: {visible(message.text, _TEXT_CAP)}".rstrip()]
    for call in message.calls:
        lines.append(f"  {one_line(call.name)}({one_line(call.arguments, _CALL_CAP)})")
        if call.result is not None:
            lines.append(f"  → {one_line(call.result, _CALL_CAP)}")
    return "\n".join(lines)


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────


def bubble(who: str, body: Markup, *, role: str) -> Markup:
    """What somebody said, with a line in the role's colour beside it."""
    colour = _ROLES.get(role, _ROLES["assistant"])
    name = tag("div", who, style="font-size:11px;font-weight:600")
    return tag("div", name, body, style=f"{_BUBBLE} {colour}")


def call_html(call: ShownCall) -> Markup:
    """A tool call, folded under one line that says what it came to."""
    answer = "" if call.result is None else f" → {one_line(call.result, _TITLE_CAP)}"
    title = f"tool {one_line(call.name)}({one_line(call.arguments, _TITLE_CAP)}){answer}"
    arguments = text_block(_pretty(call.arguments), mono=True)
    result = (
        tag("div", "no result", style=SMALL)
        if call.result is None
        else text_block(safe(call.result, _CALL_CAP), mono=True)
    )
    body = tag("div", caption("arguments"), arguments, caption("result"), result)
    return folded(title, tag("div", body, style="padding:2px 0 6px 14px"), style="font-size:12px")


def _message_html(message: ShownMessage, cap: int) -> Markup:
    text = text_block(safe(message.text, cap)) if message.text else ""
    body = tag("div", join(text, *map(call_html, message.calls)))
    return bubble(one_line(message.role), body, role=message.role)


def _pretty(arguments: str) -> Markup:
    """Arguments as indented JSON; as written where they are none, or long."""
    if len(arguments) > _CALL_CAP:
        return safe(arguments, _CALL_CAP)
    try:
        return safe(json_text(json.loads(arguments), indent=2))
    except (ValueError, RecursionError):
        return safe(arguments)
