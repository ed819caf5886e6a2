"""The decision of a condition in words.

A value read from the context never comes here, and a part of a condition that reads one is
described without any value at all: neither its own, nor the one it was compared with, nor its kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from liman_nb.specs.conditions.algebra import negated
from liman_nb.specs.conditions.shown import shown
from liman_nb.specs.conditions.tree import (
    Call,
    Comparison,
    Constant,
    Logic,
    Name,
    Not,
    Relation,
    Tree,
    paths,
    print_condition,
    print_path,
)
from liman_nb.specs.conditions.values import Truth, Undecided

ERROR = "$is_error"
"""Under this name stands the class name of the node's error, or null, among the values read."""

_MOST_FACTS = 4
_LONGEST = 500
_LONGEST_PART = 100
_HIDDEN = "values of the context are not shown"

_VERBS: dict[Relation, tuple[str, str]] = {
    "==": ("equals", "does not equal"),
    "!=": ("differs from", "does not differ from"),
    "<": ("is below", "is not below"),
    "<=": ("is at most", "is not at most"),
    ">": ("is above", "is not above"),
    ">=": ("is at least", "is not at least"),
    "in": ("is in", "is not in"),
    "not in": ("is not in", "is in"),
}

_Facts = list[tuple[Tree, Truth]]


@dataclass(frozen=True, slots=True)
class Words:
    """Says why, from what was read.

    Attributes:
        values: the values read, by name, capped.
        context: the names that were read from the context.
    """

    values: Mapping[str, Any]
    context: Collection[str]

    def why(self, tree: Tree, decided: Sequence[Truth]) -> str:
        """The reason of a condition that fired or did not: the facts that decided it.

        Args:
            tree: the condition.
            decided: the answers of its facts (its parts between ``and``, ``or`` and ``not``) in the
                order in which they were asked.
        """
        _, facts = _facts(tree, iter(decided))
        said = list(dict.fromkeys(self._fact(fact, answer is True) for fact, answer in facts))
        if len(said) > _MOST_FACTS:
            said[_MOST_FACTS - 1 :] = [f"{len(said) - _MOST_FACTS + 1} more"]
        *most, last = said
        text = _cut(f"{', '.join(most)} and {last}" if most else last, _LONGEST)
        hidden = any(self._hides(fact) for fact, _ in facts)
        return f"{text} ({_HIDDEN})" if hidden else text

    def no_answer(self, tree: Tree, unknown: Undecided) -> Undecided:
        """Names the part of a condition that has no answer, and puts the values in."""
        part = _printed(tree)
        if self._hides(tree):
            return Undecided(f"{part} has no answer ({_HIDDEN})")
        known = self._known(_names(tree))
        return Undecided(_cut(f"{part} has no answer: {unknown.reason}{known}", _LONGEST))

    def _fact(self, tree: Tree, holds: bool) -> str:
        """A fact as a statement that is true, with the values of its names."""
        if isinstance(tree, Comparison):
            return self._comparison(tree, _VERBS[tree.relation][0 if holds else 1])
        if isinstance(tree, Call) and tree.function == "is_error":
            return self._error(tree, holds)
        if isinstance(tree, Constant) and tree.kind is bool:
            return "true always holds" if holds else "false never holds"
        answer = "true" if holds else "false"
        if isinstance(tree, Name) and isinstance(self.values.get(_printed(tree)), bool):
            return f"{_printed(tree)} is {answer}"
        side, names = self._side(tree)
        return f"{side} counts as {answer}{self._known(names)}"

    def _comparison(self, tree: Comparison, verb: str) -> str:
        if self._hides(tree):
            return f"{_printed(tree.left)} {verb} {_printed(tree.right)}"
        left, names = self._side(tree.left)
        right, more = self._side(tree.right)
        return f"{left} {verb} {right}{self._known([*names, *more])}"

    def _side(self, tree: Tree) -> tuple[str, list[str]]:
        """One side in words, and the names in it whose values are still to be said."""
        text = _printed(tree)
        if isinstance(tree, Name | Call) and text in self.values:
            return f"{text} = {shown(self.values[text])}", []
        return text, _names(tree)

    def _error(self, tree: Call, holds: bool) -> str:
        found = self.values.get(ERROR)
        if found is None:
            return "there is no error"
        wanted = [str(name.value) for name in tree.arguments if isinstance(name, Constant)]
        if not wanted or found in wanted:
            return f"the error is {found}"
        return f"the error is {found}, {'a kind of' if holds else 'not'} {' or '.join(wanted)}"

    def _hides(self, tree: Tree) -> bool:
        """Whether any name in the tree was read from the context."""
        return any(name in self.context for name in _names(tree))

    def _known(self, names: Sequence[str]) -> str:
        """`` (a = 1, b = 'x')`` for the names that have a value."""
        known = [name for name in dict.fromkeys(names) if name in self.values]
        pairs = ", ".join(f"{name} = {shown(self.values[name])}" for name in known)
        return f" ({pairs})" if pairs else ""


# ── which facts decided ──────────────────────────────────────────────────────────────────────────


def _facts(tree: Tree, decided: Iterator[Truth]) -> tuple[Truth, _Facts]:
    """The answer of a tree and the facts behind it, in the order of the evaluation."""
    match tree:
        case Not(operand):
            answer, facts = _facts(operand, decided)
            return negated(answer), facts
        case Logic(word, parts):
            return _joined(word == "or", parts, decided)
        case _:
            answer = next(decided)
            return answer, [(tree, answer)]


def _joined(
    decisive: bool, parts: Sequence[Tree], decided: Iterator[Truth]
) -> tuple[Truth, _Facts]:
    """``decisive`` is the answer of one part that settles all: true for or, false for and."""
    behind: _Facts = []
    answer: Truth = not decisive
    for part in parts:
        one, facts = _facts(part, decided)
        if one is decisive:
            return one, facts
        if isinstance(one, Undecided):
            answer = one
        behind += facts
    return answer, behind


def _printed(tree: Tree) -> str:
    return _cut(print_condition(tree), _LONGEST_PART)


def _names(tree: Tree) -> list[str]:
    return [print_path(path) for path in paths(tree)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
