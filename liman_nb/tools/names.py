"""Names that models can call: tools by OpenAI's rule, arguments by the same characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_NAME = 64
"""Characters of a tool's or an argument's name."""


def tool_name(text: str, prefix: str = "") -> str:
    """A text as the name of a tool: every other character becomes ``_``.

    Returns:
        Empty if no letter or digit is left.
    """
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", text)).strip("_")
    return f"{prefix}{plain}"[:MAX_NAME] if re.search(r"[A-Za-z0-9]", plain) else ""


def argument_name(text: str) -> str:
    """A text as the name of an argument."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text).strip("_")[:MAX_NAME] or "value"


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or else the first of ``name_2``, ``name_3``, … that nobody has."""
    known, free, count = set(taken), name, 2
    while free in known:
        ending = f"_{count}"
        free, count = f"{name[: MAX_NAME - len(ending)]}{ending}", count + 1
    return free
