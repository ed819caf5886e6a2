"""What the operators of conditions mean: truth, equality, order, membership, arithmetic.

All of it is three-valued and bounded, and nothing raises: what has no answer is an
:class:`Undecided` whose reason is a phrase about kinds of values, never about values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from liman_nb.specs.conditions.tree import Operator, Relation
from liman_nb.specs.conditions.values import (
    MISSING,
    NOT_A_VALUE,
    UNREADABLE,
    Foreign,
    Moment,
    Truth,
    Undecided,
    a_kind,
    fields,
    length,
    plain,
    step,
)

MAX_TEXT = 100_000
MAX_ITEMS = 10_000
MAX_COMPARED = 100_000
MAX_LEVELS = 32
HUGE = 10**300

NUMBERS = frozenset({int, float})
_ATOMS = frozenset({str, bool, type(None)})
_LONGEST_DATE = 64
AnyMapping = dict[Any, Any] | Foreign

_TOO_BIG = Undecided("the result is too big")
_CANNOT_READ = Undecided("a mapping cannot be read")


# ── truth ────────────────────────────────────────────────────────────────────────────────────────


def truth(value: Any) -> Truth:
    """What a bare value counts as: null, false, 0 and everything empty are false."""
    if isinstance(value, bool | Undecided):
        return value
    if value is None:
        return False
    if type(value) in NUMBERS:
        return bool(value != 0)
    if isinstance(value, Moment):
        return True
    size = length(value)
    return size > 0 if isinstance(size, int) else _CANNOT_READ


def negated(value: Truth) -> Truth:
    """Kleene's not: undecided stays undecided."""
    return not value if isinstance(value, bool) else value


def joined(decisive: bool, truths: Iterable[Truth]) -> Truth:
    """Kleene's or (``decisive`` is true) and and (it is false).

    One decisive answer settles all. Else one undecided answer leaves the whole undecided.
    """
    unknown: Truth = not decisive
    for one in truths:
        if one is decisive:
            return one
        if isinstance(one, Undecided) and isinstance(unknown, bool):
            unknown = one
    return unknown


# ── relations ────────────────────────────────────────────────────────────────────────────────────


def related(relation: Relation, left: Any, right: Any) -> Truth:
    """The answer of one of the eight relations."""
    match relation:
        case "==":
            return equal(left, right)
        case "!=":
            return negated(equal(left, right))
        case "in":
            return contains(right, left)
        case "not in":
            return negated(contains(right, left))
        case _:
            return ordered(relation, left, right)


def equal(left: Any, right: Any) -> Truth:
    """Equality by value: of different types never, so ``true`` is not ``1``; ``1`` is ``1.0``.

    Lists and mappings are compared item by item, up to 32 levels and 100,000 items.
    """
    return _equal(left, right, _Budget(MAX_COMPARED), MAX_LEVELS)


def contains(container: Any, value: Any) -> Truth:
    """Whether a list has an equal item, a mapping the field, a text the part."""
    if isinstance(container, list | tuple):
        budget = _Budget(MAX_COMPARED)
        return joined(True, (_equal(item, value, budget, MAX_LEVELS) for item in container))
    if isinstance(container, dict | Foreign):
        return _has_field(container, value)
    if isinstance(container, str) and isinstance(value, str):
        return value in container
    return Undecided(f"{a_kind(value)} cannot be in {a_kind(container)}")


def ordered(relation: Relation, left: Any, right: Any) -> Truth:
    """``<``, ``<=``, ``>`` or ``>=`` of two numbers, two texts, or a time and an ISO date."""
    kinds = {type(left), type(right)}
    if kinds <= NUMBERS or kinds == {str}:
        return ORDERS[relation](left, right)
    earlier, later = _moments(left, right)
    if earlier is not None and later is not None:
        return ORDERS[relation](earlier, later)
    if kinds == {Moment, str}:
        return Undecided("the text is no date or time in ISO 8601")
    return Undecided(f"{a_kind(left)} and {a_kind(right)} have no order")


