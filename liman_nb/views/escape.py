"""The one place where foreign text is made safe to show, in HTML, SVG and a terminal.

Foreign is everything that a spec, a model, a tool, a stored row or a caller wrote. It is cut to a
length, characters that hide or reorder text are written out, and HTML's own characters are escaped.
Building HTML from the safe parts is not this file's job: see `elements.py`.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from markupsafe import Markup, escape

NAME_CAP = 120
"""Characters shown of a name or id."""

TEXT_CAP = 8_000
"""Characters shown of a message or an output."""

_JOINING = "\u0600-\u08ff\u0900-\u0dff\u1780-\u17ff"  # scripts that are spelled with joiners
_EMOJI = "\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"

_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f]"  # controls but tab and line feed
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u3164\uffa0]"
    "|[\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\ufdd0-\ufdef]"  # bidi, fillers
    "|[\ud800-\udfff]"  # lone surrogates
    "|[\U000e0000-\U000e0fff]"  # tags and variation selectors that carry hidden text
    f"|(?<![{_JOINING}{_EMOJI}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINING}{_EMOJI}])"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
    f"|(?<=[{_MARKS}]{{6}})[{_MARKS}]"  # a seventh mark on one letter only paints over others
)


def visible(text: str, cap: int = TEXT_CAP) -> str:
    """Text whose every character can be seen, cut to ``cap`` characters.

    Controls, zero-width and bidirectional characters and lone surrogates become ``⟨U+202E⟩``.
    Joiners stay inside emoji and inside the scripts that are spelled with them. What was cut is
    counted: ``… [9,992,000 more characters]``.
    """
    cut = len(text) - cap
    kept = text[:cap].replace("\r\n", "\n")
    shown = _UNSEEN.sub(lambda m: f"⟨U+{ord(m.group()):04X}⟩", kept)
    return f"{shown}… [{cut:,} more characters]" if cut > 0 else shown


def one_line(text: str, cap: int = NAME_CAP) -> str:
    """Like :func:`visible`, on one line: a line feed becomes ``↵``, a tab a space."""
    return visible(text, cap).replace("\n", "↵").replace("\t", " ")


def safe(text: str, cap: int = TEXT_CAP) -> Markup:
    """Foreign text as HTML or XML, for contents and for quoted attribute values."""
    return escape(visible(text, cap))


def json_text(value: Any, cap: int = TEXT_CAP, *, indent: int | None = None) -> str:
    """A value as JSON text, encoded only as far as it is shown.

    Args:
        value: JSON-able data; anything else inside it is shown as its type's name.
        cap: characters after which encoding stops.
        indent: spaces per level; ``None`` for one line.
    """
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent, default=_type_name)
    parts: list[str] = []
    length = 0
    try:
        whole = value[:cap] if isinstance(value, str) else value  # the quotes make it too long, too
        for part in islice(encoder.iterencode(whole), cap + 1):
            parts.append(part)
            length += len(part)
            if length > cap:
                break
    except (TypeError, ValueError, RecursionError) as error:
        parts.append(f" … [not JSON: {type(error).__name__}]")
    text = "".join(parts)
    cut = f"… [cut after {cap:,} characters]" if len(text) > cap else ""
    return visible(text[:cap], cap) + cut


def value_text(value: Any, cap: int = TEXT_CAP) -> str:
    """An input or output for reading: text as it is, anything else as indented JSON."""
    return visible(value, cap) if isinstance(value, str) else json_text(value, cap, indent=2)


def safe_value(value: Any, cap: int = TEXT_CAP) -> Markup:
    """:func:`value_text` as HTML."""
    return escape(value_text(value, cap))


def _type_name(value: Any) -> str:
    return f"<{type(value).__name__}>"
