"""What a writer is told when a session is another's: who that is, what to do, what is lost."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from liman_nb.errors import SessionConflict
from liman_nb.state.rows import TurnRow
from liman_nb.state.storage import Commit


class Holder(BaseModel):
    """Who has a lease, as it is written beside the lock for others to read.

    Attributes:
        process: id of the process.
        host: name of the machine it runs on.
        since: when it took the lease, UTC, ISO 8601 with ``Z``.
        token: tells two leases of one process apart.
    """

    model_config = ConfigDict(frozen=True)

    process: int = Field(gt=0)
    host: str = Field(max_length=255)
    since: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    token: str = Field(max_length=32)

    @classmethod
    def here(cls) -> Holder:
        """This process, now."""
        since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls.model_construct(
            process=os.getpid(), host=socket.gethostname()[:200], since=since, token=uuid4().hex
        )

    @classmethod
    def parse(cls, data: bytes) -> Holder | None:
        """A holder as it was written; ``None`` for anything else."""
        try:
            return cls.model_validate_json(data)
        except ValidationError:
            return None

    def dump(self) -> bytes:
        """As it is written."""
        return self.model_dump_json().encode()

    @property
    def is_this_process(self) -> bool:
        """Whether it is the process that asks."""
        return (self.process, self.host) == (os.getpid(), socket.gethostname()[:200])

    def __str__(self) -> str:
        return f"process {self.process} on {self.host!r} (since {self.since})"


def refused(session_id: str, holder: Holder | None, how_it_ends: str) -> SessionConflict:
    """The error of a lease that somebody else holds.

    Args:
        session_id: the session's text id.
        holder: who it is; ``None`` if that cannot be read.
        how_it_ends: what becomes of the lease if its holder does not give it back.
    """
    if holder is not None and holder.is_this_process:
        return SessionConflict(
            f"session {session_id!r}: another Agent object of this very process, "
            f"{holder.process}, is writing to it (since {holder.since}); nothing of this call was "
            f"stored. Wait until that turn has ended, stop it (.stop() of that agent), or use one "
            f"Agent for both, whose calls queue"
        )
    who = "another process" if holder is None else str(holder)
    return SessionConflict(
        f"session {session_id!r}: {who} is writing to it; nothing of this call was stored. Wait "
        f"until its turn has ended, stop it there (agent.stop(), or end that process), or use "
        f"another session_id. {how_it_ends}"
    )


def passed_on(commit: Commit, holder: Holder | None) -> SessionConflict:
    """The error of a writer whose lease is another's by now.

    Args:
        commit: what could not be stored.
        holder: who has it now; ``None`` if nobody has, or it cannot be read.
    """
    to = f" to {holder}" if holder else ""
    return SessionConflict(
        f"{_name(commit)}: the lease of this turn passed on{to}, since it was not renewed in time "
        f"(a paused process, a blocked event loop, a server out of reach), or was given back; "
        f"{_lost(commit)}. Look at what the session is now, then repeat or resume"
    )


def overtaken(commit: Commit) -> SessionConflict:
    """The error of a writer who came second."""
    return SessionConflict(
        f"{_name(commit)}: another kernel or program wrote to it, or deleted it, or it expired, "
        f"since it was opened here (row {commit.first}); {_lost(commit)}. Open the session again "
        f"to see what it is now, then repeat"
    )


def _turn(commit: Commit) -> TurnRow | None:
    return next((row for row in commit.rows if isinstance(row, TurnRow)), None)


def _name(commit: Commit) -> str:
    turn = _turn(commit)
    return f"session {turn.session_id!r}" if turn else f"session {commit.root}"


def _lost(commit: Commit) -> str:
    if _turn(commit):
        return "the input of this turn was not stored"
    return "the input of this turn is stored, the result of the node run is not"
