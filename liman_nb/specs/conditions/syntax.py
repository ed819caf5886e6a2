"""Reads the text of a condition into a tree, or says with a caret why it cannot.

The grammar is lark's LALR; lark is imported and the parser built on first use. What a name stands
for, and whether it exists, is not decided here. The words of errors are in `mistakes.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from liman_nb.errors import ConditionSyntaxError, Place
from liman_nb.specs.conditions.mistakes import Mistake, Progress, explain, wrong_call
from liman_nb.specs.conditions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Items,
    Logic,
    Name,
    Negative,
    Not,
    Operator,
    Relation,
    Tree,
    walk,
)

if TYPE_CHECKING:
    from lark import Lark, Token

MAX_CHARACTERS = 4_000
MAX_DEPTH = 64
MAX_NODES = 500
MAX_DIGITS = 300

_GRAMMAR = r"""
    // Weakest first. Words are read in any case; after a dot every word is a field name.
    ?condition: conjunction | conjunction (_OR conjunction)+        -> either
    ?conjunction: negation | negation (_AND negation)+              -> both
    ?negation: comparison | _NOT negation                           -> negated
    ?comparison: sum | sum RELATION sum                             -> compared
    ?sum: product | product ((PLUS | MINUS) product)+               -> calculated
    ?product: signed | signed (TIMES signed)+                       -> calculated
    ?signed: atom | MINUS signed                                    -> negative
    ?atom: "(" condition ")"                                        -> bracketed
         | "[" (condition ("," condition)*)? "]"                    -> items
         | FUNCTION "(" (condition ("," condition)*)? ")"           -> call
         | NAME ("." FIELD | "[" _index "]")*                       -> name
         | NUMBER                                                   -> number
         | TEXT                                                     -> text
         | WORD                                                     -> word
    _index: MINUS? NUMBER | TEXT

    _OR: /\|\||or\b/i
    _AND: /&&|and\b/i
    _NOT: /!(?!=)|not\b/i
    RELATION: /[=!<>]=|[<>]|(not\s+)?in\b/i
    PLUS: "+"
    MINUS: "-"
    TIMES: /[*\/%]/
    FUNCTION: /\$\w*/
    WORD: /(true|false|null|none|always)\b/i
    NAME: /(?!(and|or|not|in|true|false|null|none|always)\b)[^\W\d]\w*/i
    FIELD.-1: /[^\W\d]\w*/
    NUMBER: /[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/i
    TEXT: /'([^'\\]|\\.)*'|"([^"\\]|\\.)*"/s
    %ignore /\s+/
