"""Redis servers. Without the program the tests that need one fail, and say what to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from redis_server import RedisServer, binary


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One server for all tests that do not change it."""
    _need_program()
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def start_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    """Starts servers of the test's own, with settings of its own."""
    _need_program()
    with ExitStack() as running:

        def start(directory: Path | None = None, **options: str) -> RedisServer:
            where = directory or tmp_path_factory.mktemp("redis")
            return running.enter_context(RedisServer(where, **options))

        yield start


@pytest.fixture
def agency() -> str:
    """A name that no other test uses, with what means something in a pattern or a hash tag."""
    return f"a}}{{*?[b]:é {uuid4()}"


def _need_program() -> None:
    try:
        binary()
    except FileNotFoundError as error:
        pytest.fail(str(error))
