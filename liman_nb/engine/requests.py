"""The exact requests sent to language models, for people who tune prompts. Memory only."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from liman_nb.models.llm import LLM, Request

KEPT = 50
"""Requests kept per node; older ones are dropped."""


class RequestLog:
    """What was sent, newest last, by session and node."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], deque[Mapping[str, Any]]] = {}

    def record(self, session_id: str, llm: LLM, request: Request) -> None:
        """Keep a request: as the model puts it on the wire, if it says so, else as it was asked."""
        body = getattr(llm, "body", None)
        sent = body(request) if callable(body) else _as_asked(request)
        self._sent.setdefault((session_id, request.node), deque(maxlen=KEPT)).append(sent)

    def of(self, session_id: str, node: str) -> list[Mapping[str, Any]]:
        """The requests of a node, oldest first."""
        return list(self._sent.get((session_id, node), ()))


def _as_asked(request: Request) -> dict[str, Any]:
    return {f.name: getattr(request, f.name) for f in fields(request)}
