"""What can go wrong with a server, as one sentence each for the person who meets it.

An error is known by the code word that Redis begins it with. The client keeps that word for some
errors and makes a class of it for others; servers before Redis 7 have it within an error of a
script.
"""

from __future__ import annotations

import re

from liman_nb.errors import StorageError
from liman_nb.state.redis.address import Address

_CODES = {
    "AuthenticationError": "WRONGPASS",
    "AuthenticationWrongNumberOfArgsError": "WRONGPASS",
    "AuthorizationError": "NOPERM",
    "NoPermissionError": "NOPERM",
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
    "MovedError": "MOVED",
    "AskError": "MOVED",
    "BusyLoadingError": "LOADING",
    "MasterDownError": "MASTERDOWN",
    "ClusterDownError": "CLUSTERDOWN",
    "TryAgainError": "TRYAGAIN",
    "SlotNotCoveredError": "CLUSTERDOWN",
    "InvalidResponse": "PROTOCOL",
}
"""Classes of the client, and the code word of each."""

_PHRASES = {
    "Cluster mode is not enabled": "NOCLUSTER",
    "cluster support disabled": "NOCLUSTER",
    "DB index is out of range": "NODATABASE",
    "Invalid Database": "NODATABASE",
    "Protocol Error": "PROTOCOL",
    "max number of clients": "CLIENTS",
    "user executing the script can't": "NOPERM",
}
"""Errors without a code word of their own."""

_REMEDIES = {
    "WRONGPASS": "it wants a password, or another one than was given: give it in the url, as in "
    "redis://:password@host:6379/0, or with a user's name as in redis://user:password@host:6379/0",
    "NOPERM": "its user may not do this: allow it the keys liman_nb:* and the commands "
    "+@read +@write +@scripting +@connection +time",
    "OOM": "its memory is full: delete sessions, or raise the server's maxmemory; nothing of this "
    "call was stored",
    "READONLY": "it is a read-only replica: give the address of the primary server",
    "MISCONF": "it cannot save to its disk and takes no writes: its own log says why",
    "NOREPLICAS": "it has too few replicas at present and takes no writes: try again later",
    "WRONGTYPE": "a key that begins with liman_nb: holds something that liman_nb never writes: "
    "give another database or agency; nothing of this call was stored",
    "MOVED": "it is a node of a Redis Cluster: RedisStateStorage(url, cluster=True)",
    "CROSSSLOT": "it is a node of a Redis Cluster: RedisStateStorage(url, cluster=True)",
    "NOCLUSTER": "it is not a node of a Redis Cluster: leave out cluster=True",
    "NODATABASE": "it has no database of that number: most servers have 0 to 15, a cluster only 0",
    "PROTOCOL": "what answers there does not speak the protocol of Redis: check host and port",
    "LOADING": "it is still loading its data: try again later",
    "BUSY": "it is busy with a script of somebody's: try again later",
    "MASTERDOWN": "it has lost its primary server: try again later",
    "CLUSTERDOWN": "a part of the cluster is down: try again later",
    "TRYAGAIN": "the cluster is moving these keys: try again later",
    "CLIENTS": "it has too many clients: end some, or raise its maxclients",
    "LOST": "it answers no more: start it again, or check the network; what was being stored may "
    "or may not be there, which the next call finds out",
    "UNREACHED": "it does not answer: start it, or check host and port, and whether it wants TLS "
    "(rediss://)",
}

_PASSING = {"LOST", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "CLIENTS"}

_CODE_WORD = re.compile(r"\b(?:" + "|".join(_REMEDIES) + r")\b")


def client_errors() -> tuple[type[Exception], ...]:
    """Whatever the client raises because of a server."""
    from redis.exceptions import RedisClusterException, RedisError

    return (RedisError, RedisClusterException, OSError)


def is_passing(error: Exception) -> bool:
    """Whether the same call may succeed a little later."""
    return _code(error) in _PASSING


def explained(error: Exception, address: Address, reached: bool) -> StorageError:
    """The client's error as ours: where, what is wrong, what to do.

    Args:
        error: what the client raised.
        address: where the server is.
        reached: whether the server ever answered.
    """
    code = _code(error)
    if code == "LOST" and not reached:
        code = "UNREACHED"
    return fault(code, address, " ".join(str(error).split()) or type(error).__name__)


def fault(code: str, address: Address, detail: str) -> StorageError:
    """The error for a code word, with what the server says."""
    remedy = _REMEDIES.get(code, "it refused")
    return StorageError(f"{address.shown}: {remedy} ({address.without_secrets(detail)})")


def damaged(address: Address, root: str) -> StorageError:
    """The error for a session of which one of its two keys is missing."""
    return StorageError(
        f"{address.shown}: a part of session {root} is missing, because the server evicts keys or "
        "somebody deleted one: delete the session (`await storage.delete_session(root)`) and set "
        "the server's maxmemory-policy to noeviction; nothing was changed"
    )


def left_behind(address: Address, root: str, reason: str) -> StorageError:
    """The error for a deleted session of which bytes may be left in the server's files."""
    return StorageError(
        f"{address.shown}: session {root} is deleted and its memory is free, but bytes of it may "
        f"be left in files: {address.without_secrets(reason)}"
    )


def _code(error: Exception) -> str:
    for phrase, code in _PHRASES.items():
        if phrase in str(error):
            return code
    for kind in type(error).__mro__:
        if kind.__name__ in _CODES:
            return _CODES[kind.__name__]
    found = _CODE_WORD.search(str(error))
    if found:
        return found[0]
    return "LOST" if isinstance(error, _lost()) else ""


def _lost() -> tuple[type[Exception], ...]:
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import RedisClusterException
    from redis.exceptions import TimeoutError as LateError

    return (LostError, LateError, RedisClusterException, OSError)
