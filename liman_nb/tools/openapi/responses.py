"""What an API answered, as a model can read it: JSON, text, or a word about what is neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from liman_nb.errors import ToolError
from liman_nb.specs.json_text import JsonProblem, read_json
from liman_nb.tools.redaction import redact, redact_json

MAX_ERROR = 2_000
"""Characters of an error's body that are passed on."""

_TEXTS = ("text/", "application/xml", "application/javascript", "application/x-www-form-urlencoded")


async def read_bounded(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """A body, and whether it was cut."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > limit:
            return bytes(data[:limit]), True
    return bytes(data), False


def read_answer(response: httpx.Response, data: bytes, *, cut: bool, secrets: Sequence[str]) -> Any:
    """A successful answer.

    Args:
        response: with its status and headers.
        data: its body.
        cut: whether the body went on.
        secrets: texts that are taken out of it.

    Returns:
        JSON as its value; text as it is, with a note when it was cut; else a sentence.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    status = f"HTTP {response.status_code}"
    if not data:
        return f"{status}, without content"
    text = _text(response, data, kind)
    if text is None:
        more = "more than " if cut else ""
        return f"{status}: {more}{len(data):,} bytes of {kind or 'unknown'} data, not passed on"
    if cut:
        text = _redacted_end(text, secrets)
        return f"{text}\n[cut: the answer has more than {len(data):,} bytes]"
    if kind.endswith("json") or not kind:
        try:
            return redact_json(read_json(text), secrets)
        except JsonProblem as problem:
            return f"{redact(text, secrets)}\n[not read as JSON: {problem}]" if kind else text
    return redact(text, secrets)


def failure(
    who: str, response: httpx.Response, data: bytes, *, cut: bool, secrets: Sequence[str]
) -> ToolError:
    """An answer of status 400 or above, or a redirect that is not followed.

    Args:
        who: the operation, for the message.
        response: with its status and headers.
        data: the body's beginning.
        cut: whether the body went on.
        secrets: texts that are taken out of it.
    """
    said = f"{who} failed: HTTP {response.status_code} {response.reason_phrase}".strip()
    if "retry-after" in response.headers:
        said += f" (retry after {response.headers['retry-after'][:40]})"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = (_text(response, data, kind) or "") if data else ""
    text = _redacted_end(text, secrets) if cut else redact(text, secrets)
    if cut or len(text) > MAX_ERROR:
        text = f"{text[:MAX_ERROR]}\n[cut: the answer goes on]"
    return ToolError(redact(said, secrets) + (f"\n{text}" if text else ""))


def _redacted_end(text: str, secrets: Sequence[str]) -> str:
    """A text that was cut, without secrets and without the end, where half a secret may stand."""
    longest = max(map(len, secrets), default=0) * 3  # each character may be written as %XX
    return redact(text, secrets)[:-longest] if longest else text


def _text(response: httpx.Response, data: bytes, kind: str) -> str | None:
    """The body as text; ``None`` if it is none."""
    if kind and not (kind.startswith(_TEXTS) or kind.endswith(("json", "xml", "yaml"))):
        return None
    try:
        return data.decode(response.charset_encoding or "utf-8", errors="replace")
    except LookupError:
        return data.decode("utf-8", errors="replace")
