"""Times as they are stored: text of one form, so that later times have later texts."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The current time, UTC."""
    return datetime.now(UTC)


def stamp(at: datetime) -> str:
    """A time as it is stored: ISO 8601, UTC, milliseconds, ``Z``."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
