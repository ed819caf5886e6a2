"""Which turns wait for the code that runs now, so that none of them is made to wait for itself.

A function of a turn may take a turn of another session, but not of its own: that one could begin
only after the turn has ended, which waits for the function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Inside:
    """A node run under way.

    Attributes:
        turns: its turn, and the turns that wait for that one.
        task: the task of the run. Another task that the run has begun may outlive the turn, so
            nobody is known to wait for that one.
    """

    turns: frozenset[object]
    task: asyncio.Task[object] | None


_INSIDE: ContextVar[_Inside | None] = ContextVar("liman_nb_inside", default=None)


def waiting_turns() -> frozenset[object]:
    """The turns that cannot go on before the current task has."""
    inside = _INSIDE.get()
    if inside is None or inside.task is not asyncio.current_task():
        return frozenset()
    return inside.turns


def begin_run(turns: frozenset[object]) -> None:
    """The current task performs a node run, for which these turns wait."""
    _INSIDE.set(_Inside(turns, asyncio.current_task()))


async def in_its_place(work: Awaitable[T]) -> T:
    """Do work for a caller whose thread is blocked meanwhile: who waits for that one waits here."""
    inside = _INSIDE.get()
    if inside is not None:
        _INSIDE.set(replace(inside, task=asyncio.current_task()))
    return await work
