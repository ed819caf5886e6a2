"""What a node waits for, and whether what has happened so far is enough: data and one function.

Reading the text is `join_notation.py`; whether the sources exist and lead to the node is checked in
`join_links.py`. Which branches belong together is the engine's business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
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


def verdict(rule: Rule, arrived: Collection[str], gone: Collection[str]) -> bool | None:
    """Whether a rule is fulfilled.

    A source is true when it arrived, false when it can no longer arrive, and unknown until then; an
    optional one is true in both cases. Kleene's logic: one false part decides an ``and``, one true
    part an ``or``, whatever the others are. More arrivals and losses never take an answer back.

    Args:
        rule: what is waited for.
        arrived: names of the sources that arrived; sets, so that looking is quick.
        gone: names of those that can no longer arrive; one that arrived before counts as arrived.

    Returns:
        ``True`` when it is fulfilled, ``False`` when it can no longer be, ``None`` until then.
    """
    match rule:
        case Source(name, optional):
            if name in arrived:
                return True
            return optional if name in gone else None
        case AllOf(parts):
            return _decided(False, (verdict(part, arrived, gone) for part in parts))
        case AnyOf(parts):
            return _decided(True, (verdict(part, arrived, gone) for part in parts))


def _decided(decisive: bool, verdicts: Iterable[bool | None]) -> bool | None:
    """One decisive verdict settles all; else one that is open leaves the whole open."""
    found = set(verdicts)
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def source_names(rule: Rule) -> Iterator[str]:
    """The name of every source as often as it is mentioned, from left to right."""
    match rule:
        case Source(name):
            yield name
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from source_names(part)
