"""Conditions: text that decides whether an edge fires.

This is the front of the condition language: parse once with `parse_condition`, evaluate against a
`View` as often as needed. The grammar is in `syntax.py`; every rule of the language, with
a table of cases that the tests run, is in ``tests/specs/conditions/conditions.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

from liman_nb.errors import Place
from liman_nb.specs.conditions.evaluation import Decide, compiled
from liman_nb.specs.conditions.liman import otherwise
from liman_nb.specs.conditions.names import ErrorView, Reading, View
from liman_nb.specs.conditions.syntax import parse_tree
from liman_nb.specs.conditions.tree import Name, Tree, paths, print_condition, print_path
from liman_nb.specs.conditions.values import Truth, Undecided
from liman_nb.specs.conditions.words import Words

__all__ = [
    "Condition",
    "ErrorView",
    "Evaluation",
    "Outcome",
    "View",
    "parse_condition",
    "print_condition",
]

Outcome = Literal["fired", "not fired", "undecided"]


class Evaluation:
    """What became of a condition. Not changed once made.

    Not a dataclass: conditions are evaluated often, the words are needed rarely, and a frozen
    dataclass costs as much to make as the evaluation itself.

    Attributes:
        outcome: ``undecided`` does not fire.
        values: the names that were read, as written, with their values as JSON of a bounded size;
            ``$now()`` and ``$is_error`` are among them. Never a value of the context.
        from_context: names that were read from the context.
    """

    __slots__ = ("_reason", "from_context", "outcome", "values")

    def __init__(
        self,
        outcome: Outcome,
        values: dict[str, Any] | None = None,
        from_context: tuple[str, ...] = (),
        reason: str | Callable[[], str] = "",
    ) -> None:
        self.outcome, self.from_context = outcome, from_context
        self.values = {} if values is None else values
        self._reason = reason

    @property
    def reason(self) -> str:
        """Why, in words, with the values put in; made when first asked for."""
        if not isinstance(self._reason, str):
            self._reason = self._reason()
        return self._reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.outcome, self.from_context, self.reason))

    def __repr__(self) -> str:
        return "Evaluation({!r}, {!r}, {!r}, {!r})".format(*self._parts())

    def _parts(self) -> tuple[Outcome, dict[str, Any], tuple[str, ...], str]:
        return self.outcome, self.values, self.from_context, self.reason


@dataclass(frozen=True)
class Condition:
    """A parsed condition. Equal when text, tree and place are.

    Attributes:
        text: as written.
        tree: its syntax tree.
        place: where it stands, when known.
    """

    text: str
    tree: Tree
    place: Place | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name it reads, such as ``customer.tier``, each once, in order of appearance."""
        return tuple(map(print_path, paths(self.tree)))

    @cached_property
    def function_name(self) -> str | None:
        """The dotted name, when the whole condition is one: it may name a registered function."""
        if not isinstance(self.tree, Name):
            return None
        name = print_path(self.tree.path)
        return None if "[" in name else name

    @cached_property
    def reads_differently(self) -> str:
        """How Liman's grammar without ranks would read it; empty when that is the same."""
        return otherwise(self.tree)

    def evaluate(self, view: View) -> Evaluation:
        """Decides the condition. Never raises for any data in the view.

        Args:
            view: what the condition may look at; it is read and not kept.
        """
        reading = Reading(view)
        answer = self._decide(reading)
        values, context = reading.values, tuple(reading.context)
        if isinstance(answer, Undecided):
            return Evaluation("undecided", values, context, answer.reason)
        outcome: Outcome = "fired" if answer else "not fired"
        words = partial(_why, values, context, self.tree, reading.decided)
        return Evaluation(outcome, values, context, words)

    @cached_property
    def _decide(self) -> Decide:
        return compiled(self.tree)

    def __reduce__(self) -> tuple[Callable[..., Condition], tuple[str, Place | None]]:
        """Pickled as its text: what it compiles to cannot be."""
        return parse_condition, (self.text, self.place)


def _why(
    values: dict[str, Any], context: tuple[str, ...], tree: Tree, decided: Sequence[Truth]
) -> str:
    """The reason, made late: from what was noted, with nothing of the view kept until then."""
    return Words(values, context).why(tree, decided)


def parse_condition(text: str, place: Place | None = None) -> Condition:
    """A condition from its text.

    Args:
        text: at most 4,000 characters, nested at most 64 levels, with at most 500 names, values
            and operators.
        place: where it stands, for errors.

    Raises:
        ConditionSyntaxError: the text is no condition; the message has a caret under the mistake.
    """
    return Condition(text, parse_tree(text, place), place)
