"""Reads the tables of conditions.md, so that the published document is the very test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from liman_nb.specs.conditions import ErrorView, View

_DOCUMENT = Path(__file__).with_name("conditions.md")


@dataclass(frozen=True)
class Case:
    """One row of a table of outcomes."""

    condition: str
    view: View
    outcome: str
    values: dict[str, Any]
    from_context: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class LimanCase:
    """One row of the table of Liman's readings; an empty reading is the same as ours."""

    condition: str
    reading: str


@dataclass(frozen=True)
class MistakeCase:
    """One row of the table of mistakes."""

    condition: str
    position: int
    message: str
    hint: str


def outcome_cases() -> list[Case]:
    """Every row about an outcome, in the order of the document."""
    return [_case(*row) for row in _rows("Condition", "Given", "Outcome", "Values read", "Reason")]


def liman_cases() -> list[LimanCase]:
    """Every row about Liman's grammar."""
    return [LimanCase(*row) for row in _rows("Condition", "Liman reads")]


def mistake_cases() -> list[MistakeCase]:
    """Every row about a text that is no condition."""
    rows = _rows("Condition", "Position", "What is wrong", "What to write")
    return [MistakeCase(text, int(position), *words) for text, position, *words in rows]


def _case(condition: str, given: str, outcome: str, values: str, reason: str) -> Case:
    read: dict[str, Any] = yaml.safe_load(f"{{{values}}}")
    hidden = tuple(name for name, value in read.items() if value == "(context)")
    shown = {name: value for name, value in read.items() if name not in hidden}
    return Case(condition, _view(yaml.safe_load(f"{{{given}}}")), outcome, shown, hidden, reason)


def _view(given: dict[str, Any]) -> View:
    error, now = given.pop("error", None), given.pop("now", None)
    if error:
        given["error"] = ErrorView(error[0], tuple(error))
    if now:
        given["now"] = lambda: datetime.fromisoformat(now)
    return View(**given)


def _rows(*header: str) -> Iterator[list[str]]:
    """The rows of every table with these column names, as plain text."""
    inside = False
    for line in _DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [_plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells == list(header):
            inside = True
        elif not cells:
            inside = False
        elif inside and set("".join(cells)) != {"-"}:
            yield cells


def _plain(cell: str) -> str:
    """A cell without the quoting of Markdown."""
    cell = cell.strip().replace(r"\|", "|")
    return cell[1:-1] if cell.startswith("`") and cell.endswith("`") else cell
