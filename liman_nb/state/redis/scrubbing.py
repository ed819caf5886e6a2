"""Has a server write the files anew that it keeps its data in, so that they forget the deleted.

A server may append every command to a file (AOF) and write snapshots (RDB). Both hold what was
deleted until they are written again, which the server does in a process of its own.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from liman_nb.state.redis.server import Client

PATIENCE = 60.0
"""Seconds that a server gets for each of its files."""

_BY_HAND = "BGREWRITEAOF (for the append-only file) and BGSAVE (for the snapshot)"

EVERY_NODE = f"each node of a cluster keeps its own; send {_BY_HAND} to every node that does"
"""What is said of a cluster."""

_PAUSE = 0.05


async def scrub(client: Client) -> str:
    """Scrubs the files of a server.

    Returns:
        Empty when nothing is left in them; else what is, and what to do.
    """
    from redis.exceptions import NoPermissionError, ResponseError

    try:
        return await _scrub(client)
    except NoPermissionError as error:
        return (
            f"its user may not have them written anew ({error}); somebody who may can send "
            f"{_BY_HAND}"
        )
    except ResponseError as error:
        return f"they could not be written anew ({error}); send {_BY_HAND} yourself"


async def _scrub(client: Client) -> str:
    state = await client.info()
    save = await client.execute_command("CONFIG", "GET", "save")
    left = []
    if state.get("aof_enabled"):
        left.append(await _write(client, "BGREWRITEAOF", "aof_last_bgrewrite_status"))
    if _has_value(save):
        left.append(await _write(client, "BGSAVE", "rdb_last_bgsave_status"))
    if state.get("connected_slaves"):
        left.append("it has replicas, which may keep files of their own")
    return "; ".join(filter(None, left))


async def _write(client: Client, command: str, status: str) -> str:
    """Has a file written anew, from data as they are now; empty when that succeeded."""
    deadline = time.monotonic() + PATIENCE
    if await _idle(client, deadline) is not None:  # what ran before began before the deletion
        await client.execute_command(command)
        state = await _idle(client, deadline)
        if state is not None and state.get(status) == "ok":
            return ""
    return f"{command} did not succeed; the server's log says why, then send it again"


async def _idle(client: Client, deadline: float) -> dict[str, Any] | None:
    """What the server says once it writes no file; ``None`` if that takes too long."""
    busy = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
    while time.monotonic() < deadline:
        state = await client.info()
        if not any(state.get(name) for name in busy):
            return state
        await asyncio.sleep(_PAUSE)
    return None


def _has_value(reply: Any) -> bool:
    """Whether a setting is not empty; the reply is a list, or with RESP3 a mapping."""
    values = list(reply.values()) if isinstance(reply, dict) else reply[1::2]
    return any(values)
