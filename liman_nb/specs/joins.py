"""What a node waits for, and whether what has happened so far is enough: data, and one test of it.

Reading the text is `join_notation.py`; whether the sources exist and lead to the node is checked in
`join_links.py`. Which branches belong together is the engine's business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Source:
    """A node that is waited for.

    Attributes:
        name: its name.
        optional: whether it is enough that it can no longer arrive.
    """

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must be fulfilled."""

    parts: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One fulfilled part is enough."""

    parts: tuple[Rule, ...]


Rule: TypeAlias = Source | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Join:
    """What a node waits for.

    Attributes:
        text: as written, on one line; the items of a list joined by ``and``.
        rule: the same as a tree.
        sources: names of the nodes it waits for, each once, in order of first mention.
    """

    text: str
    rule: Rule
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """A rule whose sources are bits: whether it is fulfilled is seen at once, however many it has.

    Kleene's logic: one false part decides an ``and``, one true part an ``or``, whatever the others
    are. More arrivals and losses never take an answer back.

    Attributes:
        every: whether all of it must be fulfilled, or one part.
        plain: sources that are true when they arrived and false when they are gone.
        optional: sources that are true in both cases.
        parts: what is in brackets.
    """

    every: bool
    plain: int
    optional: int
    parts: tuple[Test, ...]

    def verdict(self, arrived: int, gone: int) -> bool | None:
        """``True`` when it is fulfilled, ``False`` when it can no longer be, ``None`` until then.

        Args:
            arrived: the sources that arrived.
            gone: those that can no longer arrive; none of those that arrived.
        """
        parts = [part.verdict(arrived, gone) for part in self.parts]
        known = arrived | gone
        if self.every:
            if self.plain & gone or False in parts:
                return False
            ready = self.plain & arrived == self.plain and self.optional & known == self.optional
            return True if ready and None not in parts else None
        if self.plain & arrived or self.optional & known or True in parts:
            return True
        hopeless = self.plain & gone == self.plain and not self.optional and None not in parts
        return False if hopeless else None


def compiled(rule: Rule, bits: Mapping[str, int]) -> Test:
    """A rule as the test of it.

    Args:
        rule: what is waited for.
        bits: a bit for each of its sources.
    """
    parts = (rule,) if isinstance(rule, Source) else rule.parts
    sources = [part for part in parts if isinstance(part, Source)]
    return Test(
        every=not isinstance(rule, AnyOf),
        plain=reduce(or_, (bits[s.name] for s in sources if not s.optional), 0),
        optional=reduce(or_, (bits[s.name] for s in sources if s.optional), 0),
        parts=tuple(compiled(part, bits) for part in parts if isinstance(part, AllOf | AnyOf)),
    )


def verdict(rule: Rule, arrived: Collection[str], gone: Collection[str]) -> bool | None:
    """What :meth:`Test.verdict` says of sources by their names; what arrived is not gone."""
    bits = {name: 1 << i for i, name in enumerate(dict.fromkeys(source_names(rule)))}
    here = sum(bit for name, bit in bits.items() if name in arrived)
    lost = sum(bit for name, bit in bits.items() if name in gone)
    return compiled(rule, bits).verdict(here, lost & ~here)


def source_names(rule: Rule) -> Iterator[str]:
    """The name of every source as often as it is mentioned, from left to right."""
    match rule:
        case Source(name):
            yield name
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from source_names(part)
