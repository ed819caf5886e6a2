"""Ways to ask a server for JSON: which one it has, found out by asking, once per server and model.

Pure but for what `KnownWays` remembers as long as the process lives. `openai_chat.py` asks;
`openai_body.py` knows what each way looks like on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

Structured = Literal["schema", "json", "prompt"]
"""How a server is asked for JSON: a strict schema, its JSON mode, or words alone."""

WAYS: Sequence[Structured] = ("schema", "json", "prompt")
"""From the one that promises most to the one that every server has."""

HOW: Mapping[Structured, str] = {
    "schema": "with a JSON schema",
    "json": "in JSON mode",
    "prompt": "by the prompt alone",
}
"""Each way in words."""

_STATUSES = frozenset({400, 415, 422, 501})

_NAMES_A_WAY = re.compile(
    r"response.?format|json.?schema|json.?(object|mode)|structured.?outputs?|response.?mime.?type",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"not (\w+ )?(support|available|permitted|allowed|enabled|recogni[sz]ed|implemented)"
    r"|(does|do|is|are)n['’]?t (support|available|allowed|enabled)"
    r"|un(supported|available|known|recogni[sz]ed|expected)"
    r"|(must|should) be|expected one of|enabled only|only (supported|available)"
    r"|cannot be (combined|used)|invalid (type|value|parameter)|no such",
    re.IGNORECASE,
)
_BLAMES_THE_SCHEMA = re.compile(
    r"invalid (json.?)?schema|schema is invalid|in context|additionalproperties|'\$ref'|keyword",
    re.IGNORECASE,
)


def refuses_way(status: int, said: str) -> bool:
    """Whether an answer says that the server does not know the way in which it was asked for JSON.

    Not so an answer that finds fault with the schema itself, or with anything else.

    Args:
        status: the HTTP status.
        said: the server's own words.
    """
    return (
        status in _STATUSES
        and bool(_NAMES_A_WAY.search(said) and _REFUSES.search(said))
        and not _BLAMES_THE_SCHEMA.search(said)
    )


class KnownWays:
    """What worked, by server, model and whether tools were offered (some refuse both at once)."""

    def __init__(self) -> None:
        self._worked: dict[tuple[str, str, bool], Structured] = {}

    def first(self, server: str, model: str, tools: bool) -> Structured:
        """The way to try first."""
        return self._worked.get((server, model, tools), WAYS[0])

    def worked(self, server: str, model: str, tools: bool, way: Structured) -> None:
        """Remember it until the process ends."""
        self._worked[server, model, tools] = way


KNOWN_WAYS = KnownWays()
"""Shared by all models of the process; nothing of it is ever stored."""


def next_way(way: Structured) -> Structured | None:
    """The way that promises a little less, ``None`` after the last."""
    following = WAYS.index(way) + 1
    return WAYS[following] if following < len(WAYS) else None
