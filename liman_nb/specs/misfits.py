"""What does not fit, in sentences: pydantic's validation errors for a model and a person to read.

One sentence per place, which is shown as it would be written: ``steps[2].text``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from liman_nb.specs.findings import did_you_mean
from liman_nb.specs.located import Path, path_text

MAX_SENTENCES = 20
_SHOWN = 60  # characters of a value


def misfits(error: ValidationError, value: Any, known: Iterable[str] = ()) -> tuple[str, ...]:
    """One sentence for each place of a value that does not fit.

    Args:
        error: what pydantic found.
        value: the JSON value that was validated.
        known: names expected at the top level, for hints at misspelt ones.

    Returns:
        At most `MAX_SENTENCES`, then one that counts the rest.
    """
    reasons: dict[Path, list[str]] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        path = _path(detail, value)
        reason = _reason(detail, path, known)
        if reason not in reasons.setdefault(path, []):
            reasons[path].append(reason)
    sentences = [_sentence(path, found, value) for path, found in reasons.items()]
    rest = len(sentences) - MAX_SENTENCES
    return (*sentences[:MAX_SENTENCES], *([f"and {rest} more"] if rest > 0 else []))


def kind_of(value: Any) -> str:
    """A JSON value as a sentence names it: itself when it is a short scalar, else its kind."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def _path(detail: ErrorDetails, value: Any) -> Path:
    """The error's place in the value itself; pydantic also names the branches of unions."""
    path: list[str | int] = []
    named = detail["loc"]
    for i, part in enumerate(named):
        if _has(value, part):
            value = value[part]
        elif i < len(named) - 1 or detail["type"] != "missing":
            continue
        path.append(part)
    return tuple(path)


def _has(value: Any, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def _reason(detail: ErrorDetails, path: Path, known: Iterable[str]) -> str:
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), known) if len(path) == 1 else ""
        return f"is not expected here; {hint}" if hint else "is not expected here"
    text = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.replace("Input should be ", "must be ", 1)
    return text[:1].lower() + text[1:]


def _sentence(path: Path, reasons: Sequence[str], value: Any) -> str:
    subject = f"'{path_text(path)}'" if path else "the value"
    text = " or ".join(reasons)
    if text.startswith("is "):
        return f"{subject} {text}"
    if not text.startswith("must "):
        return f"{subject}: {text}"
    for part in path:
        value = value[part]
    return f"{subject} {text}, got {kind_of(value)}"
