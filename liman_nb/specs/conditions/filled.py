"""A condition with the values put in that it read, as one line of text.

The rule is that of `words.py`: a part between ``and``, ``or`` and ``not`` that reads the context
stays as it is written, since its other values would tell about those of the context.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from liman_nb.errors import ConditionSyntaxError
from liman_nb.specs.conditions.shown import capped, shown
from liman_nb.specs.conditions.syntax import parse_tree
from liman_nb.specs.conditions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Items,
    Logic,
    Name,
    Negative,
    Not,
    Tree,
    paths,
    print_condition,
    print_path,
)


def filled(text: str, values: Mapping[str, Any], from_context: Collection[str] = ()) -> str:
    """A condition's text with values in the place of names, such as ``200 > 100``.

    A name without a value stays: one that was not asked for, is missing, or was read from the
    context. So does ``$is_error``.

    Args:
        text: the condition.
        values: the values that it read, by name as written; ``$now()`` among them.
        from_context: the names that it read from the context.

    Returns:
        The text; empty for one that is no condition.
    """
    try:
        tree = parse_tree(text)
    except ConditionSyntaxError:
        return ""
    return print_condition(_Filling(values, from_context).part(tree))


@dataclass(frozen=True, slots=True)
class _Filling:
    values: Mapping[str, Any]
    from_context: Collection[str]

    def part(self, tree: Tree) -> Tree:
        """Logic down to its parts, each of which is filled or stays."""
        match tree:
            case Not(operand):
                return Not(self.part(operand))
            case Logic(word, parts):
                return Logic(word, tuple(map(self.part, parts)))
        hides = any(print_path(path) in self.from_context for path in paths(tree))
        return tree if hides else self.value(tree)

    def value(self, tree: Tree) -> Tree:  # noqa: PLR0911 (one case per kind of node)
        match tree:
            case Name(path):
                return self.read(print_path(path), tree)
            case Call("now", _):
                return self.read(print_condition(tree), tree)
            case Call(function, arguments):
                return Call(function, tuple(map(self.value, arguments)))
            case Items(items):
                return Items(tuple(map(self.value, items)))
            case Negative(operand):
                return Negative(self.value(operand))
            case Arithmetic(first, rest):
                others = tuple((sign, self.value(operand)) for sign, operand in rest)
                return Arithmetic(self.value(first), others)
            case Comparison(left, relation, right):
                return Comparison(self.value(left), relation, self.value(right))
            case Not() | Logic():
                return self.part(tree)
            case _:
                return tree

    def read(self, name: str, tree: Tree) -> Tree:
        """What was read, already printed: it stands where a name would."""
        return Name((shown(capped(self.values[name])),)) if name in self.values else tree
