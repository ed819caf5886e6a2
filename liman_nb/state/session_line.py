"""A session's line in a storage's list of sessions."""

from __future__ import annotations

from collections.abc import Sequence

from liman_nb.state.rows import TurnRow
from liman_nb.state.storage import SessionInfo


class SessionLine(SessionInfo):
    """A session's line in the list, as a storage keeps it that keeps the time itself.

    Attributes:
        expires_at: when the session expires, seconds since 1970; ``None`` for never. It never does
            while a turn is open.
    """

    expires_at: float | None = None

    def info(self) -> SessionInfo:
        """What the list shows of it."""
        return SessionInfo.model_validate(self.model_dump(exclude={"expires_at"}))


def session_after(
    known: SessionInfo | None, root: str, turns: Sequence[TurnRow], expires_at: float | None
) -> SessionLine:
    """A session's line in the list after turns began.

    Args:
        known: the line before; ``None`` for a new session.
        root: id of the session's root executor.
        turns: the turns' rows; at least one.
        expires_at: see :class:`SessionLine`.
    """
    return SessionLine(
        root=root,
        session_id=turns[-1].session_id,
        created_at=known.created_at if known else turns[0].at,
        used_at=turns[-1].at,
        turns=turns[-1].turn,
        expires_at=expires_at,
    )


def last_used_first(sessions: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions in the order in which a storage lists them."""
    return sorted(sessions, key=lambda session: (session.used_at, session.root), reverse=True)
