"""All trials of one run of the sweep: several at the same time, and what they are held against."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType

from redis_server import RedisServer

from sweep.plan import Trial, Writes, budget_of, trials
from sweep.processes import Starter
from sweep.scenarios import SCENARIOS
from sweep.storages import DISK, REDIS, SERVER, STORAGES
from sweep.tally import Tally
from sweep.trials import Ended, Stage, judged

UNINTERRUPTED = Trial(())


@dataclass
class Laboratory:
    """Does trials.

    Attributes:
        base: directory for them.
        kills: at least how many kills at points of the storages' writes; ``None`` for all.
        seed: draws what is drawn.
        workers: how many trials at the same time.
        server: a Redis server that is not killed.
        mortal: servers that are, one for each worker.
        tally: counts.
    """

    base: Path
    kills: int | None
    seed: str
    workers: int
    server: RedisServer
    mortal: queue.Queue[RedisServer]
    tally: Tally
    _starter: Starter = field(default_factory=Starter)
    _whole: dict[tuple[str, str], Ended] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __enter__(self) -> Laboratory:
        self._pool = ThreadPoolExecutor(self.workers)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def sweep(self, scenario: str, storage: str) -> tuple[list[Trial], list[Ended]]:
        """Do all trials of a scenario on a storage: those that were planned, and how they ended."""
        random = Random(f"{self.seed} {scenario} {storage}")  # noqa: S311 - not for secrets
        planned = trials(storage, self.writes(scenario, storage), self._budget(storage), random)
        return planned, list(
            self._pool.map(lambda trial: self._judged(scenario, storage, trial), planned)
        )

    def writes(self, scenario: str, storage: str) -> Writes:
        """The writes of the uninterrupted run."""
        whole = self.whole(scenario, storage)
        trees = self.whole(scenario, DISK).stored["trees"]
        played = whole.played
        shapes = [shapes for _, shapes in trees]
        return Writes(played["steps"], played["rows"], shapes, played["seconds"])

    def whole(self, scenario: str, storage: str) -> Ended:
        """The uninterrupted run."""
        with self._lock:
            known = self._whole.get((scenario, storage))
            if known is None:
                known = self._do(scenario, storage, UNINTERRUPTED)
                assert not known.faults, known.faults
                self._whole[scenario, storage] = known
            return known

    def _judged(self, scenario: str, storage: str, trial: Trial) -> Ended:
        whole = self.whole(scenario, storage)
        trees = self.whole(scenario, DISK).stored["trees"]
        ended = judged(self._do(scenario, storage, trial), whole, trees)
        self.tally.add(storage, trial, ended)
        return ended

    def _do(self, scenario: str, storage: str, trial: Trial) -> Ended:
        stage = Stage(self._starter, scenario, storage, self.base)
        if storage == SERVER:
            server = self.mortal.get()
            try:
                return stage.run(trial, server)
            finally:
                self.mortal.put(server)
        return stage.run(trial, self.server if storage == REDIS else None)

    def _budget(self, storage: str) -> int | None:
        if self.kills is None:
            return None
        others = len(STORAGES) - 1  # the kills of a server come on top
        budget = budget_of(self.kills, len(SCENARIOS) * others)
        return budget // 2 if storage == SERVER else budget
