"""What was done, counted for the table at the end."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator

from sweep.killing import PLACES, Point
from sweep.plan import Trial
from sweep.trials import Ended

AT_RANDOM = "at random"


class Tally:
    """Counts the trials of all storages. May be used by several threads."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._lock = threading.Lock()

    def add(self, storage: str, trial: Trial, ended: Ended) -> None:
        """Count a trial."""
        places = [k.place if isinstance(k, Point) else AT_RANDOM for k in ended.killed]
        with self._lock:
            counts = self._counts[storage]
            counts.update(places)
            counts["kills"] += len(places)
            counts["trials"] += 1
            counts["new interpreters"] += trial.spawned * (len(places) + 1)
            counts["resumed"] += max(0, len(ended.account.parts) - 1)
            counts["model"] += _calls(ended, "model")
            counts["functions"] += _calls(ended, "tool") + _calls(ended, "function")
            counts["repeated"] += ended.account.repeated
            counts["differences"] += bool(ended.faults)

    def lines(self) -> Iterator[str]:
        """The table; nothing if nothing was done."""
        if not self._counts:
            return
        columns = [
            *("trials", "kills", *PLACES, AT_RANDOM, "resumed"),
            *("model", "functions", "repeated", "differences"),
        ]
        yield "storage".ljust(14) + "".join(name.rjust(12) for name in columns)
        total: Counter[str] = Counter()
        for storage, counts in self._counts.items():
            total.update(counts)
            yield _line(storage, [counts[name] for name in columns])
        yield _line("all", [total[name] for name in columns])
        yield (
            f"{total['new interpreters']} of the processes were new interpreters, the others forks."
        )
        yield "model, functions: calls made; repeated: those among them that a kill had cut short."


def _calls(ended: Ended, kind: str) -> int:
    account = ended.account
    return sum(n for key, n in account.calls.items() if account.kinds[key] == kind)


def _line(name: str, numbers: list[int]) -> str:
    return name.ljust(14) + "".join(f"{number:,}".rjust(12) for number in numbers)
