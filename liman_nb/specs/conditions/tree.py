"""The syntax tree of a condition, and its canonical text.

Only data and printing: reading text is `syntax.py`, evaluating is
`evaluation.py`. Two trees are equal when they mean the same, node by node; brackets that
change nothing are no part of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Scalar = bool | int | float | str | None
Path = tuple[str | int, ...]
LogicWord = Literal["and", "or"]
Relation = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Operator = Literal["+", "-", "*", "/", "%"]

KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false", "null", "none", "always"})
"""Words that cannot begin a name, in any case. After a dot they are ordinary field names."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. ``1``, ``1.0`` and ``true`` are three different constants.

    Attributes:
        value: text, a finite number, a boolean or ``None``. ``always`` is ``True``.
    """

    value: Scalar
    kind: type[object] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value))


@dataclass(frozen=True, slots=True)
class Name:
    """A value looked up by its path.

    Attributes:
        path: the first word, then field names (text) and positions (integers).
    """

    path: Path


@dataclass(frozen=True, slots=True)
class Items:
    """A list written out."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One of the three functions.

    Attributes:
        function: ``now``, ``len`` or ``is_error``.
        arguments: its arguments; those of ``is_error`` are text constants.
    """

    function: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus; never of a number constant, which carries its own sign."""

    operand: Tree


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Operators of one rank, applied from left to right.

    Attributes:
        first: the leftmost operand.
        rest: one or more operators, each with its right operand; all of ``+ -``, or all of
            ``* / %``.
    """

    first: Tree
    rest: tuple[tuple[Operator, Tree], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A relation between two values. Comparisons do not chain."""

    left: Tree
    relation: Relation
    right: Tree


@dataclass(frozen=True, slots=True)
class Not:
    """Negation.

    Attributes:
        operand: what is negated.
        bracketed: whether the author put brackets around it; no part of equality.
    """

    operand: Tree
    bracketed: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logic:
    """Two or more parts joined by one word.

    Attributes:
        word: ``and`` or ``or``.
        parts: in the order in which they are written.
        bracketed: whether the author put brackets around it; no part of equality.
    """

    word: LogicWord
    parts: tuple[Tree, ...]
    bracketed: bool = field(default=False, compare=False, repr=False)


Tree = Constant | Name | Items | Call | Negative | Arithmetic | Comparison | Not | Logic


# ── walking ──────────────────────────────────────────────────────────────────────────────────────


def children(tree: Tree) -> tuple[Tree, ...]:  # noqa: PLR0911 (one case per kind of node)
    """The direct parts of a tree, from left to right."""
    match tree:
        case Items(items):
            return items
        case Call(_, arguments):
            return arguments
        case Negative(operand) | Not(operand):
            return (operand,)
        case Arithmetic(first, rest):
            return (first, *(operand for _, operand in rest))
        case Comparison(left, _, right):
            return (left, right)
        case Logic(_, parts):
            return parts
        case _:
            return ()


def walk(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """Every node from left to right with its depth (the root has 1), without recursion."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in reversed(children(node))]


def paths(tree: Tree) -> tuple[Path, ...]:
    """The path of every name in the tree, each once, in order of first appearance."""
    return tuple(dict.fromkeys(node.path for node, _ in walk(tree) if isinstance(node, Name)))


# ── printing ─────────────────────────────────────────────────────────────────────────────────────

_OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)

_FIELD = re.compile(r"[^\W\d]\w*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def print_condition(tree: Tree) -> str:  # noqa: PLR0911 (one case per kind of node)
    """Canonical text of a tree, with no brackets but those it needs.

    Args:
        tree: a tree as the parser makes it, or one put together by hand.

    Returns:
        Text that parses to an equal tree.
    """
    match tree:
        case Constant(value):
            return print_scalar(value)
        case Name(path):
            return print_path(path)
        case Items(items):
            return f"[{_listed(items)}]"
        case Call(function, arguments):
            return f"${function}({_listed(arguments)})"
        case Negative(operand):
            return f"-{_inside(operand, _SIGN)}"
        case Comparison(left, relation, right):
            return f"{_inside(left, _SUM)} {relation} {_inside(right, _SUM)}"
        case Not(operand):
            return f"not {_inside(operand, _NOT)}"
        case Logic(word, parts):
            return f" {word} ".join(_inside(part, _rank(tree) + 1) for part in parts)
        case Arithmetic(first, rest):
            rank = _rank(tree) + 1
            tail = "".join(f" {sign} {_inside(operand, rank)}" for sign, operand in rest)
            return _inside(first, rank) + tail


def print_path(path: Path) -> str:
    """A name as it is written: ``items[0].price``, ``input['my-key']``."""
    first, *rest = path
    return str(first) + "".join(_step(key) for key in rest)


def print_scalar(value: Scalar) -> str:
    """A constant as it is written: ``true``, ``null``, ``0.5``, ``'text'``."""
    if isinstance(value, str):
        return "'" + "".join(_ESCAPES.get(c) or _printable(c) for c in value) + "'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _listed(trees: tuple[Tree, ...]) -> str:
    return ", ".join(print_condition(tree) for tree in trees)


def _inside(tree: Tree, rank: int) -> str:
    """The text of a part, in brackets when it binds weaker than ``rank``."""
    text = print_condition(tree)
    return text if _rank(tree) >= rank else f"({text})"


def _rank(tree: Tree) -> int:
    """How strongly a tree's outermost operator binds."""
    match tree:
        case Logic(word, _):
            return _OR if word == "or" else _AND
        case Not():
            return _NOT
        case Comparison():
            return _RELATION
        case Arithmetic(_, rest):
            return _SUM if rest[0][0] in ("+", "-") else _PRODUCT
        case Negative():
            return _SIGN
        case _:
            return _ATOM


def _step(key: str | int) -> str:
    if isinstance(key, str) and _FIELD.fullmatch(key):
        return f".{key}"
    return f"[{print_scalar(key)}]"


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 (the 4-digit form ends there)
