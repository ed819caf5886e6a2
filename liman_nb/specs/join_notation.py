"""Reads what a node waits for: ``a and (b or c?)``, a list of such texts, or one name.

A source is written as ``name``, ``Kind/name`` or ``Kind:name``; a node that is called ``and``,
``or`` or ``not`` only with its kind. ``or`` binds weaker than ``and``; words in any case; ``&&``
and ``||`` too. A list means all of its items. Whether a source exists is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from liman_nb.errors import JoinSyntaxError, Place
from liman_nb.specs.findings import Findings
from liman_nb.specs.joins import AllOf, AnyOf, Rule, Source
from liman_nb.specs.located import Located
from liman_nb.specs.references import Reference, parse_reference

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

FIELD = "wait_for"
"""The field that says what a node waits for."""

MAX_CHARACTERS = 4_000
"""Characters of one text."""

MAX_DEPTH = 64
"""Brackets inside each other."""

MAX_SOURCES = 500
"""Mentions of nodes in one node's field."""

_GRAMMAR = r"""
    ?either: both | both (_OR both)+        -> any_of
    ?both: part | part (_AND part)+         -> all_of
    ?part: "(" either ")" | source
    source: NAME OPTIONAL?

    _OR: /\|\||or(?![\w-])/i
    _AND: /&&|and(?![\w-])/i
    NAME: /[^\W\d]\w*\s*[\/:]\s*[\w-]+|(?!(and|or|not)(?![\w-]))[\w-]+/i
    OPTIONAL: "?"
    %ignore /\s+/
"""

_NOTHING = "leave it out for a node that waits for nothing"
_NO_NOT = "a node is waited for, or is optional: 'name?'; there is no 'not'"
_NO_QUOTES = "names stand without quotes"
_HINTS: Mapping[str, str] = {
    "not": _NO_NOT,
    "!": _NO_NOT,
    ",": "write 'and' between names, or a list: [a, b]",
    "&": "write and, or &&",
    "|": "write or, or ||",
    "'": _NO_QUOTES,
    '"': _NO_QUOTES,
    "[": "brackets are ( )",
    "{": "names stand without braces",
    "?": "a '?' stands once, behind a name",
    "and": "a node of that name is written with its kind, such as LLMNode/and",
    "or": "a node of that name is written with its kind, such as LLMNode/or",
}
"""What to write instead of what stands where it cannot."""

_FOUND = re.compile(r"&+|\|+|[\w-]+|.", re.DOTALL)
_LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Mention:
    """A source as a spec writes it.

    Attributes:
        reference: the node that is named.
        place: where the text stands that names it.
    """

    reference: Reference
    place: Place


@dataclass(frozen=True, slots=True)
class WrittenJoin:
    """What one document waits for.

    Attributes:
        text: as written, on one line; the items of a list joined by ``and``.
        rule: the same as a tree.
        mentions: every source, as often as it is written.
        place: where it stands.
    """

    text: str
    rule: Rule
    mentions: tuple[Mention, ...]
    place: Place


def read_join(document: Located, subject: str, findings: Findings) -> WrittenJoin | None:
    """What a document waits for; ``None`` for nothing, and for what cannot be read.

    Args:
        document: the document. Items that are no texts are left to its validation.
        subject: kind and name, for problems.
        findings: told of every text that cannot be read.
    """
    written = document.fields.get(FIELD)
    if written is None or written.value is None:
        return None
    items = written.items if written.is_list else (written,)
    for part in (written, *items):
        if part.value == () or (part.text is not None and not part.text.strip()):
            findings.error(f"{FIELD} is empty", part.place, subject, _NOTHING)
    parsed = [_parsed(item, subject, findings) for item in items]
    read = [part for part in parsed if part]
    if not items or len(read) < len(items):
        return None
    joined = _joined(read, written.place)
    if len(joined.mentions) > MAX_SOURCES:
        message = f"{FIELD}: at most {MAX_SOURCES} nodes can be named, these are "
        findings.error(f"{message}{len(joined.mentions):,}", written.place, subject)
        return None
    return joined


def _parsed(item: Located, subject: str, findings: Findings) -> WrittenJoin | None:
    if not (item.text and item.text.strip()):
        return None
    try:
        rule, references = parse_rule(item.text, item.place)
    except JoinSyntaxError as error:
        for problem in error.problems:
            findings.error(f"{FIELD}: {problem.message}", problem.place, subject, problem.hint)
        return None
    mentions = tuple(Mention(reference, item.place) for reference in references)
    return WrittenJoin(" ".join(item.text.split()), rule, mentions, item.place)