"""

_WORDS = {"true": True, "always": True, "false": False, "null": None, "none": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "/": "/"}
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF


def parse_tree(text: str, place: Place | None = None) -> Tree:
    """The tree of a condition.

    Args:
        text: at most 4,000 characters, nested at most 64 levels, with at most 500 names, values
            and operators.
        place: where the condition stands, for the error.

    Raises:
        ConditionSyntaxError: the text is no condition; shows where with a caret.
    """
    try:
        return _parse(text)
    except Mistake as mistake:
        shown = text[: MAX_CHARACTERS + 1]
        raise ConditionSyntaxError(
            mistake.message, shown, mistake.position, place, mistake.hint
        ) from None


def _parse(text: str) -> Tree:
    from lark.exceptions import UnexpectedInput

    _check_characters(text)
    session: Any = _parser().parse_interactive(text)  # untyped in lark
    progress = Progress()
    try:
        for token in session.lexer_thread.lex(session.parser_state):
            session.feed_token(token)
            progress.take(token)
            _check_bounds(progress, token)
        tree: Tree = session.feed_eof(progress.last)
    except UnexpectedInput as error:
        raise explain(text, error, progress) from None
    if max(depth for _, depth in walk(tree)) > MAX_DEPTH:
        raise _too_deep(progress.deepest)
    return tree


@cache
def _parser() -> Lark:
    from lark import Lark

    builder = cast("Any", _Builder())  # lark calls its methods by name and needs no base class
    return Lark(_GRAMMAR, start="condition", parser="lalr", transformer=builder)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────


def _check_characters(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        limit = f"a condition has at most {MAX_CHARACTERS:,} characters, this one has {len(text):,}"
        raise Mistake(limit, MAX_CHARACTERS, _SPLIT)
    if not text.strip():
        raise Mistake("the condition is empty", 0, "leave it out, or write always")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Mistake("half of a surrogate pair is no character", error.start) from None


_SPLIT = "move the decision into a function that stands alone as the condition"


def _check_bounds(progress: Progress, token: Token) -> None:
    if progress.depth > MAX_DEPTH:
        raise _too_deep(token.start_pos or 0)
    if progress.nodes > MAX_NODES:
        limit = f"a condition has at most {MAX_NODES} names, values and operators"
        raise Mistake(limit, token.start_pos or 0, _SPLIT)


def _too_deep(position: int) -> Mistake:
    return Mistake(f"a condition is nested at most {MAX_DEPTH} levels deep", position, _SPLIT)


# ── from tokens to trees ─────────────────────────────────────────────────────────────────────────


class _Builder:
    """Makes one node of each rule of the grammar; lark calls it while it parses."""

    def either(self, parts: list[Tree]) -> Tree:
        return Logic("or", tuple(parts))

    def both(self, parts: list[Tree]) -> Tree:
        return Logic("and", tuple(parts))

    def negated(self, parts: list[Tree]) -> Tree:
        return Not(parts[0])

    def compared(self, parts: list[Any]) -> Tree:
        left, sign, right = parts
        return Comparison(left, cast("Relation", " ".join(sign.lower().split())), right)

    def calculated(self, parts: list[Any]) -> Tree:
        signs = (cast("Operator", str(sign)) for sign in parts[1::2])
        return Arithmetic(parts[0], tuple(zip(signs, parts[2::2], strict=True)))

    def negative(self, parts: list[Any]) -> Tree:
        operand = parts[1]
        if isinstance(operand, Constant) and operand.kind in (int, float):
            return Constant(-cast("float", operand.value))
        return Negative(operand)

    def bracketed(self, parts: list[Tree]) -> Tree:
        inner = parts[0]
        return replace(inner, bracketed=True) if isinstance(inner, Logic | Not) else inner

    def items(self, parts: list[Tree]) -> Tree:
        return Items(tuple(parts))

    def call(self, parts: list[Any]) -> Tree:
        function, *arguments = parts
        mistake = wrong_call(function, arguments)
        if mistake:
            raise mistake
        return Call(str(function)[1:], tuple(arguments))

    def name(self, tokens: list[Token]) -> Tree:
        first, *steps = tokens
        return Name((str(first), *_keys(steps)))

    def number(self, tokens: list[Token]) -> Tree:
        return Constant(_number(tokens[0]))

    def text(self, tokens: list[Token]) -> Tree:
        return Constant(_text(tokens[0]))

    def word(self, tokens: list[Token]) -> Tree:
        return Constant(_WORDS[tokens[0].lower()])


def _keys(steps: Sequence[Token]) -> list[str | int]:
    """Fields and positions of a name; a minus belongs to the number after it."""
    keys: list[str | int] = []
    sign = 1
    for token in steps:
        if token.type == "MINUS":
            sign = -1
        elif token.type == "NUMBER":
            keys.append(sign * _position(token))
            sign = 1
        else:
            keys.append(_text(token) if token.type == "TEXT" else str(token))
    return keys


def _position(token: Token) -> int:
    number = _number(token)
    if not isinstance(number, int):
        raise Mistake("a position in a list is a whole number", token.start_pos or 0)
    return number


def _number(token: Token) -> int | float:
    whole = token.isdigit()
    if (whole and len(token) > MAX_DIGITS) or float(token) == float("inf"):
        raise Mistake("the number is too large", token.start_pos or 0)
    return int(token) if whole else float(token)


def _text(token: Token) -> str:
    """The content of a quoted text, without its quotes and escapes."""
    start = (token.start_pos or 0) + 1
    return _ESCAPE.sub(lambda found: _unescaped(found, start), token[1:-1])


def _unescaped(found: re.Match[str], start: int) -> str:
    code = found[1]
    if code in _ESCAPED:
        return _ESCAPED[code]
    number = int(code[1:], 16) if len(code) > 1 else -1
    if number not in _SURROGATES and 0 <= number <= _LAST_CHARACTER:
        return chr(number)
    hint = "" if len(code) > 1 else "write \\\\ for a backslash"
    raise Mistake(f"{found[0]} stands for no character", start + found.start(), hint)
