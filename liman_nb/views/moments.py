"""Stored times as they are shown. Times of the journal are UTC, ISO 8601."""

from __future__ import annotations

from datetime import datetime

_LONGEST = 40  # characters of a time, with microseconds and an offset


def clock(at: str) -> str:
    """The time of day, such as ``14:49:20 UTC``; empty for text that is no time."""
    moment = _moment(at)
    return f"{moment:%H:%M:%S} UTC" if moment else ""


def date_and_clock(at: str) -> str:
    """Date and time, such as ``2026-11-30 14:49:20 UTC``; empty for text that is no time."""
    moment = _moment(at)
    return stamp(moment) if moment else ""


def seconds_between(start: str, end: str) -> float | None:
    """Seconds from one time to another; ``None`` unless both are times."""
    first, last = _moment(start), _moment(end)
    return (last - first).total_seconds() if first and last else None


def stamp(moment: datetime) -> str:
    """Date and time, with the time zone where it is known."""
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}".strip()


def _moment(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at[:_LONGEST])
    except ValueError:
        return None
    return moment if moment.tzinfo else None
