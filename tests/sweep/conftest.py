"""The options of the sweep, what its tests share, and the table at the end."""

from __future__ import annotations

import os
import queue
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from redis_server import RedisServer, binary

from sweep.laboratory import Laboratory
from sweep.tally import Tally

TALLY = pytest.StashKey[Tally]()

KILLS = 500
WORKERS = max(2, os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a call that names this folder."""
    group = parser.getgroup("sweep", "crash sweep")
    group.addoption("--kills", default=str(KILLS), help="at least how many kills, or 'all'")
    group.addoption("--sweep-seed", default="1", help="draws what is drawn")


def pytest_configure(config: pytest.Config) -> None:
    """A tally for this run."""
    config.stash[TALLY] = Tally()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The table."""
    lines = list(config.stash[TALLY].lines())
    if lines:
        terminalreporter.section("crash sweep")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def laboratory(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Laboratory]:
    """Where the trials are done."""
    kills = pytestconfig.getoption("--kills", str(KILLS))
    seed = pytestconfig.getoption("--sweep-seed", "1")
    path = os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parents[1])])
    with pytest.MonkeyPatch.context() as patch, ExitStack() as running:
        patch.setenv("PYTHONPATH", path)
        # As under `python -m pytest`: else every fork would run the script `pytest` once more.
        patch.setattr(sys.modules["__main__"], "__spec__", find_spec("pytest.__main__"))

        def server(**options: str) -> RedisServer:
            where = tmp_path_factory.mktemp("redis")
            return running.enter_context(RedisServer(where, **options))

        _need_program()
        mortal: queue.Queue[RedisServer] = queue.Queue()
        for _ in range(WORKERS):
            mortal.put(server(appendonly="yes", appendfsync="always"))
        yield running.enter_context(
            Laboratory(
                base=tmp_path_factory.mktemp("sweep"),
                kills=None if kills == "all" else int(kills),
                seed=seed,
                workers=WORKERS,
                server=server(),
                mortal=mortal,
                tally=pytestconfig.stash[TALLY],
            )
        )


def _need_program() -> None:
    try:
        binary()
    except FileNotFoundError as error:
        pytest.fail(str(error))
