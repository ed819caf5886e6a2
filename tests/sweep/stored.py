"""Every stored byte of a session, in a form in which two sessions can be compared.

What is not compared, and why:

* times, which are when things happened: the fields of `TIMES`, and SQLite's column ``store_time``;
* the writer's own marks: the lease in a session's hash on a Redis server (`MARKS`), and a state's
  ``seq``, which is the number of the row with which it was saved;
* the numbers of rows in states and trees (`PLACES`) but for their order, where a call was cut: the
  question and the answer after it are rows, too;
* diskcache's ``access_time``, which is the time again, and its counters ``count`` and ``size``,
  which must be those of the rows that are there (`_disk` checks it);
* files that a killed process left beside a state (``*.new``): they were never the state;
* with the four methods, an actor's ``last_run`` but for the last executor of it: it is there to
  repair a saving that was cut off, so it also has what an earlier cut had left unsaved;
* with the four methods, states that the last cut left unsaved, if no commit came after it: they are
  compared as they are loaded (`trials.py` checks that no commit came);
* the answer to a question that a call of an ``on_crash: ask`` tool left behind when it was cut,
  and, if it was "call again", the question that is asked before the second call: an uninterrupted
  run has neither (`settled` says what they were, and `effects.py` holds the calls against it).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import redis
from pydantic import BaseModel

from liman_nb.engine.states import actor_state, executor_state
from liman_nb.engine.tree import Tree
from liman_nb.state.states import ExecutorState

Entries = dict[str, Any]
"""What is stored, by name."""

TIMES = ("at", "created_at", "used_at", "started_at", "ended_at", "since")
MARKS = ("fence", "holder", "until")
PLACES = ("started_row", "ran_row", "left_row")
_TIME = re.compile(rf'"({"|".join(TIMES)})":\s*"[^"]*"')


def timeless(text: str) -> str:
    """A JSON text without its times."""
    return _TIME.sub(r'"\1":""', text)


# ── journals ─────────────────────────────────────────────────────────────────────────────────────


def without_crash_answers(rows: Iterable[str]) -> Iterator[str]:
    """A journal's rows without the answers to the questions of calls that were cut."""
    cut: set[str] = set()
    again: set[str] = set()
    for text in rows:
        row = json.loads(text)
        executor = row.get("executor", "")
        match row["kind"]:
            case "ask" if executor in again:
                again.remove(executor)
                cut.add(executor)
                continue
            case "ask" if row["question"]["kind"] == "crash":
                cut.add(executor)
            case "answer" if executor in cut:
                cut.remove(executor)
                if row["value"]["action"] == "call again":
                    again.add(executor)
                continue
            case "run":
                cut.discard(executor)
        yield text


def _journal(rows: Iterable[str]) -> list[str]:
    return [timeless(row) for row in without_crash_answers(rows)]


_COLUMNS = "key, raw, mode, filename, value, size, tag, expire_time, access_count"


