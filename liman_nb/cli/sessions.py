"""The commands on stored sessions: list, show, export, import, delete and prune them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from liman_nb.cli import options
from liman_nb.cli.terminal import say
from liman_nb.errors import UsageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LISTED = 20

sessions_app = typer.Typer(help="Stored sessions, wherever they are.", no_args_is_help=True)


def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(options.INTERRUPTED) from None


# ── looking ──────────────────────────────────────────────────────────────────────────────────────


@sessions_app.command(
    "list",
    epilog=options.examples(
        "liman-nb sessions list", "liman-nb sessions list --store redis://localhost:6379/0 --json"
    ),
)
def list_(
    store: options.Store = None,
    agency: options.Agency = "",
    as_json: options.AsJson = False,
) -> None:
    """List the sessions of a store, last used first."""
    _to_the_end(_list(store, agency, as_json))


async def _list(store: str | None, agency: str, as_json: bool) -> None:
    from liman_nb.cli.stores import opened, status_in

    async with opened(store, agency) as storage:
        lines = await storage.list_sessions()
        known = [
            {**line.model_dump(), "status": await status_in(storage, line.root)} for line in lines
        ]
    if as_json:
        say(json.dumps(known, indent=2))
    elif known:
        say("\n".join(_table(known)))
    else:
        say(f"no sessions in {storage!r}")


def _table(known: Sequence[dict[str, Any]]) -> list[str]:
    """Aligned columns under their names."""
    from rich.cells import cell_len, set_cell_size

    from liman_nb.views.escape import one_line

    heads = ("session", "root", "turns", "status", "last used")
    rows = [
        (
            one_line(line["session_id"]),
            one_line(line["root"][:8]),
            str(line["turns"]),
            line["status"],
            one_line(line["used_at"]),
        )
        for line in known
    ]
    columns = zip(heads, *rows, strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in ((*heads,), *rows)]


@sessions_app.command(
    epilog=options.examples(
        "liman-nb sessions show alice", "liman-nb sessions show alice --messages chat"
    )
)
def show(
    session: options.StoredSession,
    store: options.Store = None,
    agency: options.Agency = "",
    messages: options.Messages = None,
) -> None:
    """Show what ran in a session, or what was said to a node and by it."""
    _to_the_end(_show(session, store, agency, messages))


async def _show(session: str, store: str | None, agency: str, node: str | None) -> None:
    from liman_nb.cli.stores import found, opened, tree_in
    from liman_nb.specs.findings import did_you_mean, listed
    from liman_nb.views.escape import one_line
    from liman_nb.views.messages import MessagesView
    from liman_nb.views.tree_view import TreeView

    async with opened(store, agency) as storage:
        line = await found(storage, session)
        tree = await tree_in(storage, line.root)
    if node is None:
        facts = {
            "session": one_line(line.session_id),
            "status": tree.status,
            "turns": str(len(tree.turns)),
            "begun": one_line(line.created_at),
            "last used": one_line(line.used_at),
        }
        say("\n".join([*(f"{name}: {fact}" for name, fact in facts.items()), ""]))
        say(TreeView(tree).text())
        return
    if node not in tree.actors:
        hint = did_you_mean(node, tree.actors) or f"those that ran: {listed(tree.actors)}"
        raise UsageError(f"no node {node!r} ran in session {line.session_id!r}; {hint}")
    say(MessagesView(node, tree.actors[node].messages).text())


# ── out and in ───────────────────────────────────────────────────────────────────────────────────


@sessions_app.command(
    epilog=options.examples(
        "liman-nb sessions export alice alice.jsonl",
        "liman-nb sessions export alice | liman-nb sessions import - --store redis://localhost",
    )
)
def export(
    session: options.StoredSession,
    file: options.Into = "-",
    store: options.Store = None,
    agency: options.Agency = "",
) -> None:
    """Write a session as lines of JSON."""
    _to_the_end(_export(session, file, store, agency))


async def _export(session: str, file: str, store: str | None, agency: str) -> None:
    from liman_nb.cli.stores import found, opened
    from liman_nb.state.portable import export_session

    async with opened(store, agency) as storage:
        line = await found(storage, session)
        lines = await export_session(storage, line.root)
    text = "\n".join(lines)
    if file == "-":
        say(text)
        return
    _write_new(file, f"{text}\n")
    say(f"wrote session {line.session_id!r} to {file}")


def _write_new(file: str, text: str) -> None:
    """A file that only its owner may read, as it holds a conversation."""
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as new:
            new.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already: give another name, or remove it") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


@sessions_app.command(
    "import",
    epilog=options.examples(
        "liman-nb sessions import alice.jsonl --store redis://localhost:6379/0"
    ),
)
def import_(file: options.From, store: options.Store = None, agency: options.Agency = "") -> None:
    """Store a session that was exported.

    It is the same session as before, for agents of the same name. What the store has of it already
    is never changed: it gets the turns that are missing, or the import is refused. On a Redis
    server it expires a week after its last use.
    """
    _to_the_end(_import(file, store, agency))


async def _import(file: str, store: str | None, agency: str) -> None:
    from liman_nb.cli.stores import opened
    from liman_nb.engine.loading import ends_open
    from liman_nb.state.portable import import_session

    lines = _read(file).split("\n")
    async with opened(store, agency) as storage:
        done = await import_session(storage, lines, ends_open)
    came = f"{done.added} of {done.rows} rows were new" if done.added else "it was there already"
    say(f"imported session {done.session_id!r} ({done.root}): {came}")


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no text in UTF-8: {error.reason}") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


# ── deleting ─────────────────────────────────────────────────────────────────────────────────────


@sessions_app.command(epilog=options.examples("liman-nb sessions delete alice --secure"))
def delete(
    session: options.StoredSession,
    store: options.Store = None,
    agency: options.Agency = "",
    secure: options.Secure = False,
    yes: options.Yes = False,
) -> None:
    """Delete a session."""
    _to_the_end(_delete(session, store, agency, secure, yes))


async def _delete(session: str, store: str | None, agency: str, secure: bool, yes: bool) -> None:
    from liman_nb.cli.stores import found, opened
    from liman_nb.state.storage import delete_from

    async with opened(store, agency) as storage:
        line = await found(storage, session)
        turns = f"{line.turns} turn{'' if line.turns == 1 else 's'}"
        _ask(f"Delete session {line.session_id!r} ({line.root}, {turns})?", yes)
        await delete_from(storage, line.root, secure=secure)
    say(f"deleted session {line.session_id!r} ({line.root})")


def _ask(question: str, yes: bool) -> None:
    """Ends the command unless the answer is yes. The standard output stays clean."""
    if yes:
        return
    say(f"{question} [y/N] ", end=False, err=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("nothing was deleted", err=True)
        raise typer.Exit(1)


@sessions_app.command(
    epilog=options.examples("liman-nb sessions prune", "liman-nb sessions prune --older-than 30d")
)
def prune(
    store: options.Store = None,
    agency: options.Agency = "",
    older_than: options.OlderThan = None,
    yes: options.Yes = False,
) -> None:
    """Delete the sessions whose time-to-live is over.

    On a Redis server the server itself does that. A session with a turn under way is kept.
    """
    age = None if older_than is None else _age(older_than)
    _to_the_end(_prune(store, agency, age, yes))


async def _prune(store: str | None, agency: str, age: timedelta | None, yes: bool) -> None:
    from liman_nb.cli.stores import deleted, opened, unused_since

    async with opened(store, agency) as storage:
        say(_count(len(await storage.prune()), "expired"))
        if age is None:
            return
        before = datetime.now(UTC) - age
        old = await unused_since(storage, before)
        if old:
            _ask(_question(old), yes)
            still = await unused_since(storage, before)  # somebody may have gone on with one
            old = [root for root in old if root in still]
        gone = [root for root in old if await deleted(storage, root)]
        say(_count(len(gone), "unused"))


def _question(roots: Sequence[str]) -> str:
    more = len(roots) - _LISTED
    listed = [f"  {root}" for root in roots[:_LISTED]] + (
        [f"  and {more} more"] if more > 0 else []
    )
    return "\n".join([*listed, f"Delete {_sessions(len(roots), 'unused')}?"])


def _count(number: int, kind: str) -> str:
    return f"deleted {_sessions(number, kind)}"


def _sessions(number: int, kind: str) -> str:
    return f"{number} {kind} session{'' if number == 1 else 's'}"


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([smhdw])", text)
    if found is None:
        raise UsageError(f"--older-than {text}: give a number with s, m, h, d or w, such as 30d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
