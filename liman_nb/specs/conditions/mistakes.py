"""What is wrong with a text that is no condition, and what to write instead.

One function, `explain`, turns the place where the parser stopped into one sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from liman_nb.specs.conditions.tree import Constant, Tree

if TYPE_CHECKING:
    from lark import Token
    from lark.exceptions import UnexpectedInput

FUNCTIONS = {"now": (0, 0), "len": (1, 1), "is_error": (0, 20)}
"""The functions of conditions, with the least and the greatest number of arguments."""

_SYNTAX_ONLY = frozenset({"LPAR", "RPAR", "LSQB", "RSQB", "COMMA", "DOT"})
_LONGEST_SHOWN = 40
_CLOSES = {")": "(", "]": "["}
_SIGNS = re.compile(r"[=!<>&|*^?:~]+")
_WRONG_SIGNS = {
    "=": "write == to compare",
    ":=": "write == to compare",
    "===": "write ==",
    "!==": "write !=",
    "=!": "write !=",
    "<>": "write !=",
    "=>": "write >=",
    "=<": "write <=",
    "&": "write and, or &&",
    "|": "write or, or ||",
    "**": "conditions have no powers",
    "?": "write and, or, not",
}
_WRONG_WORDS = {
    "is": "write == or !=",
    "equals": "write ==",
    "contains": "write 'part' in name",
    "xor": "write !=",
}


class Mistake(Exception):
    """Why a text is no condition.

    Attributes:
        message: what is wrong.
        position: 0-based offset of the first wrong character.
        hint: what to write instead; may be empty.
    """

    def __init__(self, message: str, position: int, hint: str = "") -> None:
        self.message, self.position, self.hint = message, position, hint
        super().__init__(message)


class Progress:
    """What of a condition was read so far.

    Attributes:
        last: the last token.
        nodes: how many names, values and operators there were.
        open: brackets that wait to be closed, innermost last, with their offsets.
        deepest: offset of the bracket that opened the deepest level.
    """

    def __init__(self) -> None:
        self.last: Token | None = None
        self.nodes = 0
        self.open: list[tuple[str, int]] = []
        self.deepest = 0
        self._levels = 0
        self._signs = 0

    @property
    def depth(self) -> int:
        """Open brackets, and signs or `not` one after another."""
        return len(self.open) + self._signs

    def take(self, token: Token) -> None:
        """Counts one token that the parser accepted."""
        self.last = token
        self.nodes += token.type not in _SYNTAX_ONLY
        self._signs = self._signs + 1 if token.type in ("_NOT", "MINUS") else 0
        if token in _CLOSES.values():
            self.open.append((str(token), token.start_pos or 0))
            if len(self.open) > self._levels:
                self._levels, self.deepest = len(self.open), token.start_pos or 0
        elif token in _CLOSES:
            self.open.pop()


def wrong_call(function: Token, arguments: Sequence[Tree]) -> Mistake | None:
    """What is wrong with the use of a function; ``None`` when it is right."""
    least, most = FUNCTIONS.get(function[1:], (-1, -1))
    position = function.start_pos or 0
    if least < 0:
        return _unknown_function(function, position)
    if not least <= len(arguments) <= most:
        count = {0: "no arguments", 1: "one argument"}.get(most, f"at most {most} arguments")
        return Mistake(f"{function} takes {count}, not {len(arguments)}", position)
    texts = all(isinstance(a, Constant) and a.kind is str for a in arguments)
    if function == "$is_error" and not texts:
        return Mistake("$is_error takes the names of error types in quotes", position)
    return None


def explain(text: str, error: UnexpectedInput, progress: Progress) -> Mistake:
    """The mistake that made the parser stop.

    Args:
        text: the whole condition.
        error: what lark raised: its place and the terminals that could have stood there.
        progress: what was read before.
    """
    token: Token | None = getattr(error, "token", None)
    ended = token is not None and token.type == "$END"
    position = len(text) if ended else (error.pos_in_stream or 0)
    found = str(token) if token is not None and not ended else text[position : position + 1]
    could_be = frozenset(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())
    stop = _Stop(text, position, found, token.type if token is not None else "", could_be, progress)
    return next(mistake for rule in _RULES if (mistake := rule(stop)))


# ── one rule per kind of mistake, the most telling first ─────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Stop:
    """The place where the parser stopped.

    Attributes:
        text: the whole condition.
        position: where it stopped.
        found: the token or character that stands there; empty at the end.
        kind: the token's terminal; empty for a character that begins no token.
        could_be: the terminals that could have stood there.
        progress: what was read before.
    """

    text: str
    position: int
    found: str
    kind: str
    could_be: frozenset[str]
    progress: Progress

    @property
    def last(self) -> str:
        """The kind of the token before."""
        return self.progress.last.type if self.progress.last is not None else ""


def _wrong_sign(stop: _Stop) -> Mistake | None:
    for signs in _SIGNS.finditer(stop.text):
        if signs.start() <= stop.position < signs.end() and signs[0] in _WRONG_SIGNS:
            return Mistake(f"'{signs[0]}' is no operator", signs.start(), _WRONG_SIGNS[signs[0]])
    return None


def _endless_text(stop: _Stop) -> Mistake | None:
    if stop.found in ("'", '"') and not stop.kind:
        hint = f"end it with {stop.found}; inside it write \\{stop.found}"
        return Mistake("the text that starts here never ends", stop.position, hint)
    return None


def _bare_function(stop: _Stop) -> Mistake | None:
    function = stop.progress.last
    if function is None or function.type != "FUNCTION":
        return None
    start = function.start_pos or 0
    if function[1:] not in FUNCTIONS:
        return _unknown_function(function, start)
    return Mistake(f"{function} is called with brackets", start, f"write {function}()")


def _call_of_a_name(stop: _Stop) -> Mistake | None:
    if stop.kind != "LPAR" or stop.last not in ("NAME", "FIELD", "RSQB"):
        return None
    name = str(stop.progress.last)
    hint = f"write ${name}(…)" if name in FUNCTIONS else f"only {_known()} can be called"
    return Mistake("conditions call no functions of names", stop.position, hint)


def _chain(stop: _Stop) -> Mistake | None:
    if stop.kind != "RELATION" or _wants_value(stop):
        return None
    hint = "write a < b and b < c, or put one comparison in brackets"
    return Mistake("comparisons do not chain", stop.position, hint)


def _weak_not(stop: _Stop) -> Mistake | None:
    if stop.kind != "_NOT" or not _wants_value(stop):
        return None
    hint = f"write ({stop.found} …)"
    return Mistake(f"'{stop.found}' after an operator needs brackets", stop.position, hint)


def _wrong_bracket(stop: _Stop) -> Mistake | None:
    opening = _CLOSES.get(stop.found)
    if opening is None:
        return None
    if not stop.progress.open:
        return Mistake(f"'{stop.found}' closes nothing", stop.position)
    opened, at = stop.progress.open[-1]
    if opened != opening:
        message = f"'{stop.found}' does not close the '{opened}' at character {at + 1}"
        return Mistake(message, stop.position)
    return None


def _early_end(stop: _Stop) -> Mistake | None:
    if stop.kind != "$END":
        return None
    if stop.progress.open and not _wants_value(stop):
        opened, at = stop.progress.open[-1]
        message = f"the '{opened}' at character {at + 1} is never closed"
        return Mistake(message, stop.position)
    return Mistake(f"the condition ends where {_wanted(stop)} is expected", stop.position)


def _wrong_word(stop: _Stop) -> Mistake | None:
    hint = _WRONG_WORDS.get(stop.found.lower())
    return Mistake(f"'{stop.found}' is no operator", stop.position, hint) if hint else None


def _anything(stop: _Stop) -> Mistake:
    hint = ""
    if stop.last == "DOT" and stop.found[:1].isdigit():
        hint = f"write [{stop.found}] for a position"
    elif stop.found == "." and _wants_value(stop):
        hint = "a number starts with a digit, such as 0.5"
    elif stop.found == "{":
        hint = "names stand without braces"
    shown = stop.found if len(stop.found) <= _LONGEST_SHOWN else f"{stop.found[:_LONGEST_SHOWN]}…"
    message = f"{_wanted(stop)} is expected here, not '{shown}'"
    return Mistake(message, stop.position, hint)


_RULES: tuple[Callable[[_Stop], Mistake | None], ...] = (
    _wrong_sign,
    _endless_text,
    _bare_function,
    _call_of_a_name,
    _chain,
    _weak_not,
    _wrong_bracket,
    _early_end,
    _wrong_word,
    _anything,
)


def _wants_value(stop: _Stop) -> bool:
    return "NAME" in stop.could_be


def _wanted(stop: _Stop) -> str:
    if _wants_value(stop):
        return "a value"
    if "FIELD" in stop.could_be:
        return "a field name"
    if "TEXT" in stop.could_be:
        return "a whole number or a quoted key"
    return "an operator"


def _unknown_function(function: str, position: int) -> Mistake:
    name = function[1:].lower()
    near = [known for known in FUNCTIONS if name.startswith(known)]
    near += difflib.get_close_matches(name, FUNCTIONS, n=1, cutoff=0.7)
    hint = f"did you mean ${near[0]}(…)?" if near else f"there are {_known()}"
    return Mistake(f"unknown function {function}", position, hint)


def _known() -> str:
    return "$now(), $len(…) and $is_error(…)"
