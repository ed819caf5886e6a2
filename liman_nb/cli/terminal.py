"""The way out to the terminal: text that any terminal can show and that commands none.

What to say is not this file's business.
"""

from __future__ import annotations

import codecs
import io
import re
import sys

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
_PLAIN: dict[int, str] = {
    ord(character): ascii_text
    for characters, ascii_texts in (
        ("├│└─", "||`-"),  # the tree's
        ("→⟨⟩…", ("->", "<", ">", "...")),  # the views'
        ("“”‘’–—", "\"\"''--"),  # what models like to write
    )
    for character, ascii_text in zip(characters, ascii_texts, strict=True)
}
_PLAINER = "liman_nb.plainer"


def say(text: str = "", *, end: bool = True, err: bool = False) -> None:
    """Print text at once.

    A terminal obeys control characters, and what is printed may come from anywhere: they are
    written out, as in ``⟨U+001B⟩``. The rest of what `views/escape.py` writes out stays as it is,
    since a text that arrives in pieces cannot be judged by its neighbours.

    Args:
        text: to print.
        end: whether to end the line.
        err: print to standard error.
    """
    lines = text.replace("\r\n", "\n")
    shown = _CONTROLS.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", lines)
    stream = sys.stderr if err else sys.stdout
    if stream is not None:  # it was not closed before we began
        stream.write(f"{shown}\n" if end else shown)
        stream.flush()


def make_printable() -> None:
    """Let both outputs print what their encoding lacks as the nearest ASCII, rather than fail."""
    codecs.register_error(_PLAINER, _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAINER)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """A codec's error handler: what to encode instead, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(_PLAIN)
    return lacking.encode("ascii", "replace").decode(), error.end