def _joined(read: Sequence[WrittenJoin], place: Place) -> WrittenJoin:
    """All items of a list as one."""
    if len(read) == 1:
        return read[0]
    texts = (f"({one.text})" if isinstance(one.rule, AnyOf) else one.text for one in read)
    mentions = tuple(mention for one in read for mention in one.mentions)
    return WrittenJoin(" and ".join(texts), _all_of([one.rule for one in read]), mentions, place)


# ── one text ─────────────────────────────────────────────────────────────────────────────────────


def parse_rule(text: str, place: Place | None = None) -> tuple[Rule, tuple[Reference, ...]]:
    """The rule of a text, and every node that it names, as often as it does.

    Args:
        text: at most 4,000 characters, with brackets at most 64 levels deep.
        place: where it stands, for the error.

    Raises:
        JoinSyntaxError: the text is no such rule; shows where with a caret.
    """
    from lark.exceptions import UnexpectedInput

    _check_bounds(text, place)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _mistake(text, error, place) from None
    names = tree.scan_values(lambda part: getattr(part, "type", "") == "NAME")
    return _rule(tree), tuple(parse_reference(str(name)) for name in names)


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, start="either", parser="lalr")


def _rule(tree: Any) -> Rule:
    """The rule that one of lark's trees stands for."""
    if tree.data == "source":
        name, *optional = tree.children
        return Source(parse_reference(str(name)).name, bool(optional))
    parts = [_rule(child) for child in tree.children]
    return _all_of(parts) if tree.data == "all_of" else AnyOf(tuple(_flat(parts, AnyOf)))


def _all_of(parts: Sequence[Rule]) -> Rule:
    return AllOf(tuple(_flat(parts, AllOf)))


def _flat(parts: Sequence[Rule], kind: type[AllOf | AnyOf]) -> list[Rule]:
    """The parts, with those of the same kind dissolved: brackets that change nothing."""
    flat: list[Rule] = []
    for part in parts:
        flat += part.parts if isinstance(part, AllOf | AnyOf) and type(part) is kind else [part]
    return flat


# ── what is wrong with it ────────────────────────────────────────────────────────────────────────


def _check_bounds(text: str, place: Place | None) -> None:
    if len(text) > MAX_CHARACTERS:
        message = f"at most {MAX_CHARACTERS:,} characters are read, these are {len(text):,}"
        raise JoinSyntaxError(message, text[: MAX_CHARACTERS + 1], MAX_CHARACTERS, place)
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth > MAX_DEPTH:
            message = f"brackets stand at most {MAX_DEPTH} levels deep"
            raise JoinSyntaxError(message, text, position, place)


def _mistake(text: str, error: UnexpectedInput, place: Place | None) -> JoinSyntaxError:
    """The error that says where lark stopped, what it found there, and what is expected."""
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        return JoinSyntaxError(_early_end(text, error), text, len(text), place)
    position = error.pos_in_stream or 0
    match = _FOUND.match(text, position)
    found = match[0] if match else ""
    if found == ")" and not _open_brackets(text[:position]):
        return JoinSyntaxError("')' closes nothing", text, position, place)
    shown = found if len(found) <= _LONGEST_SHOWN else f"{found[:_LONGEST_SHOWN]}…"
    message = f"{_expected(text[:position], error)} is expected here, not '{shown}'"
    return JoinSyntaxError(message, text, position, place, _HINTS.get(found.lower(), ""))


def _early_end(text: str, error: UnexpectedInput) -> str:
    if _wants_name(error):
        return "the text ends where a node's name is expected"
    return f"the '(' at character {_open_brackets(text)[-1] + 1} is never closed"


def _expected(before: str, error: UnexpectedInput) -> str:
    if _wants_name(error):
        return "a node's name"
    return "'and', 'or' or ')'" if _open_brackets(before) else "'and', 'or' or the end"


def _wants_name(error: UnexpectedInput) -> bool:
    could_be = getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    return "NAME" in could_be


def _open_brackets(text: str) -> list[int]:
    """Where the brackets begin that wait to be closed, innermost last."""
    waiting: list[int] = []
    for position, character in enumerate(text):
        if character == "(":
            waiting.append(position)
        elif character == ")" and waiting:
            waiting.pop()
    return waiting
