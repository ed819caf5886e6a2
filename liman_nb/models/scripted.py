"""`ScriptedLLM`: a model that answers from a script. For tests, teaching and demonstrations."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from liman_nb.errors import ScriptExhausted, UsageError
from liman_nb.models.callables import call_function
from liman_nb.models.llm import OnToken, Reply, Request
from liman_nb.models.openai_replies import content_text, quote
from liman_nb.models.written import Written, as_reply

Item: TypeAlias = (
    Written
    | BaseException
    | type[BaseException]
    | Callable[[Request], Written | Awaitable[Written]]
)
"""One entry of a script."""

_ANY = ""


class ScriptedLLM:
    """Answers each request with the next entry of a script, and remembers what it was asked.

    Example:
        >>> llm = ScriptedLLM([
        ...     [call("get_weather", city="Oslo"), call("get_weather", city="Lima")],
        ...     "Rain in Oslo, sun in Lima.",
        ... ])
        >>> by_node = ScriptedLLM({
        ...     "triage": [{"topic": "billing"}],
        ...     "billing": [lambda request: f"You said: {request.messages[-1]['content']}"],
        ... })

    Args:
        script: a list of entries for all nodes together, or a list for each node by its name. Where
            nodes run side by side, name them, so that each finds its own replies. An entry is

            - text, or a dictionary (a node's `yields`; its JSON is the text);
            - ``call("tool", argument=…)``, or a list of calls, with text between them if you like;
            - a :class:`~liman_nb.models.llm.Reply`, given as it is;
            - an exception, or its class, to be raised;
            - a function of the :class:`~liman_nb.models.llm.Request`, sync or async, that returns
              one of these.
        seconds_per_token: seconds between two words of a streamed reply; 0 streams at full speed.

    Attributes:
        requests: every request so far, in order.

    Raises:
        UsageError: the script holds something that is none of these.
    """

    def __init__(
        self,
        script: Sequence[Item] | Mapping[str, Sequence[Item]],
        *,
        seconds_per_token: float = 0.0,
    ) -> None:
        by_node = script if isinstance(script, Mapping) else {_ANY: script}
        self._parts = {node: _Part(node, items) for node, items in by_node.items()}
        self._seconds = seconds_per_token
        self.requests: list[Request] = []

    def __repr__(self) -> str:
        """How many replies are left."""
        return f"ScriptedLLM({self.remaining} replies left)"

    @property
    def remaining(self) -> int:
        """Replies that nobody has asked for yet; 0 at the end of a test means all were used."""
        return sum(len(part.left) for part in self._parts.values())

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer with the next entry; a streamed text arrives word by word.

        Raises:
            ScriptExhausted: the script has no reply left for this node.
            BaseException: the entry, when it is an exception.
        """
        self.requests.append(request)
        part = self._parts.get(request.node) or self._parts.get(_ANY)
        if part is None:
            raise ScriptExhausted(
                f"the script has no replies for node {request.node!r}, only for"
                f" {', '.join(map(repr, self._parts)) or 'no node at all'}"
            )
        number, item = part.take(request)
        reply = await self._play(item, request, partial(_call_id, number))
        await self._stream(reply.text or "", on_token)
        return reply

    async def _play(self, item: Any, request: Request, new_id: Callable[[int], str]) -> Reply:
        if callable(item) and not _is_exception_class(item):
            item = await call_function(item, request)
        if isinstance(item, BaseException) or _is_exception_class(item):
            raise item
        return as_reply(item, model="scripted", new_id=new_id)

    async def _stream(self, text: str, on_token: OnToken | None) -> None:
        if on_token is None:
            return
        for word in re.findall(r"\s*\S+|\s+$", text):
            await asyncio.sleep(self._seconds)
            on_token(word)


class _Part:
    """The replies for one node, or for all."""

    def __init__(self, node: str, items: Sequence[Item]) -> None:
        if isinstance(items, str) or not isinstance(items, Sequence):
            where = f" for node {node!r}" if node else ""
            raise UsageError(f"a script{where} is a list of replies, not {type(items).__name__}")
        for position, item in enumerate(items):
            _check(item, f"{node or 'script'}[{position}]")
        self.left = deque(items)
        self._count = len(items)
        self._lock = threading.Lock()

    def take(self, request: Request) -> tuple[int, Item]:
        """The next entry and its number, counted from 1."""
        with self._lock:
            if self.left:
                number = self._count - len(self.left) + 1
                return number, self.left.popleft()
        raise ScriptExhausted(
            f"node {request.node!r} asked once more than the script has replies"
            f" ({self._count} in all); it was asked: {_asked(request)}"
        )


def _check(item: Any, where: str) -> None:
    """Refuse what could never be a reply, before anything runs."""
    if callable(item) or isinstance(item, BaseException):
        return
    try:
        as_reply(item, model="", new_id=str)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _call_id(number: int, position: int) -> str:
    """A call's id: by the reply's number in its script and the call's position, so repeatable."""
    return f"call_{number}_{position + 1}"


def _is_exception_class(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseException)


def _asked(request: Request) -> str:
    last = request.messages[-1] if request.messages else {}
    return quote(content_text(last.get("content")) or last)
