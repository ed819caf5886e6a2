"""The sweep itself: what it plans, and that it would notice."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sweep.effects import Account, Part
from sweep.killing import PLACES, Point
from sweep.plan import Writes, budget_of, trials
from sweep.scenarios import SCENARIOS
from sweep.shapes import SHAPES
from sweep.storages import FILES, SERVER, STORAGES
from sweep.stored import timeless, without_crash_answers
from sweep.trials import differences


@st.composite
def all_writes(draw) -> Writes:
    """The writes of invented runs."""
    steps = draw(st.lists(st.integers(2, 12), min_size=1, max_size=30))
    rows = list(range(1, len(steps) + 1))
    shapes = draw(
        st.lists(
            st.lists(st.sampled_from(sorted(SHAPES)), max_size=3),
            min_size=len(rows) + 1,
            max_size=len(rows) + 1,
        )
    )
    return Writes(steps, rows, shapes, seconds=0.1)


def points(storage: str, writes: Writes, budget: int | None, seed: Any) -> list[Point]:
    """The points at which processes are surely killed."""
    planned = trials(storage, writes, budget, Random(seed))  # noqa: S311 - not for secrets
    return [t.kills[0] for t in planned if isinstance(t.kills[0], Point) and not t.spawned]


@given(all_writes(), st.sampled_from(STORAGES), st.integers(1, 60), st.integers())
def test_a_short_sweep_has_every_place_and_every_shape(writes, storage, budget, seed):
    """And as many kills as it was asked for, unless there are no more points."""
    chosen = points(storage, writes, budget, seed)
    every = points(storage, writes, None, seed)
    assert len(chosen) == len(set(chosen)) >= min(budget, len(every))
    assert {point.place for point in chosen} == set(PLACES)
    after = [writes.shapes[writes.rows[p.write]] for p in chosen if p.place == "after"]
    assert writes.found <= {shape for shapes in after for shape in shapes}


@given(all_writes(), st.sampled_from(STORAGES), st.integers())
def test_a_long_sweep_has_every_write_and_every_place(writes, storage, seed):
    """Of files every step between two saves, too."""
    every = points(storage, writes, None, seed)
    numbers = range(len(writes.steps))
    assert {(p.write, p.place) for p in every} == {(n, place) for n in numbers for place in PLACES}
    inside = sum(point.place == "inside" for point in every)
    assert storage != FILES or inside == sum(writes.steps)


def test_five_hundred_kills_are_at_least_five_hundred():
    """Those of a server and those at random times are not counted."""
    cells = len(SCENARIOS) * (len(STORAGES) - 1)
    assert SERVER in STORAGES
    assert budget_of(500, cells) * cells >= 500


# ── what it would notice ─────────────────────────────────────────────────────────────────────────


def account(*parts: tuple[set[str], list[str]], node: str = "add") -> Account:
    """What processes did that found these calls stored and made these."""
    made = [Part(0, 0, "", [], None, committed, begun) for committed, begun in parts]
    keys = {key for part in made for key in part.begun}
    return Account(made, dict.fromkeys(keys, "tool"), dict.fromkeys(keys, node))


WHOLE = account((set(), ["x 0", "y 0"]))


def test_a_call_in_flight_at_a_kill_may_be_made_again():
    """At most once for each kill."""
    assert account((set(), ["x 0"]), (set(), ["x 0", "y 0"])).faults(WHOLE, {}) == []


def test_a_call_whose_outcome_is_stored_may_not_be_made_again():
    """It would be a loss of what was paid for."""
    (fault,) = account((set(), ["x 0"]), ({"x 0"}, ["x 0", "y 0"])).faults(WHOLE, {})
    assert fault == "process 1 repeated the call x 0 of tool add, which is stored"


def test_a_call_is_made_once_by_a_process_and_never_left_out():
    """And none is made that the uninterrupted run does not make."""
    found = account((set(), ["x 0", "x 0", "z 0"])).faults(WHOLE, {})
    assert [fault.partition("call ")[2] for fault in found] == [
        "x 0 of tool add 2 times",
        "z 0 of tool add was made, which is not in the uninterrupted run",
        "y 0 of tool add was never made",
    ]


def test_a_tool_that_asks_is_called_as_often_as_a_person_says():
    """Never a second time unasked, and not at all if its result is given."""
    whole = account((set(), ["x 0"]), node="pay")
    twice = account((set(), ["x 0"]), (set(), ["x 0"]), node="pay")
    assert twice.faults(whole, {}) == [
        "the call x 0 of tool pay was made 2 times and allowed 1",
    ]
    assert twice.faults(whole, {"x": ["call again"]}) == []
    assert account((set(), [])).faults(whole, {"x": ["use this result"]}) == []


def test_any_difference_is_shown_with_its_place():
    """Also where one side has nothing."""
    assert differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 4}, "stored") in (
        [
            "stored / a / 1 / b:\n  expected 2\n  found    3",
            "stored / c:\n  expected nothing\n  found    4",
        ],
        [
            "stored / c:\n  expected nothing\n  found    4",
            "stored / a / 1 / b:\n  expected 2\n  found    3",
        ],
    )


def test_only_times_are_left_out():
    """Whatever else is beside them is compared."""
    text = '{"at":"2026-01-01T00:00:00.000Z","started_at": "2026","atlas":"x","what":"at"}'
    assert timeless(text) == '{"at":"","started_at":"","atlas":"x","what":"at"}'


def test_only_answers_to_cut_calls_are_left_out():
    """And the question before a second call; other people's answers are part of the session."""
    crash, human = {"kind": "crash"}, {"kind": "human"}
    again = {"kind": "answer", "executor": "x", "value": {"action": "call again"}}
    rows = [
        {"kind": "ask", "executor": "x", "question": crash},
        again,
        {"kind": "ask", "executor": "x", "question": crash},
        {"kind": "ask", "executor": "y", "question": human},
        {"kind": "answer", "executor": "y", "value": 1},
        again,
        {"kind": "ask", "executor": "x", "question": crash},
        {"kind": "run", "executor": "x"},
    ]
    left = [json.loads(row) for row in without_crash_answers(map(json.dumps, rows))]
    assert left == [rows[0], rows[3], rows[4], rows[7]]
