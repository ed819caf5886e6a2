"""Sessions that are made of others: forks, turns that are tried again, sessions from elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from liman_nb.engine.forking import moved_rows
from liman_nb.engine.loading import ends_open, tree_of
from liman_nb.engine.open_turns import check_context
from liman_nb.engine.session import Session
from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.reception import Call, Known, Reception, new_id
from liman_nb.state.json_values import copied
from liman_nb.state.portable import export_session, read_session, store_session
from liman_nb.workshop import Workshop


async def fork(
    workshop: Workshop,
    reception: Reception,
    session_id: str | None,
    turns: int | None,
    fork_id: str | None,
) -> Session:
    """A new session with the first turns of another one; it is the opened one from now on."""
    parent = _known(reception, session_id, "fork")
    own = reception.own(new_id() if fork_id is None else fork_id)
    opened = await workshop.sessions.open(parent.id, parent.root)
    session = await workshop.sessions.fork(opened, own.id, turns)
    reception.opened = own
    return session


async def retried(
    workshop: Workshop,
    reception: Reception,
    session_id: str | None,
    context: Mapping[str, Any],
) -> Call:
    """The last turn of a session, to be taken in a fork that begins before it."""
    parent = _known(reception, session_id, "retry_turn")
    runtime = workshop.prepare()
    opened = await workshop.sessions.open_anew(parent.id, parent.root)

    def last(tree: Tree, _: Collection[str]) -> tuple[int, str, Any]:
        if not tree.turns:
            raise UsageError(f"session {parent.id!r} has no turn that could be tried again")
        turn = tree.turns[-1]
        check_context(parent.id, turn, context, "retry_turn")
        executor = tree.executors[turn.executor]
        return turn.number, executor.node, copied(executor.input)

    number, node, given = opened.read(last)
    entry = workshop.node(node).name
    session = await fork(workshop, reception, session_id, number - 1, None)
    return Call(runtime, session, entry, given, context)


async def dump(workshop: Workshop, reception: Reception, session_id: str | None) -> str:
    """A session as lines of JSON."""
    known = _known(reception, session_id, "dump")
    return "".join(f"{line}\n" for line in await export_session(workshop.storage, known.root))


async def load(workshop: Workshop, reception: Reception, data: str) -> str:
    """A session out of such lines, as one of this agent's; it is the opened one from now on."""
    if not isinstance(data, str):
        raise UsageError(f"load takes the text that dump gave, not a {type(data).__name__}")
    header, rows, is_open = read_session(data.split("\n"), ends_open)
    own = reception.own(header.session_id)
    if own.root != header.root:
        rows = moved_rows(rows, tree_of(header.root, rows), own.root, own.id)
    await store_session(workshop.storage, own.root, own.id, rows, is_open)
    if (session := workshop.sessions.opened(own.root)) is not None:
        await session.changed_elsewhere()
    reception.opened = own
    return own.id


def _known(reception: Reception, session_id: str | None, method: str) -> Known:
    known = reception.known(session_id)
    if known is None:
        raise UsageError(
            f"no session is opened yet; say which: agent.{method}(session_id=…), and "
            f"agent.sessions() lists those that are stored"
        )
    return known
