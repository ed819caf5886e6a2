"""How Liman's released grammar would read a condition.

That grammar ranks no operator: ``not`` takes everything to its right, and ``and`` and ``or`` group
from the right. (Read from its lark grammar in the package ``liman_core`` 0.1.1, where ``not a and
b`` is ``not (a and b)`` and ``a and b or c`` is ``a and (b or c)``.) Conditions here follow the
usual ranks, so an author who moves specs in either direction is told where that makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain

from liman_nb.specs.conditions.tree import Logic, LogicWord, Not, Tree, print_condition, walk

_MOST_LEVELS = 64


def otherwise(tree: Tree) -> str:
    """One sentence with Liman's reading where it differs from ours; empty where it does not."""
    reading = _group(tree)
    if max(depth for _, depth in walk(reading)) > _MOST_LEVELS:
        shown = "otherwise"
    elif _flat(reading) == _flat(tree):
        return ""
    else:
        shown = f"as: {print_condition(_flat(reading))}"
    return f"Liman's grammar, which ranks no operators, reads this {shown}; brackets settle it"


def _group(tree: Tree) -> Tree:
    """The reading of all that stands between two brackets, or of the whole condition."""
    inside = replace(tree, bracketed=False) if isinstance(tree, Logic | Not) else tree
    return _read(inside, lambda operand: operand)


def _read(tree: Tree, followed: Callable[[Tree], Tree]) -> Tree:
    """The reading of a tree and of what follows it.

    Args:
        tree: a part of the condition.
        followed: makes the reading of an operand together with everything to its right.
    """
    if not isinstance(tree, Logic | Not):
        return followed(tree)
    if tree.bracketed:
        return followed(_group(tree))
    if isinstance(tree, Not):
        return Not(_read(tree.operand, followed))
    first, *rest = tree.parts
    for part in reversed(rest):
        followed = partial(_joined, tree.word, _read(part, followed))
    return _read(first, followed)


def _joined(word: LogicWord, right: Tree, left: Tree) -> Tree:
    return Logic(word, (left, *_parts(word, right)))


def _flat(tree: Tree) -> Tree:
    """The same meaning without what grouping alone changes: nested equal words, double negation."""
    match tree:
        case Not(Not(operand)):
            return _flat(operand)
        case Not(operand):
            return Not(_flat(operand))
        case Logic(word, parts):
            flat = [_flat(part) for part in parts]
            return Logic(word, tuple(chain.from_iterable(_parts(word, part) for part in flat)))
        case _:
            return tree


def _parts(word: LogicWord, tree: Tree) -> tuple[Tree, ...]:
    return tree.parts if isinstance(tree, Logic) and tree.word == word else (tree,)
