"""Takes context and credential values out of a text before it is stored, shown or sent on.

A net below the rule that such values are never put into texts. What it does not catch: values
shorter than `MIN_SECRET`, values in another encoding than those named at :func:`redact` (base64,
hashes, other letter case, split or cut text), and what hides in attributes of other objects than
pydantic models and dataclasses.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, quote_plus
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr

MIN_SECRET = 3
"""Characters. Shorter values stay: they would black out half of every text."""

REDACTED = "⟨redacted⟩"

_SCALARS = (str, int, float, Decimal, UUID, date, time, PurePath)
_NO_SECRETS = (bool, type(None))


def redact(text: str, secrets: Any) -> str:
    """A text without any of the values in `secrets`.

    Args:
        text: such as an error's message.
        secrets: nested mappings, sequences, sets, pydantic models and dataclasses. Each scalar in
            them but booleans and None is a secret, as it prints: plainly, as a JSON or Python
            literal, or quoted for a URL. Keys are none.

    Returns:
        The text with every stretch that belongs to a secret replaced by `REDACTED`; of secrets that
        overlap in it nothing stays.
    """
    pieces, kept = [], 0
    for start, end in _merged(sorted(_spans(text, secrets))):
        pieces += [text[kept:start], REDACTED]
        kept = end
    return "".join([*pieces, text[kept:]])


def redact_json(value: Any, secrets: Any) -> Any:
    """A JSON value without any of the secrets in its texts and keys; see :func:`redact`."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, list):
        return [redact_json(item, secrets) for item in value]
    if isinstance(value, dict):
        return {redact(k, secrets): redact_json(v, secrets) for k, v in value.items()}
    return value


def _spans(text: str, secrets: Any) -> Iterator[tuple[int, int]]:
    """Where each secret occurs."""
    forms = {form for value in _scalars(secrets) for form in _forms(value)}
    for form in forms:
        start = text.find(form) if len(form) >= MIN_SECRET else -1
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + 1)


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted stretches, those that touch or overlap as one."""
    current: tuple[int, int] | None = None
    for start, end in spans:
        if current and start <= current[1]:
            current = (current[0], max(current[1], end))
            continue
        if current:
            yield current
        current = (start, end)
    if current:
        yield current


def _forms(value: str) -> set[str]:
    """How a value may be written in a text."""
    literals = {repr(value), json.dumps(value), json.dumps(value, ensure_ascii=False)}
    try:
        quoted = {quote(value), quote(value, safe=""), quote_plus(value)}
    except UnicodeEncodeError:  # half a surrogate pair
        quoted = set()
    return {value} | {literal[1:-1] for literal in literals} | quoted


def _scalars(secrets: Any) -> Iterator[str]:
    """Every scalar in a value, as text; a value within itself is looked at once."""
    waiting, seen = [secrets], dict[int, Any]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, _NO_SECRETS) or id(value) in seen:
            continue
        seen[id(value)] = value  # held, so that no other value gets its id
        if isinstance(value, bytes):
            yield value.decode(errors="replace")
        elif isinstance(value, _SCALARS) and not isinstance(value, Enum):
            yield str(value)
        waiting += _inner(value)


def _inner(value: Any) -> list[Any]:
    if isinstance(value, Enum):
        return [value.value]
    if isinstance(value, SecretStr | SecretBytes):
        return [value.get_secret_value()]
    if isinstance(value, BaseModel):
        return [*vars(value).values(), *(value.model_extra or {}).values()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple | set | frozenset) else []
