"""Ids are derived, never drawn: the same session gives the same tree, so nothing starts twice.

All ids are version 5 UUIDs (RFC 9562, section 5.5) in their usual text form.
"""

from __future__ import annotations

import json
from hashlib import sha1
from uuid import UUID, uuid5

NAMESPACE = UUID("5f0c2c1e-6f53-4d0b-9f0e-6b1d2a7c9e41")
"""Names this package's ids; drawn once."""


def root_id(agency: str, agent: str, session_id: str) -> str:
    """Id of a session's root executor: the ``execution_id`` that results carry."""
    return str(uuid5(NAMESPACE, json.dumps([agency, agent, session_id])))


def turn_id(root: str, number: int) -> str:
    """Id of a turn's executor."""
    return _derive(root, str(number))


def child_id(parent: str, run: int, via: str) -> str:
    """Id of the executor that the parent's run (1-based) starts through an edge or a call."""
    return _derive(parent, f"{run}/{via}")


def call_via(position: int, call_id: str) -> str:
    """The `via` of a tool call's executor, unique by its position: models repeat their ids."""
    return f"{position}:{call_id}"


def call_position(via: str) -> int:
    """The position of a tool call among its reply's calls, from its executor's `via`."""
    return int(via.partition(":")[0])


def join_via(node: str) -> str:
    """The `via` of the executor of a join: with its fork and the fork's run it is unique."""
    return f"join:{node}"


def is_join(via: str) -> bool:
    """Whether an executor's `via` is that of a join."""
    return via.startswith(join_via(""))


def question_id(executor: str, asked: int) -> str:
    """Id of the question that an executor asks as its `asked`-th (1-based)."""
    return _derive(executor, f"question/{asked}")


def actor_id(root: str, node: str) -> str:
    """Id of a node's actor within a session."""
    return _derive(root, f"actor/{node}")


def node_id(node_type: str, node: str) -> str:
    """Id of a node, the same in every session."""
    return str(uuid5(NAMESPACE, f"{node_type}/{node}"))


def _derive(parent: str, name: str) -> str:
    """``uuid5(UUID(parent), name)`` in text; by hand, which takes a quarter of the time."""
    raw = bytearray(sha1(bytes.fromhex(parent.replace("-", "")) + name.encode()).digest()[:16])  # noqa: S324 - RFC 9562 fixes the hash of version 5
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
