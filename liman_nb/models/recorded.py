"""`RecordedLLM`: records a real run to a file, and replays it without a network.

What the file holds is decided in `recording.py`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path
from typing import Literal

from liman_nb.errors import NotRecorded, UsageError
from liman_nb.models.callables import in_thread
from liman_nb.models.llm import LLM, OnToken, Reply, Request
from liman_nb.models.recording import (
    Essentials,
    Recorded,
    append,
    differences,
    essentials,
    key,
    read,
)

Mode = Literal["auto", "record", "replay"]
_MODES = ("auto", "record", "replay")


class RecordedLLM:
    """Answers from the recording of a real run, or makes the recording.

    A request is answered by the reply that was recorded for the same request: node, messages,
    tools, yields and options are equal. Equal requests get their replies in the order in which they
    were recorded, each once; a new object begins at the first again. Replies are the recorded ones
    exactly, with calls and their ids, usage and, where somebody listens, the pieces of the text. A
    call that failed is not recorded.

    The file is JSON lines, in UTF-8, to be kept beside a notebook or a test. It holds the replies,
    and of each request the beginning of its last message and fingerprints, so no system prompt and
    no key; what a model repeats of a prompt is in its reply.

    Example:
        >>> RecordedLLM("run.jsonl", OpenAILLM("gpt-4o-mini"))   # records what it does not know
        >>> RecordedLLM("run.jsonl")                             # replays

    Args:
        path: the recording.
        llm: the model that is recorded; without one the recording is only replayed.
        mode: ``replay`` never asks `llm`; ``record`` always does, and replaces the recording by a
            new one with the first reply; ``auto`` replays what the recording has and records the
            rest.

    Attributes:
        path: the recording.
        mode: as given.

    Raises:
        UsageError: the mode is none of these, ``record`` without a model, a model that is not an
            LLM object, ``replay`` of a file that does not exist, or a file that is no recording.
    """

    def __init__(
        self, path: str | os.PathLike[str], llm: LLM | None = None, mode: Mode = "auto"
    ) -> None:
        self.path, self.mode, self._llm = Path(path), mode, llm
        _check(self.path, llm, mode)
        self._lock = threading.Lock()
        self._starts_anew = mode == "record"
        self._recorded = [] if mode == "record" else read(self.path)
        self._left: dict[str, deque[Recorded]] = {}
        for recorded in self._recorded:
            self._left.setdefault(key(recorded.request), deque()).append(recorded)

    def __repr__(self) -> str:
        """The file, how many replies nobody has asked for yet, and the model."""
        model = f", {self._llm!r}" if self._llm is not None and self.mode != "replay" else ""
        return f"RecordedLLM({str(self.path)!r}, {self.remaining} replies left{model})"

    @property
    def remaining(self) -> int:
        """Recorded replies that nobody has asked for yet."""
        with self._lock:
            return sum(map(len, self._left.values()))

    def check_setup(self) -> None:
        """Whether a model that will be asked can be, asked before a turn begins.

        Raises:
            SetupError: it cannot; only asked where all is recorded anew.
        """
        if self.mode == "record" and callable(check := getattr(self._llm, "check_setup", None)):
            check()

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request; see :class:`liman_nb.models.llm.LLM`.

        Raises:
            NotRecorded: the recording has no reply for it, and there is no model to ask.
            Exception: whatever the model raises that is asked.
        """
        asked = essentials(request)
        if known := self._take(asked):
            return _play(known, on_token)
        if self._llm is None or self.mode == "replay":
            raise NotRecorded(self._missing(asked))
        return await self._record(self._llm, request, asked, on_token)

    def _take(self, asked: Essentials) -> Recorded | None:
        with self._lock:
            left = self._left.get(key(asked))
            return left.popleft() if left else None

    async def _record(
        self, llm: LLM, request: Request, asked: Essentials, on_token: OnToken | None
    ) -> Reply:
        pieces: list[str] = []

        def heard(piece: str) -> None:
            pieces.append(piece)
            if on_token is not None:
                on_token(piece)

        reply = await llm.complete(request, None if on_token is None else heard)
        recorded = Recorded(asked, reply, None if on_token is None else tuple(pieces))
        await in_thread(lambda: self._keep(recorded))
        return reply

    def _keep(self, recorded: Recorded) -> None:
        with self._lock:
            if self._starts_anew:
                self.path.unlink(missing_ok=True)
                self._starts_anew = False
            append(self.path, recorded)
            self._recorded.append(recorded)

    def _missing(self, asked: Essentials) -> str:
        what = f"{self.path} has no reply left for this request of node {asked['node']!r}"
        do = 'record it with RecordedLLM(path, llm) or, all of it anew, with mode="record"'
        nearest = min(
            enumerate(self._recorded, start=1),
            key=lambda one: _distance(one[1].request, asked),
            default=None,
        )
        if nearest is None:
            return f"{what}: the recording is empty; {do}"
        number, recorded = nearest
        differing = differences(recorded.request, asked)
        if not differing:
            count = sum(key(one.request) == key(asked) for one in self._recorded)
            return (
                f"{what}: it was asked once more than recorded ({count} in all); a new RecordedLLM"
                f" begins at the first again, or {do}"
            )
        return f"{what}; compared with reply {number}, {'; '.join(differing)}; {do}"


def _check(path: Path, llm: LLM | None, mode: Mode) -> None:
    if mode not in _MODES:
        raise UsageError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
    if llm is not None and (isinstance(llm, type) or not isinstance(llm, LLM)):
        raise UsageError(
            f"RecordedLLM records an LLM object, not {llm!r:.80}; pass OpenAILLM(…),"
            " LangChainLLM(chat_model) or CallableLLM(function)"
        )
    if llm is None and mode == "record":
        raise UsageError("there is nothing to record: pass a model, RecordedLLM(path, llm)")
    if (llm is None or mode == "replay") and not path.is_file():
        raise UsageError(
            f"there is no recording {path}; make it with RecordedLLM({str(path)!r}, OpenAILLM(…))"
        )


def _play(recorded: Recorded, on_token: OnToken | None) -> Reply:
    """The reply; a text that was not streamed when it was recorded comes in one piece."""
    text = recorded.reply.text
    pieces = ([text] if text else []) if recorded.pieces is None else recorded.pieces
    if on_token is not None:
        for piece in pieces:
            on_token(piece)
    return recorded.reply


def _distance(recorded: Essentials, asked: Essentials) -> tuple[bool, int]:
    """Another node is farthest; then counts how many parts differ."""
    return recorded.get("node") != asked["node"], len(differences(recorded, asked))
