"""Where a process is to be killed, and the killing: with SIGKILL, by itself, at that very point."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Literal, NoReturn

Place = Literal["before", "inside", "after"]
PLACES: tuple[Place, ...] = ("before", "inside", "after")

Victim = Literal["process", "server", "both"]


@dataclass(frozen=True)
class Point:
    """A point of a process's writes.

    Attributes:
        write: number of the write in this process, 0-based.
        place: before it, inside it, after it.
        step: which of the storage's own steps inside it, 0-based.
    """

    write: int
    place: Place
    step: int = 0


class Killer:
    """Counts the writes of a storage, and their inner steps, and kills at one of them.

    Args:
        point: where; ``None`` for nowhere.
        victim: who: this process, the server that it writes to, or the server and then itself.
        server: the server's process id.

    Attributes:
        steps: of each write so far, how many inner steps it had.
        rows: after each write so far, how many rows the session has.
        writing: whether a write is under way.
    """

    def __init__(self, point: Point | None, victim: Victim = "process", server: int = 0) -> None:
        self._point, self._victim, self._server = point, victim, server
        self.steps: list[int] = []
        self.rows: list[int] = []
        self.writing = False

    def before(self, rows: int) -> None:
        """A write is about to begin, after which the session has so many rows."""
        self._reached("before", len(self.steps))
        self.steps.append(0)
        self.rows.append(rows)
        self.writing = True

    def inside(self) -> bool:
        """An inner step of the write is done; whether to kill now."""
        step = self.steps[-1]
        self.steps[-1] += 1
        return self._point == Point(len(self.steps) - 1, "inside", step)

    def after(self) -> None:
        """The write is over."""
        self.writing = False
        self._reached("after", len(self.steps) - 1)

    def _reached(self, place: Place, write: int) -> None:
        if self._point == Point(write, place):
            self.kill()

    def kill(self) -> None:
        """Kill whoever is to be killed."""
        self._point = None
        if self._victim != "process":
            os.kill(self._server, signal.SIGKILL)
        if self._victim != "server":
            die()


def die() -> NoReturn:
    """End this process as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL came back")
