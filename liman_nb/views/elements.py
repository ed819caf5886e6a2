"""The parts that static HTML is built from: elements, chips, folded sections, cards.

The HTML has no script, no style sheet and no link. Styles are inline and use only what JupyterLab
keeps of an untrusted notebook (its sanitizer drops, among others, ``overflow-wrap: anywhere``, CSS
variables and inline SVG). Text takes the page's colour, so the same HTML reads in light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from liman_nb.views.escape import safe
from liman_nb.views.palette import OUTCOMES, STATUSES, OutcomeWord, StatusWord

LINE = "1px solid rgba(127,127,127,.35)"
"""A border between parts that reads on light and dark."""

MONO = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px"
SMALL = "font-size:12px;opacity:.8"
WRAPPED = "white-space:pre-wrap;overflow-wrap:break-word;min-width:0"

_CARD = "border:1px solid rgba(127,127,127,.45);border-radius:12px;margin:4px 0;"
_CARD += "font-size:13px;line-height:1.5;text-align:left;overflow:hidden"
_SECTION = f"border-top:{LINE};padding:8px 16px"
_CODE = f"{MONO};background:rgba(127,127,127,.13);border-radius:4px;padding:1px 5px;{WRAPPED}"


def tag(name: str, *children: str, style: str = "", **attributes: str) -> Markup:
    """An HTML element.

    Args:
        name: of the element.
        children: its contents in order; whatever is not :class:`~markupsafe.Markup` is foreign and
            is made safe.
        style: inline CSS.
        attributes: further attributes; an underscore at a name's end is left out (``class_``).
            Empty ones are left out whole.
    """
    written = {"style": style, **attributes}
    pairs = "".join(f' {key.rstrip("_")}="{_safe(v)}"' for key, v in written.items() if v)
    end = "" if name == "img" else f"</{name}>"
    return Markup(f"<{name}{pairs}>{join(*children)}{end}")  # noqa: S704 - every part is made safe


def join(*children: str) -> Markup:
    """Contents one after the other, foreign ones made safe."""
    return Markup("").join(_safe(child) for child in children)


def _safe(text: str) -> Markup:
    return text if isinstance(text, Markup) else safe(text)


# ── small parts ──────────────────────────────────────────────────────────────────────────────────


def status_chip(status: StatusWord, *, is_small: bool = False) -> Markup:
    """A status: icon, word and colours."""
    size = "font-size:11px;line-height:16px" if is_small else "font-size:12px;line-height:20px"
    return _chip(f"{STATUSES[status].icon} {status}", status, size)


def outcome_chip(outcome: OutcomeWord) -> Markup:
    """An edge's outcome: icon, word and colours; all chips have one width."""
    style = OUTCOMES[outcome]
    size = "min-width:84px;text-align:center;font-size:11px;line-height:18px"
    return _chip(f"{style.icon} {outcome}", style.chip, size)


def _chip(text: str, status: StatusWord, size: str) -> Markup:
    colours = STATUSES[status].light
    look = f"color:{colours.text};background:{colours.ground};border:1px solid {colours.border}"
    shape = "display:inline-block;border-radius:999px;padding:0 10px;font-weight:600"
    return tag("span", text, style=f"{shape};{look};{size};white-space:nowrap")


def code(text: str) -> Markup:
    """A short piece of code within a line."""
    return tag("span", text, style=_CODE)


def small(*children: str) -> Markup:
    """A quiet remark; nothing when there is nothing to say."""
    return tag("div", *children, style=SMALL) if any(children) else Markup("")


def text_block(text: str, *, mono: bool = False) -> Markup:
    """Running text with its own line breaks, in its own writing direction."""
    return tag("div", text, style=f"{MONO};{WRAPPED}" if mono else WRAPPED, dir="auto")


def caption(text: str) -> Markup:
    """A small heading over a part."""
    style = "font-size:11px;font-weight:600;text-transform:uppercase;letter-spacing:.04em"
    return tag("div", text, style=f"{style};opacity:.8;margin:0 0 2px")


# ── large parts ──────────────────────────────────────────────────────────────────────────────────


def folded(title: str, *body: str, is_open: bool = False, style: str = "") -> Markup:
    """Contents that open under their title. Works with the keyboard, without a script."""
    summary = tag("summary", title, style="cursor:pointer")
    return tag("details", summary, *body, style=style, open="open" if is_open else "")


def section(title: str, *body: str, is_open: bool = False) -> Markup:
    """A part of a card that opens under its title."""
    heading = tag("span", title, style="font-weight:600")
    return folded(
        heading, tag("div", *body, style="padding:8px 0 4px"), is_open=is_open, style=_SECTION
    )


def rows(contents: Iterable[Markup]) -> Markup:
    """Contents one under the other with lines between them."""
    return tag(
        "div",
        *(
            tag("div", content, style=f"padding:6px 0{f';border-top:{LINE}' if number else ''}")
            for number, content in enumerate(contents)
        ),
    )


def scrolling(content: Markup) -> Markup:
    """Contents that are scrolled sideways where they are wider than the page."""
    return tag("div", content, style="overflow:auto")


def part(*body: str) -> Markup:
    """A part of a card without a title."""
    return tag("div", *body, style=_SECTION)


def card(header: Markup, *parts: str) -> Markup:
    """A whole output. MathJax, which would typeset dollar signs, is told to leave it alone."""
    return tag("div", header, *parts, style=_CARD, class_="tex2jax_ignore mathjax_ignore")


def header(title: str, chip: Markup | None = None, facts: str = "") -> Markup:
    """The head of a card: a name, a status, some facts."""
    return tag(
        "div",
        tag("span", title, style="font-size:15px;font-weight:600;overflow-wrap:break-word"),
        chip or "",
        tag("span", facts, style="font-size:12px") if facts else "",
        style="padding:12px 16px;display:flex;flex-wrap:wrap;align-items:center;gap:4px 14px",
    )


def count(number: int, word: str) -> str:
    """Such as ``1 turn``, ``1,379 tokens``, ``2 entries``."""
    if number == 1:
        return f"1 {word}"
    return (
        f"{number:,} {word.removesuffix('y')}ies" if word.endswith("y") else f"{number:,} {word}s"
    )


def more(hidden: int, what: str) -> Markup:
    """How many were left out, such as ``… 12 earlier turns``; nothing when none were."""
    return small(f"… {hidden:,} {what}") if hidden > 0 else Markup("")
