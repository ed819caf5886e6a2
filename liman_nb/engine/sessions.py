"""The sessions of one agent that are open in this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakValueDictionary

from liman_nb.engine.forking import Copy, copied
from liman_nb.engine.ids import root_id
from liman_nb.engine.loading import load_tree, tree_of
from liman_nb.engine.session import Session
from liman_nb.errors import UnknownSession
from liman_nb.state.storage import StateStorage

KEPT_OPEN = 200
"""Sessions kept in memory; the longest unused ones are closed, and loaded again when needed."""


class Sessions:
    """Opens sessions, from any thread; the same one is never open twice.

    Args:
        storage: where they are stored.
        agent: the agent's name, part of every session's identity.
        agency: a name that keeps several users of one storage apart; empty for none.
    """

    def __init__(self, storage: StateStorage, agent: str, agency: str = "") -> None:
        self._storage = storage
        self._agent, self._agency = agent, agency
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._in_use: WeakValueDictionary[str, Session] = WeakValueDictionary()

    def root_of(self, session_id: str) -> str:
        """The id of the root executor of this agent's session of that text id."""
        return root_id(self._agency, self._agent, session_id)

    async def open(self, session_id: str, root: str | None = None) -> Session:
        """The session of that id, a new one if nothing is stored. Opening runs nothing.

        Args:
            session_id: its text id.
            root: id of its root executor; of another agent's session it cannot be derived.

        Raises:
            StorageError: the storage cannot be read.
        """
        return await self._load(root or self.root_of(session_id), session_id)

    async def open_anew(self, session_id: str, root: str) -> Session:
        """The same, as it is stored now, also where another kernel has gone on with it.

        A session whose turn is under way here is left as it is.

        Raises:
            StorageError: the storage cannot be read.
        """
        known = self._in_use.get(root)
        if known is None:
            return await self._load(root, session_id)
        await known.changed_elsewhere()
        return self._keep(root, known)

    def opened(self, root: str) -> Session | None:
        """The session of that root executor if it is open in this process."""
        return self._in_use.get(root)

    async def by_execution_id(self, execution_id: str) -> Session:
        """The session that results call ``execution_id``.

        Raises:
            UnknownSession: nothing is stored under that id.
            StorageError: the storage cannot be read.
        """
        session = self._in_use.get(execution_id)
        tree = session.tree if session else await load_tree(self._storage, execution_id, None)
        if not tree.turns:
            raise UnknownSession(
                f"no session with execution_id {execution_id} in {self._storage!r}; it is "
                f"the execution_id of a result of an agent with the same storage"
            )
        return self._keep(execution_id, session or Session(self._storage, tree))

    async def fork(self, parent: Session, session_id: str, turns: int | None) -> Session:
        """A new session with the first turns of another one, which does not change.

        Args:
            parent: the other one.
            session_id: the new one's text id.
            turns: how many; all for ``None``, an open last one included.

        Raises:
            UnknownSession: nothing is stored of the parent.
            UsageError: it has fewer turns, or the id is in use.
            StorageError: the storage failed.
        """
        root = self.root_of(session_id)
        copy = await self._copy(parent, turns, root, session_id)
        session = await self._load(root, session_id)
        await session.begin(copy)
        return session

    async def _copy(self, parent: Session, turns: int | None, root: str, session_id: str) -> Copy:
        """Of a journal, what is stored; of states, what they are at this moment."""
        known = parent.tree
        rows = await self._storage.peek_rows(known.root)
        if rows is not None:
            known = tree_of(known.root, rows, known.session_id)
        if not known.turns:
            raise UnknownSession(
                f"there is no session {known.session_id!r} with turns in {self._storage!r}, so "
                f"there is nothing to fork"
            )
        if rows is not None:
            return copied(known, rows, turns, root, session_id)
        return parent.read(lambda tree, _: copied(tree, None, turns, root, session_id))

    async def _load(self, root: str, session_id: str) -> Session:
        session = self._in_use.get(root)
        if session is None:
            session = Session(self._storage, await load_tree(self._storage, root, session_id))
        return self._keep(root, session)

    def _keep(self, root: str, session: Session) -> Session:
        """Keep a session, or the one that another caller opened meanwhile; close unused ones."""
        with self._lock:
            session = self._in_use.setdefault(root, session)
            self._kept[root] = session
            self._kept.move_to_end(root)
            if len(self._kept) > KEPT_OPEN:
                del self._kept[next(r for r, s in self._kept.items() if not s.is_only_here)]
            return session
