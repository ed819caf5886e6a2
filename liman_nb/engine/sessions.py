"""The sessions of one agent that are open in this process."""

from __future__ import annotations

from liman_nb.engine.ids import root_id
from liman_nb.engine.loading import load_tree
from liman_nb.engine.run import Runtime
from liman_nb.engine.session import Session
from liman_nb.errors import UnknownSession

KEPT_OPEN = 200
"""Sessions kept in memory; the longest unused ones are closed, and loaded again when needed."""


class Sessions:
    """Opens sessions; the same one is never open twice.

    Args:
        runtime: what all sessions share.
        agent: the agent's name, part of every session's identity.
        agency: a name that keeps several users of one storage apart; empty for none.
    """

    def __init__(self, runtime: Runtime, agent: str, agency: str = "") -> None:
        self._runtime = runtime
        self._agent, self._agency = agent, agency
        self._open: dict[str, Session] = {}

    def use(self, runtime: Runtime) -> None:
        """Run all further turns with another runtime (the specs were loaded again)."""
        self._runtime = runtime
        for session in self._open.values():
            session.runtime = runtime

    async def open(self, session_id: str) -> Session:
        """The session of that id, a new one if nothing is stored. Opening runs nothing.

        Raises:
            StorageError: the storage cannot be read.
        """
        return await self._load(root_id(self._agency, self._agent, session_id), session_id)

    def opened(self, session_id: str | None) -> Session | None:
        """The session of that id if it is open in this process."""
        if session_id is None:
            return None
        return self._open.get(root_id(self._agency, self._agent, session_id))

    async def by_execution_id(self, execution_id: str) -> Session:
        """The session that results call ``execution_id``.

        Raises:
            UnknownSession: nothing is stored under that id.
            StorageError: the storage cannot be read.
        """
        session = await self._load(execution_id, None)
        if not session.tree.turns:
            self._open.pop(execution_id, None)
            raise UnknownSession(
                f"no session with execution_id {execution_id} in {self._runtime.storage!r}; it is "
                f"the execution_id of a result of an agent with the same storage"
            )
        return session

    async def _load(self, root: str, session_id: str | None) -> Session:
        session = self._open.pop(root, None)
        if session is None:
            tree = await load_tree(self._runtime.storage, root, session_id)
            session = Session(self._runtime, tree)
        session = self._open.setdefault(root, session)  # another caller may have been faster
        self._close_unused()
        return session

    def _close_unused(self) -> None:
        spare = len(self._open) - KEPT_OPEN
        for root, session in list(self._open.items())[: max(0, spare)]:
            if not session.queue.held:
                self._open.pop(root, None)
