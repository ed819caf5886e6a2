"""Compiles the tree of a condition into one function that decides it.

Every node becomes a closure over its parts. What the operators mean is in `algebra.py`,
where names are looked up in `names.py`.

A *fact* is a part of a condition between ``and``, ``or`` and ``not``. The answers of the facts are
noted in the order in which they are asked, so that the reason can be put into words later, from the
names' values alone. A part is not asked when the parts before it settle the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from liman_nb.specs.conditions.algebra import (
    NUMBERS,
    ORDERS,
    calculated,
    negated,
    negative,
    related,
    truth,
)
from liman_nb.specs.conditions.names import Reading, reader
from liman_nb.specs.conditions.shown import capped
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
    Relation,
    Tree,
)
from liman_nb.specs.conditions.values import Truth, Undecided, a_kind, length
from liman_nb.specs.conditions.words import ERROR, Words

Decide = Callable[[Reading], Truth]
Evaluate = Callable[[Reading], Any]


def compiled(tree: Tree) -> Decide:
    """The function that decides a condition."""
    return _decide(tree, _fact)


def _decide(tree: Tree, leaf: Callable[[Tree], Decide]) -> Decide:
    """Logic down to its leaves, which ``leaf`` compiles."""
    match tree:
        case Not(operand):
            return _negation(_decide(operand, leaf))
        case Logic(word, parts):
            decides = tuple(_decide(part, leaf) for part in parts)
            return _joined(word == "or", decides)
        case _:
            return leaf(tree)


def _negation(decide: Decide) -> Decide:
    return lambda reading: negated(decide(reading))


def _joined(decisive: bool, parts: tuple[Decide, ...]) -> Decide:
    """As `algebra.joined`, as a loop over closures: this one is run for every edge."""
    other = not decisive

    def decide(reading: Reading) -> Truth:
        unknown: Truth = other
        for part in parts:
            answer = part(reading)
            if answer is decisive:
                return answer
            if answer is not other and unknown is other:
                unknown = answer
        return unknown

    return decide


# ── facts ────────────────────────────────────────────────────────────────────────────────────────


def _fact(tree: Tree) -> Decide:
    """A part whose answer is noted."""
    answered = _answer(tree)

    def decide(reading: Reading) -> Truth:
        answer = answered(reading)
        reading.decided.append(answer)
        return answer

    return decide


def _answer(tree: Tree) -> Decide:
    if isinstance(tree, Comparison):
        return _comparison(tree)
    evaluate = _value(tree)

    def decide(reading: Reading) -> Truth:
        value = evaluate(reading)
        if isinstance(value, Undecided):
            return value
        answer = truth(value)
        return answer if isinstance(answer, bool) else _unanswered(tree, answer, reading)

    return decide


def _unanswered(tree: Tree, unknown: Undecided, reading: Reading) -> Undecided:
    return Words(reading.values, reading.context).no_answer(tree, unknown)


def _comparison(tree: Comparison) -> Decide:
    left, right = _value(tree.left), _value(tree.right)
    kinds, quick, known = _shortcut(tree)

    def decide(reading: Reading) -> Truth:
        one = left(reading)
        if type(one) in kinds:
            return quick(one, known)
        other = right(reading)
        if isinstance(one, Undecided):
            return one
        if isinstance(other, Undecided):
            return other
        answer = related(tree.relation, one, other)
        return answer if isinstance(answer, bool) else _unanswered(tree, answer, reading)

    return decide


def _shortcut(tree: Comparison) -> _Shortcut:
    """When Python's own operator gives the answer, as for most comparisons with a constant.

    Returns:
        The types of the left side for which it does, the operator, and its right side.
    """
    right, quick = tree.right, _QUICK.get(tree.relation)
    if quick is not None and isinstance(right, Constant):
        kinds = {str: _TEXT, int: NUMBERS, float: NUMBERS}.get(right.kind, frozenset())
        return kinds, quick, right.value
    if tree.relation == "in" and isinstance(right, Items):
        constants = [item for item in right.items if isinstance(item, Constant)]
        texts = [item.value for item in constants if item.kind is str]
        if len(texts) == len(right.items):
            return _TEXT, _is_one_of, frozenset(texts)
    return frozenset(), operator.eq, None


_Shortcut = tuple[frozenset[type[object]], Callable[[Any, Any], bool], Any]
_TEXT: frozenset[type[object]] = frozenset({str})
_QUICK: dict[Relation, Callable[[Any, Any], bool]] = {
    **ORDERS,
    "==": operator.eq,
    "!=": operator.ne,
}


def _is_one_of(value: Any, values: frozenset[str]) -> bool:
    return value in values


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def _value(tree: Tree) -> Evaluate:  # noqa: PLR0911 (one case per kind of node)
    match tree:
        case Constant(value):
            return lambda _: value
        case Name(path):
            return reader(path)
        case Items(items):
            return _items(tuple(map(_value, items)))
        case Call():
            return _CALLS[tree.function](tree)
        case Negative(operand):
            return _negative(tree, _value(operand))
        case Arithmetic():
            return _arithmetic(tree)
        case Comparison():
            return _comparison(tree)
        case _:
            return _decide(tree, _answer)


def _items(parts: tuple[Evaluate, ...]) -> Evaluate:
    return lambda reading: [part(reading) for part in parts]


def _negative(tree: Tree, operand: Evaluate) -> Evaluate:
    def evaluate(reading: Reading) -> Any:
        value = operand(reading)
        if isinstance(value, Undecided):
            return value
        result = negative(value)
        return _unanswered(tree, result, reading) if isinstance(result, Undecided) else result

    return evaluate


def _arithmetic(tree: Arithmetic) -> Evaluate:
    first = _value(tree.first)
    rest = [(sign, _value(operand)) for sign, operand in tree.rest]

    def evaluate(reading: Reading) -> Any:
        result = first(reading)
        for sign, operand in rest:
            other = operand(reading)
            if isinstance(result, Undecided):
                return result
            if isinstance(other, Undecided):
                return other
            result = calculated(sign, result, other)
            if isinstance(result, Undecided):
                return _unanswered(tree, result, reading)
        return result

    return evaluate


def _now(_: Call) -> Evaluate:
    return Reading.now


def _len(tree: Call) -> Evaluate:
    inner = _value(tree.arguments[0])

    def evaluate(reading: Reading) -> Any:
        value = inner(reading)
        if isinstance(value, Undecided):
            return value
        size = length(value)
        if isinstance(size, int):
            return size
        return _unanswered(tree, Undecided(f"{a_kind(value)} has no length"), reading)

    return evaluate


def _is_error(tree: Call) -> Evaluate:
    wanted = {argument.value for argument in tree.arguments if isinstance(argument, Constant)}

    def evaluate(reading: Reading) -> bool:
        error = reading.view.error
        reading.values[ERROR] = None if error is None else capped(error.type)
        return error is not None and (not wanted or not wanted.isdisjoint((error.type, *error.mro)))

    return evaluate


_CALLS: dict[str, Callable[[Call], Evaluate]] = {"now": _now, "len": _len, "is_error": _is_error}
