"""Text that fits a box: wrapping, eliding and measuring without a font or a display.

The font that a reader's browser picks is unknown, so widths are those of DejaVu Sans, which is
among the widest fonts a system interface uses. Text in scripts that are not measured here is
clipped to its box when it is drawn.
"""

from __future__ import annotations

import unicodedata

from liman_nb.views.escape import one_line

LINE_COLUMNS = 24
"""Columns of a line of a label; a wide character takes two."""

LABEL_LINES = 2

_HEAD_CAP = 2_000

MONO_ADVANCE = 6.62
"""Pixels per column of a monospaced font at 11 px (DejaVu Sans Mono: 0.602 em)."""

# Advance widths of the characters from space to tilde in DejaVu Sans Bold, in thousandths of an em.
_BOLD = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696,
    696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683,
    683, 821, 837, 372, 372, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771,
    724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665,
    343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
)  # fmt: skip


def bold_width(text: str, size: float) -> float:
    """Width in pixels of a line of bold sans-serif text, on the wide side."""
    return sum(_advance(c) for c in text) * size / 1000


def columns(text: str) -> int:
    """Columns of a line in a monospaced font."""
    return sum(_columns(c) for c in text)


def elide(text: str, limit: int = LINE_COLUMNS) -> str:
    """Foreign text on one line of at most ``limit`` columns; the rest becomes one ``…``."""
    line = one_line(text, 4 * limit)
    if len(text) <= 4 * limit and columns(line) <= limit:
        return line
    return _head(line, limit - 1).rstrip() + "…"


def wrap(text: str) -> tuple[str, ...]:
    """Foreign text on at most two lines of 24 columns; what does not fit becomes one ``…``.

    White space is one space; lines break there where they can.
    """
    rest = one_line(" ".join(text[:_HEAD_CAP].split()), 8 * LINE_COLUMNS)
    lines: list[str] = []
    while rest and len(lines) < LABEL_LINES - 1:
        line, rest = _first_line(rest)
        lines.append(line)
    if rest:
        lines.append(elide(rest))
    return tuple(lines)


def _first_line(text: str) -> tuple[str, str]:
    """The words that fit a line, or the part of a long word that does; and the rest."""
    if columns(text) <= LINE_COLUMNS:
        return text, ""
    head = _head(text, LINE_COLUMNS)
    at = len(head) if text[len(head)] == " " else head.rfind(" ")
    if at <= 0:
        at = len(head)
    return text[:at], text[at:].lstrip()


def _head(text: str, limit: int) -> str:
    """As many characters as fit ``limit`` columns."""
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > limit:
            return text[:position]
    return text


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _advance(character: str) -> float:
    if " " <= character <= "~":
        return _BOLD[ord(character) - 32]
    return (0, 850, 1050)[_columns(character)]
