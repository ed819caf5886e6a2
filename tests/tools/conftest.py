"""An API to call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_server import ApiServer


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A server of the test's own."""
    with ApiServer() as server:
        yield server
