"""The program of one process of a trial: to play, and perhaps to be killed, or to read."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from liman_nb import StateStorage
from liman_nb.engine.apply import apply
from liman_nb.engine.loading import load_tree
from liman_nb.engine.tree import Tree
from liman_nb.state.journal import JournalStorage
from liman_nb.state.rows import AnyRow
from sweep import storages
from sweep.effects import Effects
from sweep.killing import Killer, Point, Victim
from sweep.playing import ROOT, SESSION, Play
from sweep.scenarios import SCENARIOS
from sweep.shapes import shapes
from sweep.stored import digest, disk_entries, file_entries, plain, redis_entries, settled


@dataclass(frozen=True)
class Job:
    """What one process does.

    Attributes:
        scenario: name of the scenario.
        storage: kind of storage.
        folder: the trial's own directory; its name keeps the trial apart on a server.
        number: which process of the trial it is.
        url: of the server, if there is one.
        server: the server's process id.
        point: where to kill.
        victim: whom.
        reads: whether to read what is stored and not to play.
        grows: whether to read as well which trees the rows made, one after the other.
    """

    scenario: str
    storage: str
    folder: str
    number: int
    url: str = ""
    server: int = 0
    point: Point | None = None
    victim: Victim = "process"
    reads: bool = False
    grows: bool = False

    @classmethod
    def from_json(cls, text: str) -> Job:
        """A job for a process that is started with a command line."""
        data = json.loads(text)
        point = data.pop("point")
        return cls(**data, point=None if point is None else Point(**point))

    def to_json(self) -> str:
        """For `from_json`."""
        return json.dumps(asdict(self))

    @property
    def log(self) -> Path:
        """Where effects are written down."""
        return Path(self.folder, "effects")

    @property
    def outcome(self) -> Path:
        """Where the process says what it came to, if it comes to its end."""
        return Path(self.folder, f"outcome {self.number}")

    @property
    def error(self) -> Path:
        """Where the process says why it failed."""
        return Path(self.folder, f"error {self.number}")


def main(job: Job) -> None:
    """Do the job; the process's exit status is 1 if that fails."""
    warnings.simplefilter("error")
    try:
        outcome = asyncio.run(_read(job) if job.reads else _play(job))
    except BaseException:  # noqa: BLE001 - whatever it was, it is told
        job.error.write_text(traceback.format_exc())
        sys.exit(1)
    job.outcome.write_text(json.dumps(outcome))


def _storage(job: Job, killer: Killer) -> StateStorage:
    agency = Path(job.folder).name
    where = job.url or str(_directory(job))
    return storages.make(job.storage, where, agency, killer, job.victim)


def _directory(job: Job) -> Path:
    return Path(job.folder, "stored")


async def _play(job: Job) -> dict[str, Any]:
    """Play; the outcome says what writes there were, and how many seconds it took."""
    began = time.monotonic()
    killer = Killer(job.point, job.victim, job.server)
    storage = _storage(job, killer)
    effects = Effects(job.log)
    found = await load_tree(storage, ROOT, SESSION)
    is_as_ever = not any(settled(found).values())  # else it is not one of the uninterrupted run
    state = digest(found) if is_as_ever else ""
    effects.loaded(found, state, shapes(found), await _listed(storage))
    await Play(SCENARIOS[job.scenario], storage, effects).to_the_end()
    await storage.close()
    return {
        "steps": killer.steps,
        "rows": killer.rows,
        "seconds": time.monotonic() - began,
    }


async def _listed(storage: StateStorage) -> list[int] | None:
    """Of each session in the storage's list, how many turns the list says it has."""
    if not isinstance(storage, JournalStorage):
        return None
    return [line.turns for line in await storage.list_sessions()]


async def _read(job: Job) -> dict[str, Any]:
    """Read: the outcome is all that is stored, and the tree that is loaded."""
    storage = _storage(job, Killer(None))
    tree = await load_tree(storage, ROOT, SESSION)
    rows = await storage.load_rows(ROOT)
    await storage.close()
    match job.storage:
        case "disk":
            entries = disk_entries(_directory(job))
        case "four methods":
            entries = file_entries(_directory(job), tree)
        case _:
            entries = redis_entries(job.url, Path(job.folder).name)
    return {
        "entries": entries,
        "tree": plain(tree),
        "unsaved": len(tree.unsaved.touched) + len(tree.unsaved.actors),
        "settled": settled(tree),
        "trees": _growing(rows or []) if job.grows else [],
    }


def _growing(rows: Sequence[AnyRow]) -> list[tuple[str, list[str]]]:
    """For each number of rows, the digest of the tree that they make, and its shapes."""
    tree = Tree(SESSION, ROOT)
    trees = [(digest(tree), shapes(tree))]
    for row in rows:
        apply(tree, row)
        trees.append((digest(tree), shapes(tree)))
    return trees


if __name__ == "__main__":
    main(Job.from_json(sys.argv[1]))
