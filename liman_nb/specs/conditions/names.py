"""Where the names of a condition are looked up, and what one evaluation has read.

Nearest first: the node's yields, then its input, the state, the context. A name that begins with
one of the words of `PLACES` is read from that place alone. The first place that has a name's first
word settles it: the rest of the path is not looked for elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any

from liman_nb.specs.conditions.shown import CUT, capped, moment_text
from liman_nb.specs.conditions.tree import Path, print_path, print_scalar
from liman_nb.specs.conditions.values import (
    MISSING,
    NOT_A_VALUE,
    UNREADABLE,
    Foreign,
    Moment,
    Truth,
    Undecided,
    a_kind,
    plain,
    step,
)

_SHORT = 10**15
"""Numbers below it, in either direction, are stored as they are without a further look."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ErrorView:
    """The error of a failed node run.

    Attributes:
        type: its class's name.
        mro: names of the class and of all its base classes.
        message: its message; no condition reads it.
    """

    type: str
    mro: tuple[str, ...] = ()
    message: str = ""

    @classmethod
    def of(cls, error: BaseException, message: str | None = None) -> ErrorView:
        """The view of an exception, with another message than its own if one is given."""
        kind = type(error)
        bases = tuple(base.__name__ for base in kind.__mro__[:-1])
        return cls(kind.__name__, bases, str(error) if message is None else message)


@dataclass(frozen=True, slots=True)
class View:
    """What a condition may look at.

    Attributes:
        yields: the node's yields, or ``None`` for a node without.
        output: its output: text, or the mapping that a function gave.
        input: the node's input.
        state: what the node's actor remembers.
        context: call-time data; its values leave no trace in what an evaluation returns.
        session: facts about the session.
        error: why the node run failed, when it did.
        now: the clock behind ``$now()``; a time without offset is taken as UTC.
    """

    yields: Mapping[str, Any] | None = None
    output: Any = None
    input: Any = None
    state: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)
    error: ErrorView | None = None
    now: Callable[[], datetime] = field(default=_utc_now, compare=False)


class Reading:
    """One evaluation in progress.

    Attributes:
        view: what it may look at.
        produced: the node's yields, or else its output.
        values: the values read, by name, capped; without those of the context.
        context: the names read from the context.
        decided: the answers of the condition's facts, in the order in which they were asked.
    """

    __slots__ = ("_now", "context", "decided", "produced", "values", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.produced: Any = view.output if view.yields is None else view.yields
        self.values: dict[str, Any] = {}
        self.context: list[str] = []
        self.decided: list[Truth] = []
        self._now: Moment | None = None

    def now(self) -> Moment:
        """The moment of this evaluation: the clock is asked once."""
        if self._now is None:
            at = self.view.now()
            self._now = Moment(at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC))
            self.values["$now()"] = moment_text(self._now)
        return self._now


Read = Callable[[Reading], Any]

PLACES: dict[str, Read] = {
    "output": attrgetter("produced"),
    "yields": attrgetter("produced"),
    "calling_agent_response": attrgetter("produced"),
    "input": attrgetter("view.input"),
    "state": attrgetter("view.state"),
    "context": attrgetter("view.context"),
    "session": attrgetter("view.session"),
}
"""Words that name a place, each with what stands there."""

_BARE = ("yields", "input", "state", "context")
"""The places where a bare name is looked up, nearest first."""


def reader(path: Path) -> Read:
    """A function that reads a name: gives its value or :class:`Undecided`, and notes it."""
    name, first = print_path(path), str(path[0])
    place = PLACES.get(first)
    if place is None:
        search = partial(_search, path, name)
        return search if path[1:] else _quick(name, PLACES[_BARE[0]], first, search)
    follow = partial(_placed, path, name, place)
    match path:
        case (_, key) if first != "context":
            return _quick(name, place, key, follow)
        case _:
            return follow


def _quick(name: str, place: Read, key: str | int, otherwise: Read) -> Read:
    """Reads one field of a dictionary when its value is short; most are read that way."""

    def read(reading: Reading) -> Any:
        container = place(reading)
        if type(container) is dict:
            value = container.get(key)
            if _is_short(value):
                reading.values[name] = value
                return value
        return otherwise(reading)

    return read


def _is_short(value: Any) -> bool:
    """Whether a value is noted as it is. For a missing name it gets ``None``, which is not."""
    kind = type(value)
    if kind is str:
        return len(value) <= CUT and value.isascii()
    return kind is bool or ((kind is float or kind is int) and -_SHORT < value < _SHORT)


def _search(path: Path, name: str, reading: Reading) -> Any:
    """Reads a name from the nearest place that has its first word."""
    for word in _BARE:
        found = step(PLACES[word](reading), path[0])
        if found is not MISSING:
            return _follow(reading, path, name, found, hidden=word == "context")
    is_mapping = isinstance(plain(reading.produced), dict | Foreign)
    nearest = "the node yields no" if is_mapping else "the node's output has no"
    return Undecided(
        f"{name} is missing: {nearest} field {print_scalar(path[0])}, "
        "and neither input, state nor context has one"
    )


def _placed(path: Path, name: str, place: Read, reading: Reading) -> Any:
    """Reads a name that says its place."""
    return _follow(reading, path, name, place(reading), hidden=path[0] == "context")


def _follow(reading: Reading, path: Path, name: str, value: Any, *, hidden: bool) -> Any:
    """Reads the rest of a path and notes the value found at its end."""
    for index in range(1, len(path)):
        inner = step(value, path[index])
        if inner is MISSING:
            return Undecided(_missing(path, index, value, hidden=hidden))
        if inner is UNREADABLE:
            return Undecided(f"{name} cannot be read: {print_path(path[:index])} fails")
        value = inner
    if value is UNREADABLE:
        return Undecided(f"{name} cannot be read: the mapping it stands in fails")
    value = plain(value)
    if value is NOT_A_VALUE:
        return Undecided(f"{name} is not a value that conditions can read")
    _note(reading, name, value, hidden=hidden)
    return value


def _note(reading: Reading, name: str, value: Any, *, hidden: bool) -> None:
    if not hidden:
        reading.values[name] = value if _is_short(value) else capped(value)
    elif name not in reading.context:
        reading.context.append(name)


def _missing(path: Path, index: int, value: Any, *, hidden: bool) -> str:
    """Why a path ends early: what was found up to there has no such field or item."""
    key = path[index]
    what = f"item {key}" if isinstance(key, int) else f"field {print_scalar(key)}"
    found = "" if hidden else _described(plain(value))
    return f"{print_path(path)} is missing: {print_path(path[:index])}{found} has no {what}"


def _described(value: Any) -> str:
    if isinstance(value, dict | Foreign):
        return ""
    if isinstance(value, list | tuple):
        return f", a list of {len(value):,} items,"
    if value is NOT_A_VALUE:
        return ", which is not a value that conditions can read,"
    return f", which is {a_kind(value)},"
