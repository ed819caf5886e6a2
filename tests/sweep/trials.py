"""One trial: processes are killed and others resume, until one ends; then all is compared."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from redis_server import RedisServer

from sweep.child import Job
from sweep.effects import Account
from sweep.killing import Point
from sweep.plan import Trial
from sweep.processes import KILLED, Starter, brought_back

SHOWN = 6
"""How many differences a failure shows."""


@dataclass
class Ended:
    """How a trial, or an uninterrupted run, ended.

    Attributes:
        folder: its directory; kept if something is wrong.
        killed: the kills that were done: a point, or after how many seconds.
        played: what the last player said.
        stored: what the reader said.
        account: what all of them did.
        faults: what is wrong.
    """

    folder: Path
    killed: list[Point | float] = field(default_factory=list)
    played: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Any] = field(default_factory=dict)
    account: Account = field(default_factory=Account)
    faults: list[str] = field(default_factory=list)


class Stage:
    """Where trials of one scenario on one storage are done.

    Args:
        starter: starts processes.
        scenario: name of the scenario.
        storage: kind of storage.
        base: directory for the trials' own.
    """

    def __init__(self, starter: Starter, scenario: str, storage: str, base: Path) -> None:
        self._starter, self._base = starter, base
        self._scenario, self._storage = scenario, storage

    def run(self, trial: Trial, server: RedisServer | None) -> Ended:
        """Do a trial, and read what is stored.

        Args:
            trial: the trial; without kills it is the uninterrupted run.
            server: the server, for a storage on one. It is started again whenever it was killed.
        """
        ended = Ended(Path(tempfile.mkdtemp(prefix="trial-", dir=self._base)))
        job = Job(
            self._scenario,
            self._storage,
            str(ended.folder),
            0,
            url=server.url if server else "",
            victim=trial.victim,
        )
        try:
            for number, kill in enumerate((*trial.kills, None)):
                job = replace(job, number=number, point=kill if isinstance(kill, Point) else None)
                if self._plays(job, trial, kill, server, ended):
                    break
            ended.played = json.loads(job.outcome.read_text())
            job = replace(job, number=job.number + 1, point=None, reads=True, grows=not trial.kills)
            self._does(job, trial, None, server, ended)
            ended.stored = json.loads(job.outcome.read_text())
            ended.account = Account.read(job.log)
        except (FileNotFoundError, TimeoutError) as error:
            ended.faults.append(f"{error}")
        return ended

    def _plays(
        self,
        job: Job,
        trial: Trial,
        kill: Point | float | None,
        server: RedisServer | None,
        ended: Ended,
    ) -> bool:
        """Let a process play; whether it came to the end."""
        status, server_fell = self._does(job, trial, kill, server, ended)
        if kill is not None and (status == KILLED or server_fell):
            ended.killed.append(kill)
        elif isinstance(kill, Point) and job.number == 0:
            ended.faults.append(f"{kill} was not met")
        return status != KILLED

    def _does(
        self,
        job: Job,
        trial: Trial,
        kill: Point | float | None,
        server: RedisServer | None,
        ended: Ended,
    ) -> tuple[int, bool]:
        """Run a job; its exit status, and whether the server was killed meanwhile."""
        falls = 0

        def bring_back(wait: float = 0) -> None:
            nonlocal falls
            falls += brought_back(server, wait)

        spawned = trial.spawned and not job.reads
        start = self._starter.spawn if spawned else self._starter.fork
        job = replace(job, server=server.process.pid if server else 0)
        status = start(job, bring_back, kill if isinstance(kill, float) else None)
        doomed = job.point is not None and trial.victim != "process" and not falls
        bring_back(wait=5 if doomed else 0)
        if status not in (0, KILLED) or (status == KILLED and kill is None):
            said = job.error.read_text() if job.error.exists() else ""
            ended.faults.append(f"process {job.number} ended with status {status}\n{said}")
        return status, falls > 0


def judged(ended: Ended, whole: Ended, trees: list[tuple[str, list[str]]]) -> Ended:
    """Hold a trial against the uninterrupted run; its directory is deleted if all is well.

    Args:
        ended: the trial.
        whole: the uninterrupted run on the same storage.
        trees: for each number of rows, the digest of the uninterrupted run's tree.
    """
    if not ended.faults:
        stored = ended.stored
        ended.faults += differences(whole.stored["entries"], stored["entries"], "stored")
        ended.faults += differences(whole.stored["tree"], stored["tree"], "tree")
        ended.faults += ended.account.faults(whole.account, stored["settled"])
        if stored["unsaved"] and ended.played["steps"]:
            ended.faults.append("a commit after the last cut has left states unsaved")
        for number, part in enumerate(ended.account.parts):
            if part.state and (part.seq >= len(trees) or part.state != trees[part.seq][0]):
                ended.faults.append(
                    f"process {number} found {part.seq} rows, and another tree than they make in "
                    f"the uninterrupted run: {', '.join(part.shapes)}"
                )
    if not ended.faults:
        shutil.rmtree(ended.folder)
    return ended


def differences(expected: Any, found: Any, where: str) -> list[str]:
    """The first few places in which two JSON values differ."""
    return [text for _, text in zip(range(SHOWN), _differences(expected, found, where))]  # noqa: B905


def _differences(expected: Any, found: Any, where: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected.keys() | found.keys():
            inner = f"{where} / {key}"
            yield from _differences(expected.get(key, "nothing"), found.get(key, "nothing"), inner)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from _differences(one, other, f"{where} / {number}")
    elif expected != found:
        yield f"{where}:\n  expected {expected}\n  found    {found}"