ORDERS: dict[Relation, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Budget:
    """How many more values one comparison may look at."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def _equal(left: Any, right: Any, budget: _Budget, levels: int) -> Truth:
    left, right = plain(left), plain(right)
    budget.left -= 1
    if budget.left < 0 or levels < 0:
        return Undecided("too big to compare")
    unknown = next((side for side in (left, right) if isinstance(side, Undecided)), None)
    if unknown is not None:
        return unknown
    if left is NOT_A_VALUE or right is NOT_A_VALUE:
        return Undecided("an item is not a value that conditions can read")
    return _equal_values(left, right, budget, levels)


def _equal_values(left: Any, right: Any, budget: _Budget, levels: int) -> Truth:
    kinds = {type(left), type(right)}
    if kinds <= NUMBERS or (len(kinds) == 1 and kinds <= _ATOMS):
        return bool(left == right)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return _equal_lists(left, right, budget, levels - 1)
    if isinstance(left, dict | Foreign) and isinstance(right, dict | Foreign):
        return _equal_mappings(left, right, budget, levels - 1)
    moments = _moments(left, right)
    return None not in moments and moments[0] == moments[1]


def _equal_lists(left: Sequence[Any], right: Sequence[Any], budget: _Budget, levels: int) -> Truth:
    if len(left) != len(right):
        return False
    return joined(False, (_equal(a, b, budget, levels) for a, b in zip(left, right, strict=True)))


def _equal_mappings(left: AnyMapping, right: AnyMapping, budget: _Budget, levels: int) -> Truth:
    if length(left) != length(right):
        return False
    own = fields(left, max(budget.left, 0) + 1)
    if own is None:
        return _CANNOT_READ
    return joined(False, (_equal_field(right, key, value, budget, levels) for key, value in own))


def _equal_field(other: AnyMapping, key: Any, value: Any, budget: _Budget, levels: int) -> Truth:
    if type(key) not in (str, int):
        return Undecided("a mapping has a key that is no text")
    found = step(other, key)
    if found is MISSING:
        return False
    return _CANNOT_READ if found is UNREADABLE else _equal(value, found, budget, levels)


def _has_field(mapping: AnyMapping, key: Any) -> Truth:
    if type(key) not in (str, int):
        return False
    found = step(mapping, key)
    return _CANNOT_READ if found is UNREADABLE else found is not MISSING


def _moments(left: Any, right: Any) -> tuple[datetime | None, datetime | None]:
    """Both as points in time, when at least one is a moment; ``None`` for what is none."""
    if Moment not in (type(left), type(right)):
        return None, None
    return _moment(left), _moment(right)


def _moment(value: Any) -> datetime | None:
    """A date or time in ISO 8601: a date is its midnight, a time without offset is UTC."""
    if isinstance(value, Moment):
        return value.at
    if not isinstance(value, str) or len(value) > _LONGEST_DATE:
        return None
    try:
        at = datetime.fromisoformat(value.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────────


def calculated(sign: Operator, left: Any, right: Any) -> Any:
    """The result of one operator, or :class:`Undecided`.

    Numbers work as in Python; ``+`` also joins two texts or two lists. Results are bounded: numbers
    by 10 to the 300th, texts by 100,000 characters, lists by 10,000 items.
    """
    if {type(left), type(right)} <= NUMBERS:
        return _number(sign, left, right)
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right if len(left) + len(right) <= MAX_TEXT else _TOO_BIG
    if sign == "+" and isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return [*left, *right] if len(left) + len(right) <= MAX_ITEMS else _TOO_BIG
    return Undecided(f"{a_kind(left)} {sign} {a_kind(right)} has no meaning")


def negative(value: Any) -> Any:
    """The number with its sign turned, or :class:`Undecided`."""
    if type(value) in NUMBERS:
        return -value
    return Undecided(f"only numbers have a sign, not {a_kind(value)}")


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def _number(sign: Operator, left: Any, right: Any) -> Any:
    try:
        result = _SIGNS[sign](left, right)
    except ZeroDivisionError:
        return Undecided("division by zero")
    except OverflowError:
        return _TOO_BIG
    return result if -HUGE < result < HUGE else _TOO_BIG  # also for infinities
