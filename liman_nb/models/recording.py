"""The file of a recorded run: JSON lines, each with what was asked, in essentials, and the reply.

Of a request the file has the node, the options, names of tools, the roles of the messages and a
fingerprint of each part, and the beginning of the last message, for readers. A system prompt may
hold values of the call's context; of it there is the fingerprint only. (A fingerprint hides a value
as far as the value cannot be guessed.) This file knows no model; `recorded.py` plays.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from liman_nb.errors import UsageError
from liman_nb.models.llm import Reply, Request, ToolCall, Usage
from liman_nb.models.openai_replies import content_text

Essentials: TypeAlias = Mapping[str, Any]
"""What is kept of a request. Equal essentials, but for ``asked``, are equal requests."""

_ASKED = "asked"
_SHOWN = 80
"""Characters of the last message."""

_DIGITS = 16
"""Hexadecimal digits of a fingerprint."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of a recording.

    Attributes:
        request: the essentials.
        reply: what the model replied.
        pieces: the pieces in which its text arrived; ``None`` when it was not streamed.
    """

    request: Essentials
    reply: Reply
    pieces: Sequence[str] | None = None


def essentials(request: Request) -> dict[str, Any]:
    """What is kept of a request."""
    heat = request.temperature
    kept = {
        "node": request.node,
        _ASKED: _asked(request.messages),
        "messages": [f"{m.get('role')} {_fingerprint(m)}" for m in request.messages],
        "tools": {tool.name: _fingerprint(asdict(tool)) for tool in request.tools},
        "response_format": _fingerprint(request.response_format) if request.response_format else "",
        "model": request.model,
        "temperature": None if heat is None else float(heat),  # 0 and 0.0 are equal
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in kept.items() if value not in (None, "", {})}


def key(kept: Essentials) -> str:
    """The same for equal requests, and only for them."""
    return _canonical({name: value for name, value in kept.items() if name != _ASKED})


def differences(recorded: Essentials, asked: Essentials) -> list[str]:
    """In which parts two requests differ, in words; empty when they are equal."""
    named = ("node", "model", "temperature", "max_tokens")
    options = [
        f"{name} was {recorded.get(name)!r} and is {asked.get(name)!r}"
        for name in named
        if recorded.get(name) != asked.get(name)
    ]
    return [*options, *_differing_messages(recorded, asked), *_differing_forms(recorded, asked)]


def _differing_messages(recorded: Essentials, asked: Essentials) -> list[str]:
    before, now = recorded.get("messages", []), asked.get("messages", [])
    found = [
        f"message {position} ({_roles(old, new)}) has other content"
        for position, (old, new) in enumerate(zip(before, now, strict=False), start=1)
        if old != new
    ]
    if len(before) != len(now):
        found.append(f"there were {len(before)} messages and are {len(now)}")
    if found and recorded.get(_ASKED) != asked.get(_ASKED):
        said = [json.dumps(kept.get(_ASKED, ""), ensure_ascii=False) for kept in (recorded, asked)]
        found.append("the last one was {} and is {}".format(*said))
    return found


def _roles(old: str, new: str) -> str:
    before, now = old.partition(" ")[0], new.partition(" ")[0]
    return now if before == now else f"{before}, now {now}"


def _differing_forms(recorded: Essentials, asked: Essentials) -> list[str]:
    before, now = recorded.get("tools", {}), asked.get("tools", {})
    found = []
    if [*before] != [*now]:
        found.append(f"tools were {', '.join(before) or 'none'} and are {', '.join(now) or 'none'}")
    elif changed := [name for name in now if before[name] != now[name]]:
        found.append(f"the description of {', '.join(changed)} has changed")
    if recorded.get("response_format") != asked.get("response_format"):
        found.append("the node's yields have changed")
    return found


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def line(recorded: Recorded) -> bytes:
    """One line of the file, its line break included."""
    streamed = {} if recorded.pieces is None else {"pieces": list(recorded.pieces)}
    written = {"request": recorded.request, "reply": _written(recorded.reply), **streamed}
    return json.dumps(written, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def read(path: Path) -> list[Recorded]:
    """The lines of a recording; none where there is no file.

    A last line that was cut off in the middle, as by a kill, is left out.

    Raises:
        UsageError: another line is not one of a recording.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [_read_line(one, f"{path}:{n}") for n, one in enumerate(lines, start=1) if one.strip()]


def append(path: Path, recorded: Recorded) -> None:
    """Write a line at the end of the file in one piece, and the directories that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as file:
        _drop_half_line(file)
        file.write(line(recorded))


def _drop_half_line(file: io.FileIO) -> None:
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return
    file.seek(end - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.readall().rfind(b"\n") + 1)


def _written(reply: Reply) -> dict[str, Any]:
    told = asdict(reply)
    return {name: value for name, value in told.items() if value or name == "text"}


def _read_line(text: bytes, where: str) -> Recorded:
    try:
        told = json.loads(text.decode("utf-8", "surrogatepass"))
        reply = told["reply"]
        return Recorded(
            told["request"],
            Reply(
                text=reply["text"],
                tool_calls=tuple(ToolCall(**call) for call in reply.get("tool_calls", ())),
                usage=Usage(**reply.get("usage", {})),
                model=reply.get("model", ""),
                refusals=tuple(reply.get("refusals", ())),
            ),
            None if told.get("pieces") is None else tuple(told["pieces"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{where} is not a line of a recording ({type(error).__name__}: {error}); record anew"
            ' with RecordedLLM(path, llm, mode="record")'
        ) from error


# ── parts ────────────────────────────────────────────────────────────────────────────────────────


def _asked(messages: Sequence[Mapping[str, Any]]) -> str:
    """The beginning of the last message; nothing of a system prompt."""
    last = messages[-1] if messages else {}
    if last.get("role") == "system":
        return ""
    text = " ".join(content_text(last.get("content")).split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _fingerprint(part: Any) -> str:
    return sha256(_canonical(part).encode()).hexdigest()[:_DIGITS]


def _canonical(part: Any) -> str:
    return json.dumps(part, sort_keys=True, separators=(",", ":"))
