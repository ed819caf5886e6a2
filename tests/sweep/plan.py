"""Which kills are tried. Drawn by a seed, so that any trial can be repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random

from sweep.killing import PLACES, Place, Point, Victim
from sweep.storages import REDIS, SERVER

_STEPS = {REDIS: 1, SERVER: 2}
"""How many inner steps a write surely has; on other storages as many as it has had."""


@dataclass(frozen=True)
class Writes:
    """The writes of an uninterrupted run.

    Attributes:
        steps: of each, how many inner steps it has.
        rows: after each, how many rows the session has.
        shapes: for each number of rows, the shapes of the tree.
        seconds: how long the run took.
    """

    steps: Sequence[int]
    rows: Sequence[int]
    shapes: Sequence[Sequence[str]]
    seconds: float

    @property
    def found(self) -> set[str]:
        """The shapes that a process may find after a write."""
        return {shape for rows in self.rows for shape in self.shapes[rows]}


@dataclass(frozen=True)
class Trial:
    """What is done to one session: its processes are killed one after the other, and one ends.

    Attributes:
        kills: for each process that is to be killed, the point, or after how many seconds. The
            first one must be met if it is a point; others may come too late.
        victim: who is killed.
        spawned: whether the players are new interpreters; else they are forked from a warm one.
    """

    kills: tuple[Point | float, ...]
    victim: Victim = "process"
    spawned: bool = False


def trials(storage: str, writes: Writes, budget: int | None, random: Random) -> list[Trial]:
    """The trials of one scenario on one storage.

    Args:
        storage: the kind.
        writes: of the uninterrupted run.
        budget: at least how many kills at points; ``None`` for every write and every place.
        random: draws.
    """
    by_place = [_points(storage, writes, place) for place in PLACES]
    chosen = [point for points in by_place for point in points]
    if budget is not None:
        needed = _needed(writes, by_place, random)
        others = [point for point in _mixed(by_place, random) if point not in needed]
        chosen = needed + others[: max(0, budget - len(needed))]
    if storage == SERVER:
        return [Trial((point,), random.choice(["server", "both"])) for point in chosen]
    planned = [_perhaps_twice(point, random) for point in chosen]
    planned += [_timed(writes, random) for _ in range(2 if budget else 40)]
    spawned = random.choices(chosen, k=random.randrange(2) if budget else 6)
    return planned + [Trial((point,), spawned=True) for point in spawned]


def budget_of(kills: int, cells: int) -> int:
    """How many kills each of so many scenarios on a storage must take, for so many in all."""
    return max(len(PLACES), math.ceil(kills / cells))


def _points(storage: str, writes: Writes, place: Place) -> list[Point]:
    """Every point of a place that is worth a try."""
    if place != "inside":
        return [Point(write, place) for write in range(len(writes.steps))]
    return [
        Point(write, place, step)
        for write, steps in enumerate(writes.steps)
        for step in range(_STEPS.get(storage, steps))
    ]


def _needed(writes: Writes, by_place: list[list[Point]], random: Random) -> list[Point]:
    """The first point, one for each place, one for each shape that may be found.

    And the last one inside the longest write, which is before the COMMIT of a transaction.
    """
    before, inside, after = by_place
    longest = writes.steps.index(max(writes.steps))
    needed = [before[0], *map(random.choice, by_place)]
    needed.append([point for point in inside if point.write == longest][-1])
    for shape in sorted(writes.found):
        fitting = [point for point in after if shape in writes.shapes[writes.rows[point.write]]]
        needed.append(random.choice(fitting))
    return list(dict.fromkeys(needed))


def _mixed(by_place: list[list[Point]], random: Random) -> list[Point]:
    """Every point, drawn, and as many of one place as of another as long as there are some."""
    drawn = [random.sample(points, len(points)) for points in by_place]
    return [point for row in zip_longest(*drawn) for point in row if point is not None]


def _perhaps_twice(point: Point, random: Random) -> Trial:
    """The process that resumes is killed, too, in one trial of three."""
    if random.random() < 2 / 3:
        return Trial((point,))
    return Trial((point, Point(random.randrange(3), random.choice(PLACES))))


def _timed(writes: Writes, random: Random) -> Trial:
    """Up to three processes are killed at any time, the opening of the storage included."""
    return Trial(tuple(random.uniform(0, writes.seconds) for _ in range(random.randint(1, 3))))
