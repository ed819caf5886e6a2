"""Values of the context and of credentials do not stand in a text that was redacted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, quote_plus
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr

from liman_nb.tools.redaction import REDACTED, redact


class Token(BaseModel):
    model_config = ConfigDict(extra="allow")
    value: SecretStr
    raw: SecretBytes = SecretBytes(b"raw-canary")


@dataclass
class Login:
    user: str
    token: Token


class Plan(Enum):
    GOLD = "gold-plan"


IDENTITY = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("secrets", "text", "redacted"),
    [
        ("hunter2", "the password hunter2 is wrong", "the password ⟨redacted⟩ is wrong"),
        ({"a": {"b": ["s3cret"]}}, "s3cret!", "⟨redacted⟩!"),
        ({"pin": 1234}, "pin 1234", "pin ⟨redacted⟩"),
        ({"rate": 0.125}, "rate 0.125", "rate ⟨redacted⟩"),
        ({"sum": Decimal("10.50")}, "10.50", "⟨redacted⟩"),
        ({"day": date(2024, 2, 29)}, "on 2024-02-29", "on ⟨redacted⟩"),
        ({"id": IDENTITY}, f"id={IDENTITY}", "id=⟨redacted⟩"),
        ({"path": PurePosixPath("/k/ann")}, "no /k/ann", "no ⟨redacted⟩"),
        ({"raw": b"bytes-canary"}, "b'bytes-canary'", "b'⟨redacted⟩'"),
        ({"plan": Plan.GOLD}, "gold-plan", "⟨redacted⟩"),
        ({"set": {"alpha"}, "tuple": ("beta",)}, "alpha beta", "⟨redacted⟩ ⟨redacted⟩"),
        (Login("ann-1", Token(value="model-canary", more="extra-canary")),
         "ann-1 model-canary raw-canary extra-canary", " ".join([REDACTED] * 4)),
        ([{"x": "one-1"}, {"x": "two-2"}], "one-1, two-2", "⟨redacted⟩, ⟨redacted⟩"),
        ("key", "the keykey", "the ⟨redacted⟩"),
        (["abc", "cab"], "xabcabx", "x⟨redacted⟩x"),
        (["abcdef", "bcd"], "abcdef bcd", "⟨redacted⟩ ⟨redacted⟩"),
        ("aba", "ababa", "⟨redacted⟩"),
        ("a b&c", "GET /?key=a%20b%26c HTTP", "GET /?key=⟨redacted⟩ HTTP"),
        ("a b&c", "key=a+b%26c", "key=⟨redacted⟩"),
        ("a/b c", "/a/b%20c", "/⟨redacted⟩"),
        ('say "hi"\n', 'bad: "say \\"hi\\"\\n"', 'bad: "⟨redacted⟩"'),
        ("line\nbreak", "ValueError('line\\nbreak')", "ValueError('⟨redacted⟩')"),
        ("größe", '{"key": "gr\\u00f6\\u00dfe"}', '{"key": "⟨redacted⟩"}'),
    ],
)  # fmt: skip
def test_each_scalar_is_replaced_as_it_prints(secrets: Any, text: str, redacted: str) -> None:
    """Nested values of every kind; plain, as JSON, as a Python literal, in a URL."""
    assert redact(text, secrets) == redacted


@pytest.mark.parametrize(
    ("secrets", "text"),
    [
        ({"user_id": "u-1"}, "the key user_id is missing"),
        ({"on": True, "off": False, "nothing": None}, "True, False and None"),
        ({"pin": 12, "code": "ab", "empty": ""}, "12 ab"),
        ({}, "nothing to hide"),
        (None, "nothing at all"),
    ],
)
def test_what_is_no_secret_stays(secrets: Any, text: str) -> None:
    """Keys, booleans, None, and values of less than three characters."""
    assert redact(text, secrets) == text


def test_a_value_within_itself_ends() -> None:
    """And a very deep one does."""
    cycle: dict[str, Any] = {"secret": "canary"}
    cycle["self"] = cycle
    assert redact("canary", cycle) == REDACTED
    deep: Any = "canary"
    for _ in range(10_000):
        deep = [deep]
    assert redact("canary", deep) == REDACTED


PLAIN = st.text(st.characters(exclude_characters="⟨⟩", exclude_categories=["Cs"]))
SECRETS = st.recursive(
    PLAIN | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=5,
)
FORMS = st.sampled_from([str, quote, quote_plus, json.dumps, repr])


def scalars(value: Any) -> list[str]:
    """Every scalar of a value of `SECRETS`."""
    if isinstance(value, list):
        return [scalar for item in value for scalar in scalars(item)]
    if isinstance(value, dict):
        return scalars(list(value.values()))
    return [str(value)]


@settings(deadline=None)
@given(st.data())
def test_no_secret_is_left(data: st.DataObject) -> None:
    """Whatever stands around and between the values, in whatever order and form they stand."""
    secrets = data.draw(SECRETS)
    values = scalars(secrets)
    pieces = data.draw(st.lists(st.sampled_from([*values, "", " ", "a"]) | PLAIN, max_size=8))
    text = "".join(data.draw(FORMS)(piece) for piece in pieces)
    stretches = redact(text, secrets).split(REDACTED)
    assert not [v for v in values if len(v) >= 3 for s in stretches if v in s]


@settings(deadline=None)
@given(PLAIN, SECRETS)
def test_what_is_kept_is_the_texts_own(text: str, secrets: Any) -> None:
    """Redaction only replaces: the stretches between stand in the text, in order."""
    position = 0
    for stretch in redact(text, secrets).split(REDACTED):
        position = text.index(stretch, position) + len(stretch)
    assert redact(text, []) == text
