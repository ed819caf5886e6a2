"""A server as this process reaches it: one client per event loop, and patience with a restart."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from liman_nb.errors import UsageError
from liman_nb.per_loop import PerLoop
from liman_nb.state.redis.address import Address
from liman_nb.state.redis.faults import client_errors, explained, fault, is_passing
from liman_nb.state.redis.scripts import Argument

_T = TypeVar("_T")

CONNECTIONS = 32
"""The most connections of one event loop. What needs more of them at a time waits for one."""


class Pipeline(Protocol):
    """Commands that are sent together."""

    def execute_command(self, *arguments: Argument) -> Any:
        """Add a command."""

    async def execute(self) -> list[Any]:
        """Send them, and give their replies in order."""


class Client(Protocol):
    """The part of a Redis client that is used here; a server's and a cluster's both have it."""

    async def execute_command(self, *arguments: Argument) -> Any:
        """Send a command, and give its reply."""

    def pipeline(self, transaction: bool) -> Pipeline:
        """Commands that are sent together."""

    def scan_iter(self, *, match: str, count: int) -> AsyncIterator[bytes]:
        """The keys of a pattern, found bit by bit; some may come twice."""

    async def info(self) -> dict[str, Any]:
        """What the server says of itself."""

    async def aclose(self) -> None:
        """Close the connections."""


Work = Callable[[Client, bool], Awaitable[_T]]
"""What to do on a server. It is told whether it may have been done before: a connection broke."""


class Server:
    """One Redis server, or cluster, from any event loop.

    A server that was reached before and is gone is waited for, `timeout` seconds at most; one that
    never was is reported at once.

    Args:
        address: where it is.
        timeout: seconds.
        cluster: whether it is a Redis Cluster.
    """

    def __init__(self, address: Address, timeout: float, cluster: bool) -> None:
        self.address = address
        self._timeout, self._cluster = timeout, cluster
        self._reached = False
        make = _make_cluster_client if cluster else _make_client
        self._clients = PerLoop(partial(make, address, timeout), _close)

    async def ask(self, work: Work[_T]) -> _T:
        """Does something on the server, again if the connection breaks.

        Raises:
            StorageError: what is wrong with the server.
            UsageError: an option of the url that does not exist.
        """
        await _load_library()
        deadline = time.monotonic() + self._timeout
        again, pause = False, 0.02
        while True:
            try:
                return await self._attempt(work, again)
            except client_errors() as error:
                waits = self._reached and is_passing(error) and time.monotonic() < deadline
                failure = None if waits else explained(error, self.address, self._reached)
            if failure is not None:
                # Outside the handler: the client's error would bring frames that hold the password.
                raise failure
            again = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.5)

    async def close(self) -> None:
        """Closes the connections of the running loop. A later call opens new ones."""
        await self._clients.aclose()

    async def _attempt(self, work: Work[_T], again: bool) -> _T:
        client = await self._clients.get()
        if not self._reached:
            await self._meet(client)
            self._reached = True
        return await work(client, again)

    async def _meet(self, client: Client) -> None:
        """Looks, once, whether the server is one to keep sessions on."""
        from redis.exceptions import NoPermissionError

        try:
            known = await client.info()
        except NoPermissionError:
            return
        if known.get("cluster_enabled") and not self._cluster:
            raise fault("MOVED", self.address, "cluster_enabled is 1")
        policy = known.get("maxmemory_policy", "noeviction")
        if known.get("maxmemory") and policy != "noeviction":
            warnings.warn(
                f"{self.address.shown} deletes keys, and sessions with them, when its memory is "
                f"full (maxmemory-policy {policy}): set its maxmemory-policy to noeviction",
                stacklevel=2,
            )


async def _load_library() -> None:
    """Imports it off the loop, which it would hold up for a while."""
    if "redis.asyncio" not in sys.modules:
        await asyncio.to_thread(importlib.import_module, "redis.asyncio")


def _make_client(address: Address, timeout: float) -> Client:
    from redis.asyncio import BlockingConnectionPool, Redis

    try:
        pool = BlockingConnectionPool.from_url(
            address.url, max_connections=CONNECTIONS, timeout=timeout, **_options(timeout)
        )
        pool.connection_class(**pool.connection_kwargs)  # opens nothing: are its options right?
    except (TypeError, ValueError) as error:
        raise _wrong_option(address, error) from None
    return cast("Client", Redis.from_pool(pool))


def _make_cluster_client(address: Address, timeout: float) -> Client:
    from redis.asyncio import RedisCluster

    try:
        return cast("Client", RedisCluster.from_url(address.url, **_options(timeout)))
    except (TypeError, ValueError) as error:
        raise _wrong_option(address, error) from None


def _options(timeout: float) -> dict[str, Any]:
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "decode_responses": False,
        "retry": Retry(NoBackoff(), 0),  # it is done here, where a repeated commit is known as one
    }


async def _close(client: Client) -> None:
    await client.aclose()


def _wrong_option(address: Address, error: Exception) -> UsageError:
    return UsageError(f"{address.shown}: an option of the url is wrong: {error}")
