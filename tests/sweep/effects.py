"""What models, tools and functions did to the world, written down by themselves, and counted.

One file for all processes of a trial, opened with O_APPEND: a line is there whole or not at all,
and the order of the lines is that in which things happened.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from liman_nb.engine.tree import Executor, Tree

Kind = Literal["model", "tool", "function"]

NEVER_TWICE = {"pay"}
"""Tools with ``on_crash: ask``."""


class Effects:
    """Writes down what one process does.

    Args:
        file: of the trial.
    """

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def loaded(self, tree: Tree, state: str, shapes: list[str], listed: list[int] | None) -> None:
        """A process begins, with the session as it found it."""
        self._write(
            event="loaded",
            seq=tree.seq,
            turns=len(tree.turns),
            state=state,
            shapes=shapes,
            listed=listed,
            committed=[key for e in tree.executors.values() for key in _committed(e)],
        )

    def begun(self, kind: Kind, node: str, executor: str, number: int) -> None:
        """A call begins: the `number`-th of its executor's run that is one effect, 0-based."""
        self._write(event="begun", kind=kind, node=node, key=_key(executor, number))

    def _write(self, **line: Any) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def _key(executor: str, number: int) -> str:
    return f"{executor} {number}"


def _committed(executor: Executor) -> Iterator[str]:
    """The keys of an executor's calls whose outcome is stored.

    A model's run is one for each of its replies; a function that asked a person is called again
    with the answer.
    """
    asks = [answer.kind for answer in executor.answers]
    if executor.question is not None:
        asks.append(executor.question.kind)
    calls = executor.runs + asks.count("function")
    return (_key(executor.id, number) for number in range(calls))


@dataclass
class Part:
    """What one process did.

    Attributes:
        seq: how many rows it found.
        turns: how many turns.
        state: the digest of the tree that they made; empty where that is not one of those of the
            uninterrupted run, since a person was asked about a call that was cut.
        shapes: what the tree was like.
        listed: of each session in the storage's list, how many turns the list says;
            ``None`` from a storage that has no list.
        committed: the calls whose outcome was stored when it began.
        begun: the calls that it made.
    """

    seq: int
    turns: int
    state: str
    shapes: list[str]
    listed: list[int] | None
    committed: set[str]
    begun: list[str] = field(default_factory=list)


@dataclass
class Account:
    """What all processes of a trial did.

    Attributes:
        parts: by process, of those that came so far as to read what is stored.
        kinds: what each call was.
        nodes: which node made it.
    """

    parts: list[Part] = field(default_factory=list)
    kinds: dict[str, Kind] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Account:
        """The account that the processes of a trial kept."""
        account = cls()
        for text in file.read_text().splitlines():
            line = json.loads(text)
            if line.pop("event") == "loaded":
                account.parts.append(Part(**{**line, "committed": set(line["committed"])}))
            else:
                account.parts[-1].begun.append(line["key"])
                account.kinds[line["key"]] = line["kind"]
                account.nodes[line["key"]] = line["node"]
        return account

    @property
    def calls(self) -> Counter[str]:
        """How often each call was made."""
        return Counter(key for part in self.parts for key in part.begun)

    @property
    def repeated(self) -> int:
        """How many calls were made again, as they had been in flight when their process died."""
        return sum(self.calls.values()) - len(self.calls)

    def faults(self, whole: Account, settled: dict[str, list[str]]) -> list[str]:
        """What should not have happened.

        Args:
            whole: the account of the uninterrupted run.
            settled: what a person said of calls that a crash had cut, by executor.
        """
        found = []
        for number, part in enumerate(self.parts):
            if part.listed not in (None, [part.turns][: part.turns]):
                found.append(f"process {number} found {part.turns} turns and lists {part.listed}")
            again = Counter(part.begun)
            found += [
                f"process {number} repeated {self._name(key)}, which is stored"
                for key in again
                if key in part.committed
            ]
            found += [
                f"process {number} made {self._name(key)} {times} times"
                for key, times in again.items()
                if times > 1
            ]
        for key, times in self.calls.items():
            if key not in whole.calls:
                found.append(f"{self._name(key)} was made, which is not in the uninterrupted run")
            allowed = 1 + settled.get(key.split()[0], []).count("call again")
            if self.nodes[key] in NEVER_TWICE and times > allowed:
                found.append(f"{self._name(key)} was made {times} times and allowed {allowed}")
        for key in whole.calls.keys() - self.calls.keys():
            if "use this result" not in settled.get(key.split()[0], []):
                found.append(f"{whole._name(key)} was never made")
        return found

    def _name(self, key: str) -> str:
        return f"the call {key} of {self.kinds[key]} {self.nodes[key]}"
