"""A session as lines of JSON, which any storage with a journal can take in.

The first line is a header, then comes one line for each row of the journal. The text is ASCII: no
terminal, encoding or line splitter can change what it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from liman_nb.errors import StorageError, UnknownSession, UsageError
from liman_nb.state.json_values import check_json
from liman_nb.state.rows import AnyRow, TurnRow, dump_row, load_row
from liman_nb.state.storage import Commit, Lease, StateStorage, Touched, settled

FORMAT: Literal["liman_nb session"] = "liman_nb session"
VERSION = 1

_NOT_PLAIN = re.compile(r"[^\x20-\x7e]")

Check = Callable[[str, Sequence[AnyRow]], bool]
"""Whether the last turn of the session that rows make is open: `ends_open` of the engine.

Raises a :class:`StorageError` unless they make one.
"""


class Header(BaseModel):
    """The first line.

    Attributes:
        format: what this is.
        version: of the format.
        session_id: the session's text id.
        root: id of its root executor.
        rows: how many lines follow.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["liman_nb session"]
    version: int
    session_id: str
    root: str
    rows: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Attributes:
        root: id of the session's root executor.
        session_id: its text id.
        rows: how many it has now.
        added: how many of them the storage did not have before.
    """

    root: str
    session_id: str
    rows: int
    added: int


async def export_session(storage: StateStorage, root: str) -> list[str]:
    """A session as lines, without line ends. It does not live longer for it.

    Args:
        storage: one that keeps a journal.
        root: id of the session's root executor.

    Raises:
        UnknownSession: no such session.
        UsageError: the storage keeps no journal.
        StorageError: the session cannot be read.
    """
    rows = await _rows(storage, root)
    if not rows:
        raise UnknownSession(f"no session with execution_id {root} in {storage!r}")
    first = rows[0]
    if not isinstance(first, TurnRow):
        raise StorageError(f"session {root} in {storage!r} does not begin with a turn: damaged")
    header = Header(
        format=FORMAT, version=VERSION, session_id=first.session_id, root=root, rows=len(rows)
    )
    return [_plain(header.model_dump_json()), *(_plain(dump_row(row).decode()) for row in rows)]


async def import_session(storage: StateStorage, lines: Iterable[str], check: Check) -> Imported:
    """Stores a session that was exported, under the same ids, in one commit.

    Everything is looked at before anything is written, under the session's lease. A storage that
    has the beginning of the session gets the rest; one that has all of it is left as it is.

    Args:
        storage: one that keeps a journal.
        lines: of one session, with or without line ends.
        check: whether the rows make a session; see :data:`Check`.

    Raises:
        UsageError: the lines are no session of this version, the storage has another session of
            the same id or a later state of this one, or it keeps no journal.
        SessionConflict: a turn is under way in the session; nothing was changed.
        StorageError: the storage cannot be written.
    """
    header, rows, is_open = read_session(lines, check)
    return await store_session(storage, header.root, header.session_id, rows, is_open)


async def store_session(
    storage: StateStorage, root: str, session_id: str, rows: Sequence[AnyRow], is_open: bool
) -> Imported:
    """Stores a session that was read, in one commit.

    Args:
        storage: one that keeps a journal.
        root: id of the session's root executor.
        session_id: its text id.
        rows: all of it.
        is_open: whether its last turn is open.

    Raises:
        UsageError: the storage has another session of the same id or a later state of this one, or
            it keeps no journal.
        SessionConflict: a turn is under way in the session; nothing was changed.
        StorageError: the storage cannot be written.
    """
    known = await _rows(storage, root)
    if list(map(dump_row, known)) != list(map(dump_row, rows[: len(known)])):
        raise UsageError(
            f"{storage!r} has session {session_id!r} ({root}) with another content "
            f"({len(known)} rows, {len(rows)} in what is imported); nothing was changed. Export "
            "that one and delete it first, if this one is to take its place"
        )
    added = tuple(rows[len(known) :])
    if added:
        lease: Lease = await settled(storage.lease(root, session_id))
        try:
            commit = Commit(root, len(known), added, Touched, open=is_open, lease=lease)
            await storage.commit(commit)
        finally:
            await settled(lease.release())
    return Imported(root, session_id, len(rows), len(added))


async def _rows(storage: StateStorage, root: str) -> list[AnyRow]:
    rows: list[AnyRow] | None = await settled(storage.peek_rows(root))
    if rows is None:
        raise UsageError(
            f"{type(storage).__name__} keeps no journal, which exporting and importing need: use "
            "one of the built-in storages"
        )
    return rows


# ── out ──────────────────────────────────────────────────────────────────────────────────────────


def _plain(text: str) -> str:
    """JSON with every character but printable ASCII escaped; it stands inside strings only."""
    return _NOT_PLAIN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


# ── in ───────────────────────────────────────────────────────────────────────────────────────────


def read_session(lines: Iterable[str], check: Check) -> tuple[Header, list[AnyRow], bool]:
    """A session that was exported: its header, its rows, and whether their last turn is open.

    Raises:
        UsageError: the lines are no session of this version.
    """
    texts = [line.rstrip("\r\n") for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    if not texts:
        raise UsageError("there is nothing to import: no line is there")
    header = _header(texts[0])
    if len(texts) - 1 != header.rows:
        raise UsageError(
            f"the header says that {header.rows} rows follow, and there are {len(texts) - 1}: the "
            "file was cut, or something was added to it; export the session again"
        )
    rows = [_row(text, number) for number, text in enumerate(texts[1:], start=2)]
    _check_turns(header, rows)
    try:
        return header, rows, check(header.root, rows)
    except StorageError as error:
        raise UsageError(f"the rows do not make a session: {error}") from error


def _header(text: str) -> Header:
    what = "a session that liman_nb exported begins with a line that says so"
    try:
        known = from_json(text.encode())
    except ValueError as error:
        raise UsageError(f"line 1 is no JSON ({error}); {what}") from error
    version = known.get("version") if isinstance(known, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise UsageError(
            f"line 1: format version {version} is newer than this liman_nb, which reads {VERSION}: "
            "pip install -U liman_nb"
        )
    try:
        header = Header.model_validate(known)
    except ValidationError as error:
        raise UsageError(f"line 1: {_reason(error)}; {what}") from error
    if header.version != VERSION or header.rows < 1 or not _is_id(header.root):
        raise UsageError(f"line 1: version, root or rows is wrong; {what}")
    return header


def _row(text: str, number: int) -> AnyRow:
    try:
        data = text.encode()
        check_json(from_json(data), f"line {number}")  # no NaN, no depth that a storage refuses
        return load_row(data)
    except ValidationError as error:
        raise UsageError(
            f"line {number} is no row of a session: {_reason(error)}; it was changed, or written "
            "by a newer liman_nb (pip install -U liman_nb)"
        ) from error
    except (ValueError, StorageError) as error:
        raise UsageError(f"line {number} is no row of a session: {error}") from error


def _check_turns(header: Header, rows: Sequence[AnyRow]) -> None:
    """The turns are of the session that the header names, numbered from 1."""
    turns = [row for row in rows if isinstance(row, TurnRow)]
    if not isinstance(rows[0], TurnRow):
        raise UsageError("line 2: a session begins with a turn")
    for number, turn in enumerate(turns, start=1):
        if turn.turn != number or turn.session_id != header.session_id:
            raise UsageError(
                f"turn {turn.turn} of session {turn.session_id!r} stands where turn {number} of "
                f"session {header.session_id!r} belongs"
            )


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    return f"{field}: {first['msg']}" if field else first["msg"]


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
