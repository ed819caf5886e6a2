"""How many node runs a turn still has to come: an open turn must not expire.

A storage gets rows, not the tree that they make. But every row says how it changes that number: a
turn begins with one run; a run is over and brings those of its children; a language model that
calls tools runs once more after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from pydantic import ValidationError

from liman_nb.state.rows import AnswerRow, AskRow, CancelRow, RunRow, TurnRow, load_row


@dataclass(frozen=True, slots=True)
class RunsToCome:
    """What a few rows do to the number of node runs to come.

    Attributes:
        anew: whether the number before them no longer counts.
        runs: how many there are then, or how many more or fewer.
    """

    anew: bool = False
    runs: int = 0


def runs_to_come(rows: Sequence[bytes]) -> RunsToCome:
    """What rows, as they are stored, do to the number of node runs to come."""
    anew, runs = False, 0
    for row in map(load_row, rows):
        match row:
            case TurnRow():
                anew, runs = True, 1
            case RunRow():
                runs += len(row.children) - (0 if row.calls else 1)
            case AskRow() | AnswerRow():
                pass
            case CancelRow():
                anew, runs = True, 0
            case _:
                assert_never(row)
    return RunsToCome(anew, runs)


def ends_within_a_turn(rows: Sequence[bytes]) -> bool:
    """Whether the last turn of a journal, given whole, has not ended.

    A journal that cannot be read is taken for open: it is kept, and reading it says what is wrong.
    """
    try:
        return runs_to_come(rows).runs > 0
    except ValidationError:
        return True
