"""A killed run ends as if it had not been killed, whatever it was at and wherever it is stored."""

from __future__ import annotations

import pytest

from sweep.killing import PLACES, Point
from sweep.laboratory import Laboratory
from sweep.plan import Trial
from sweep.scenarios import SCENARIOS
from sweep.shapes import SHAPES
from sweep.storages import DISK, SERVER, STORAGES
from sweep.trials import Ended, differences

pytestmark = [pytest.mark.sweep, pytest.mark.redis]


def _story(trial: Trial, ended: Ended) -> str:
    return "\n".join([f"{trial} in {ended.folder}", *ended.faults])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_killed_run_ends_as_if_it_had_not_been_killed(
    laboratory: Laboratory, scenario: str, storage: str
):
    """Every stored byte is the same, and nothing that was stored was done again."""
    planned, ended = laboratory.sweep(scenario, storage)
    wrong = [_story(t, e) for t, e in zip(planned, ended, strict=True) if e.faults]
    assert not wrong, f"{len(wrong)} of {len(planned)} trials:\n" + "\n\n".join(wrong[:5])
    points = {kill for e in ended for kill in e.killed if isinstance(kill, Point)}
    assert {point.place for point in points} == set(PLACES)
    found = {shape for e in ended for part in e.account.parts for shape in part.shapes}
    assert storage == SERVER or laboratory.writes(scenario, storage).found <= found


def test_the_scenarios_have_every_shape_of_a_restart(laboratory: Laboratory):
    """Each scenario is killed in every shape that it has."""
    found = set().union(*(laboratory.writes(scenario, DISK).found for scenario in SCENARIOS))
    assert found == SHAPES - {"nothing"}


@pytest.mark.parametrize("storage", STORAGES[1:])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_storage_holds_the_same_session(laboratory: Laboratory, scenario: str, storage: str):
    """The tree that is loaded is the same, and so is everything that was called."""
    disk, other = laboratory.whole(scenario, DISK), laboratory.whole(scenario, storage)
    assert not differences(disk.stored["tree"], other.stored["tree"], "tree")
    assert disk.account.calls == other.account.calls
    assert set(disk.account.calls.values()) == {1}