def disk_entries(directory: Path) -> Entries:
    """Every row of the database, in the order in which they were written."""
    with closing(sqlite3.connect(directory / "cache.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        cells = connection.execute(f"SELECT {_COLUMNS} FROM Cache ORDER BY rowid").fetchall()  # noqa: S608 - a constant
        settings: dict[str, Any] = dict(connection.execute("SELECT key, value FROM Settings"))
    assert settings.pop("count") == len(cells)
    assert settings.pop("size") == sum(cell[5] for cell in cells)
    journal = [cell for cell in cells if cell[0][:1] == b"r"]
    numbers = [int.from_bytes(cell[0][-4:], "big") for cell in journal]
    assert numbers == list(range(len(journal))), "a row is missing or came too late"
    assert len({cell[0][:-4] for cell in journal}) <= 1, "rows of another session"
    return {
        "rows": _journal(cell[4].decode() for cell in journal),
        "other cells": [_cell(cell) for cell in cells if cell not in journal],
        "shape of rows": sorted({repr((cell[1:4], cell[5:])) for cell in journal}),
        "settings": settings,
        "files": sorted(file.name for file in directory.iterdir() if "cache.db" not in file.name),
    }


def _cell(cell: tuple[Any, ...]) -> str:
    key, raw, mode, filename, value, *rest = cell
    return repr((key.hex(), raw, mode, filename, timeless(value.decode()), *rest))


def redis_entries(url: str, agency: str) -> Entries:
    """Every key of the trial, with its value and whether it expires."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        found: Entries = {}
        for key in sorted(client.scan_iter(f"liman_nb:{{{agency}:*")):
            value = _value(client, key)
            found[key.replace(agency, "trial")] = {"value": value, "expires": client.ttl(key) > 0}
    return found


def _value(client: redis.Redis, key: str) -> Any:
    match client.type(key):
        case "list":
            return _journal(client.lrange(key, 0, -1))
        case "hash":
            values = client.hgetall(key).items()
            return {k: "" if k in TIMES else v for k, v in values if k not in MARKS}
        case _:
            return client.get(key)


# ── states ───────────────────────────────────────────────────────────────────────────────────────


def file_entries(directory: Path, tree: Tree) -> Entries:
    """Every saved state; those that are still to be saved as they are loaded."""
    unsaved = _unsaved(tree)
    ranks = _ranks(_plain(executor) for executor in tree.executors.values())
    found: Entries = {}
    for file in sorted(directory.glob("*.json")):
        saved = unsaved.get(file.stem) or json.loads(file.read_text())
        if saved.get("last_run"):
            saved["last_run"] = _comparable(saved["last_run"]["executors"][-1], ranks)
        found[file.name] = timeless(json.dumps(_comparable(saved, ranks)))
    return found


def _unsaved(tree: Tree) -> dict[str, dict[str, Any]]:
    """The states that the next commit would save beside its own, by the names of their files."""
    order = {identity: i for i, identity in enumerate(tree.executors)}

    def state(identity: str) -> ExecutorState:
        return executor_state(tree, tree.executors[identity], order[identity])

    found: dict[str, BaseModel] = {identity: state(identity) for identity in tree.unsaved.touched}
    for node, executor in tree.unsaved.actors.items():
        actor = tree.actors[node]
        found[f"{tree.root}.{actor.id}"] = actor_state(tree, actor, (state(executor),))
    return {name: saved.model_dump(mode="json") for name, saved in found.items()}


def _comparable(state: dict[str, Any], ranks: dict[int, int]) -> dict[str, Any]:
    """An executor's state as `without_crash_answers` would have it, rows by their rank."""
    if "answers" not in state:
        return state
    added = _added(state["answers"])
    state["asked"] -= added.count("ask")
    state["answers"] = [answer for answer in state["answers"] if answer["kind"] != "crash"]
    state.pop("seq", None)
    return state | {place: ranks[row] for place, row in _rows(state)}


def _ranks(executors: Iterable[dict[str, Any]]) -> dict[int, int]:
    """The rank of each number of a row among those that the executors of a session name."""
    named = {row for executor in executors for _, row in _rows(executor)}
    return {row: rank for rank, row in enumerate(sorted(named))}


def _rows(executor: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The rows that an executor names, as numbers up to and with that row; 0 for none."""
    for place in PLACES:
        yield place, executor[place] + (place == "started_row")


def _added(answers: Iterable[Any]) -> list[str]:
    """The rows that answers to crashes have added: the answers, and the questions after them."""
    added = []
    for answer in answers:
        kind, value = (
            (answer["kind"], answer["value"])
            if isinstance(answer, dict)
            else (answer.kind, answer.value)
        )
        if kind == "crash":
            added += ["answer", "ask"] if value["action"] == "call again" else ["answer"]
    return added


# ── trees ────────────────────────────────────────────────────────────────────────────────────────


def settled(tree: Tree) -> dict[str, list[str]]:
    """What a person said of calls that a crash had cut, by executor."""
    return {
        e.id: [answer.value["action"] for answer in e.answers if answer.kind == "crash"]
        for e in tree.executors.values()
    }


def plain(tree: Tree) -> dict[str, Any]:
    """A tree as JSON values, without times, and without what is only about its saving."""
    found: dict[str, Any] = json.loads(timeless(json.dumps(_plain(tree))))
    found.pop("unsaved")
    ranks = _ranks(found["executors"].values())
    for identity, executor in found["executors"].items():
        found["executors"][identity] = _comparable(executor, ranks)
    found["seq"] -= sum(len(_added(e.answers)) for e in tree.executors.values())
    found["order"] = list(tree.executors)
    return found


def digest(tree: Tree) -> str:
    """A tree in short."""
    return hashlib.sha256(json.dumps(plain(tree), sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {
            " ".join(map(str, k)) if isinstance(k, tuple) else k: _plain(v)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _name(key: Any) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
