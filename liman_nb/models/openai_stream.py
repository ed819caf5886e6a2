"""A streamed chat completion: chunks are put together into the shape of a whole one.

Pure: no client and no I/O. The result is read by `openai_replies.read_reply` like a reply that was
not streamed, so that both ways give an equal reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from liman_nb.errors import ModelReplyInvalid, ModelUnavailable
from liman_nb.models.openai_replies import arguments_text, content_text, objects_of

MAX_REPLY = 2_000_000
"""Characters of text and arguments of one reply; a stream that goes on longer is refused."""


@dataclass(slots=True)
class _PartialCall:
    """A tool call whose pieces are still arriving, or one such piece."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self.arguments)

    def continues(self, piece: _PartialCall) -> bool:
        """Whether a piece belongs to this call.

        Some servers send every call under index 0, told apart by id, by name, or only by a new
        object of arguments after a complete one; others leave out the index, or repeat id and name
        with each piece.
        """
        other_id = bool(piece.id and self.id and piece.id != self.id)
        other_name = bool(piece.name and self.name and piece.name != self.name)
        again = bool(piece.name) and piece.text.lstrip().startswith("{")
        return not (other_id or other_name or (again and _is_json(self.text)))

    def add(self, piece: _PartialCall) -> None:
        """Take one piece."""
        self.id, self.name = self.id or piece.id, self.name or piece.name
        self.arguments += piece.arguments

    def whole(self) -> dict[str, Any]:
        """The call as it stands in a whole message."""
        return {"id": self.id, "function": {"name": self.name, "arguments": self.text}}


class StreamedReply:
    """Puts the chunks of a streamed chat completion together.

    Chunks have the shape of https://platform.openai.com/docs/api-reference/chat/streaming.

    Args:
        who: the model and server, for errors.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._room = MAX_REPLY
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_PartialCall] = []
        self._legacy = _PartialCall()
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._model = ""

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk and return the text that it brought, which is often none.

        Raises:
            ModelReplyInvalid: the reply is longer than the limit.
        """
        self._model = self._model or str(chunk.get("model") or "")
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = chunk["usage"]
        return "".join(
            self._add_choice(choice)
            for choice in objects_of(chunk.get("choices"))
            if not choice.get("index")
        )

    def _add_choice(self, choice: Mapping[str, Any]) -> str:
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        text, refusal = content_text(delta.get("content")), content_text(delta.get("refusal"))
        self._text.append(self._bounded(text))
        self._refusal.append(self._bounded(refusal))
        for call in objects_of(delta.get("tool_calls")):
            self._add_call(self._piece(call))
        self._legacy.add(self._piece({"function": delta.get("function_call")}))
        return text

    def _add_call(self, piece: _PartialCall) -> None:
        """Add a piece to the latest call with its index, or begin a new call."""
        same = (c for c in reversed(self._calls) if piece.index in (None, c.index))
        latest = next(same, None)
        if latest is None or not latest.continues(piece):
            latest = _PartialCall(piece.index)
            self._calls.append(latest)
        latest.add(piece)

    def _piece(self, delta: Mapping[str, Any]) -> _PartialCall:
        """One piece of a tool call; whatever is missing or null is empty."""
        index, function = delta.get("index"), delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        return _PartialCall(
            index=index if isinstance(index, int) else None,
            id=str(delta.get("id") or ""),
            name=str(function.get("name") or ""),
            arguments=[self._bounded(arguments_text(function.get("arguments")))],
        )

    def _bounded(self, text: str) -> str:
        self._room -= len(text)
        if self._room < 0:
            raise ModelReplyInvalid(f"a reply of {self._who} is longer than {MAX_REPLY} characters")
        return text

    def completion(self) -> dict[str, Any]:
        """The whole completion, as a server would have sent it without streaming.

        Raises:
            ModelUnavailable: the stream ended before the model had finished.
        """
        if self._finish is None:
            raise ModelUnavailable(
                f"the stream of {self._who} ended in the middle of the reply; ask again"
            )
        message = {
            "content": "".join(self._text),
            "refusal": "".join(self._refusal),
            "tool_calls": [call.whole() for call in sorted(self._calls, key=_order)],
            "function_call": self._legacy.whole()["function"] if self._legacy.name else None,
        }
        choice = {"message": message, "finish_reason": self._finish}
        return {"choices": [choice], "usage": self._usage, "model": self._model}


def _order(call: _PartialCall) -> int:
    return call.index or 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
