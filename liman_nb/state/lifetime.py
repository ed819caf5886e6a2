"""How long an unused session is kept, for storages that keep that time themselves.

A session's line in the list says when it expires. It is looked at whenever the session is, and put
off by use, though not by every use: only when a tenth of the time has passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from liman_nb.errors import UsageError

_SHORTEST, _LONGEST = 0.001, 100 * 365 * 24 * 3600  # seconds
_NOTICEABLE = 0.1  # of a life

Clock = Callable[[], float]
"""Gives the time in seconds since 1970, as `time.time` does."""


def check_ttl(session_ttl: float | None) -> float | None:
    """A time-to-live as it was given.

    Raises:
        UsageError: it is no number of seconds between a millisecond and a century.
    """
    if session_ttl is not None and not _SHORTEST <= session_ttl <= _LONGEST:
        raise UsageError(
            f"session_ttl is a number of seconds from {_SHORTEST} to {_LONGEST:,} (a century), "
            f"or None to keep sessions, not {session_ttl!r}"
        )
    return session_ttl


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A storage's time-to-live.

    Attributes:
        seconds: from a session's last use until it expires; ``None`` to keep sessions.
        clock: tells the time.
    """

    seconds: float | None
    clock: Clock

    def expires_at(self) -> float | None:
        """When a session expires that is used now; ``None`` for never."""
        return None if self.seconds is None else self.clock() + self.seconds

    def is_over(self, expires_at: float | None) -> bool:
        """Whether that time has come."""
        return expires_at is not None and expires_at <= self.clock()

    def is_to_be_put_off(self, expires_at: float | None) -> bool:
        """Whether a session that is used now should get another time, and not just a later one."""
        if self.seconds is None or expires_at is None:
            return (self.seconds is None) != (expires_at is None)
        return abs(self.clock() + self.seconds - expires_at) >= self.seconds * _NOTICEABLE
