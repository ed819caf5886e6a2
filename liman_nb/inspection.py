"""The views of an agent's sessions that need more than one tree, or more than a tree: put together.

Looking changes nothing: no session is opened for turns to come, no store is made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from liman_nb.engine.explain import explained
from liman_nb.engine.loading import load_tree
from liman_nb.engine.records import records_of
from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.state.storage import SessionInfo, checked_record_ttl, settled
from liman_nb.views.explanation import ExplanationView
from liman_nb.views.session_view import SessionView
from liman_nb.views.sessions_view import SessionRow, SessionsView
from liman_nb.views.statuses import session_status
from liman_nb.workshop import Workshop

MOST_PER_PAGE = 1_000


def session_view(workshop: Workshop, tree: Tree, running: Collection[str]) -> SessionView:
    """The complete picture of a session.

    Raises:
        UsageError: the storage's ``record_ttl`` cannot be used.
    """
    at = workshop.now()
    records = records_of(tree, at, checked_record_ttl(workshop.storage.record_ttl), running)
    return SessionView(records, workshop.name, session_status(tree, running), recorded=at)


def explanation(
    workshop: Workshop, tree: Tree, running: Collection[str], node: str, turn: int | None
) -> ExplanationView:
    """Why each edge of a node fired, did not, or could not be decided.

    Raises:
        UsageError: neither the graph nor the session has such a node, or the session no such turn.
    """
    if all(executor.node != node for executor in tree.executors.values()):
        node = workshop.node(node).name
    if turn is not None and not (isinstance(turn, int) and 1 <= turn <= len(tree.turns)):
        raise UsageError(
            f"session {tree.session_id!r} has no turn {turn!r}; its turns: "
            f"{f'1 to {len(tree.turns)}' if tree.turns else 'none'}"
        )
    return ExplanationView(explained(workshop.graph, tree, node, turn, running))


async def sessions_page(workshop: Workshop, page: int, per_page: int) -> SessionsView:
    """One page of the storage's sessions, the last used first.

    Raises:
        UsageError: a page that cannot be, or a storage that cannot list its sessions.
        StorageError: the storage cannot be read.
    """
    if not (_is_number(page) and _is_number(per_page) and per_page <= MOST_PER_PAGE):
        raise UsageError(
            f"sessions(page=…, per_page=…) takes a page from 1 and 1 to {MOST_PER_PAGE:,} sessions "
            f"a page, not {page!r} and {per_page!r}"
        )
    listed: Sequence[SessionInfo] = await settled(workshop.storage.list_sessions())
    found = sorted(listed, key=lambda info: info.used_at, reverse=True)
    first = (page - 1) * per_page
    rows = [await _row(workshop, info) for info in found[first : first + per_page]]
    pages = max(1, -(-len(found) // per_page))
    return SessionsView(rows, page=page, pages=pages, total=len(found))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and value >= 1


async def _row(workshop: Workshop, info: SessionInfo) -> SessionRow:
    """A line of the table; a session that cannot be read says so and spoils no other."""
    is_own = info.root == workshop.sessions.root_of(info.session_id)
    row = SessionRow(info.session_id, info.root, info.turns, info.created_at, info.used_at, is_own)
    if not is_own:
        return row
    try:
        tree = await load_tree(workshop.storage, info.root, info.session_id)
    except Exception as error:  # noqa: BLE001 - a storage may raise anything; the row says what
        return replace(row, problem=f"{type(error).__name__}: {error}")
    opened = workshop.sessions.opened(info.root)
    running = opened.read(lambda _, ids: tuple(ids)) if opened else ()
    return replace(
        row,
        status="running" if running else tree.status,
        shown=session_status(tree, running),
        questions=len(tree.asking),
    )
