"""Statuses and outcomes: the icon, the word and the colours of each, for light and dark grounds.

Data only. A status is never shown by its colour alone. The contrasts are computed by a test: text
on its ground at least 4.5:1, lines and borders on a page at least 3:1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StatusWord = Literal[
    "waiting", "skipped", "running", "suspended", "needs you", "done", "failed", "cancelled"
]
OutcomeWord = Literal["fired", "not fired", "undecided", "not considered"]


@dataclass(frozen=True, slots=True)
class Colours:
    """A chip or box: text on a ground within a border, as ``#rrggbb``."""

    text: str
    ground: str
    border: str


@dataclass(frozen=True, slots=True)
class StatusStyle:
    """How a status looks.

    Attributes:
        icon: one character that stands beside the word.
        light: colours on a light page, and of static output on any page.
        dark: colours on a dark page.
    """

    icon: str
    light: Colours
    dark: Colours


@dataclass(frozen=True, slots=True)
class OutcomeStyle:
    """How an edge looks.

    Attributes:
        icon: one character that stands before the condition.
        light: line colour on a light page.
        dark: line colour on a dark page.
        both: line colour that reads on either, for static output.
        width: line width in pixels.
        dashes: lengths of dashes and gaps in pixels; empty for a solid line.
        chip: the status whose colours its chip and its label borrow.
    """

    icon: str
    light: str
    dark: str
    both: str
    width: float
    dashes: tuple[float, ...]
    chip: StatusWord


_QUIET = (Colours("#57606a", "#f6f8fa", "#8c959f"), Colours("#b1bac4", "#1c2128", "#768390"))

STATUSES: dict[StatusWord, StatusStyle] = {
    "waiting": StatusStyle("○", *_QUIET),
    "skipped": StatusStyle("–", *_QUIET),
    "running": StatusStyle(
        "◐", Colours("#0550ae", "#ddf4ff", "#0969da"), Colours("#a5d6ff", "#0f2a4a", "#58a6ff")
    ),
    "suspended": StatusStyle(
        "⋯", Colours("#6639ba", "#fbf8ff", "#8250df"), Colours("#d2a8ff", "#221a33", "#a371f7")
    ),
    "needs you": StatusStyle(
        "◆", Colours("#7d4e00", "#fff8c5", "#9a6700"), Colours("#f2cc60", "#332509", "#d29922")
    ),
    "done": StatusStyle(
        "✓", Colours("#116329", "#dafbe1", "#1a7f37"), Colours("#7ee787", "#10291a", "#3fb950")
    ),
    "failed": StatusStyle(
        "✕", Colours("#a40e26", "#ffebe9", "#cf222e"), Colours("#ffa198", "#3a1518", "#f85149")
    ),
    "cancelled": StatusStyle(
        "⊘", Colours("#424a53", "#eaeef2", "#6e7781"), Colours("#c9d1d9", "#2d333b", "#8b949e")
    ),
}

OUTCOMES: dict[OutcomeWord, OutcomeStyle] = {
    "fired": OutcomeStyle("✓", "#1a7f37", "#3fb950", "#2da44e", 2.4, (), "done"),
    "not fired": OutcomeStyle("✕", "#6e7781", "#8b949e", "#818b98", 1.4, (5, 4), "cancelled"),
    "undecided": OutcomeStyle("?", "#9a6700", "#d29922", "#bf8700", 2.2, (1.5, 4), "needs you"),
    "not considered": OutcomeStyle("•", "#8c959f", "#768390", "#768390", 1.4, (), "waiting"),
}

INK = "#1f2328"
"""Text on a light ground that is not a status."""

PAPER = "#ffffff"
"""Ground of a condition's label."""


def contrast(one: str, other: str) -> float:
    """Contrast of two ``#rrggbb`` colours, 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = map(_linear, channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    darkest = 0.03928  # below it the sRGB curve is a straight line
    return channel / 12.92 if channel <= darkest else ((channel + 0.055) / 1.055) ** 2.4
