"""The exact requests sent to language models, for people who tune prompts. Memory only."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from liman_nb.models.llm import LLM, Request
from liman_nb.state.json_values import copied

KEPT = 50
"""Requests kept per node of a session; older ones are dropped."""

KEPT_NODES = 200
"""Nodes of sessions whose requests are kept; those that were asked longest ago are dropped."""


class RequestLog:
    """What was sent, newest last, by session (the id of its root executor) and node."""

    def __init__(self) -> None:
        self._sent: OrderedDict[tuple[str, str], deque[Mapping[str, Any]]] = OrderedDict()

    def record(self, root: str, llm: LLM, request: Request) -> None:
        """Keep a request: as the model puts it on the wire, if it says so, else as it was asked."""
        body = getattr(llm, "body", None)
        sent = body(request) if callable(body) else _as_asked(request)
        key = root, request.node
        self._sent.setdefault(key, deque(maxlen=KEPT)).append(sent)
        self._sent.move_to_end(key)
        if len(self._sent) > KEPT_NODES:
            self._sent.popitem(last=False)

    def of(self, root: str, node: str) -> list[Mapping[str, Any]]:
        """The requests of a node, oldest first."""
        return [copied(sent) for sent in self._sent.get((root, node), ())]


def _as_asked(request: Request) -> dict[str, Any]:
    return {f.name: getattr(request, f.name) for f in fields(request)}
