"""The lease of a session, held while a call of this process may write to it."""

from __future__ import annotations

from types import TracebackType

from liman_nb.state.storage import Lease, StateStorage, settled


class SessionLease:
    """The lease that a session's commits are written under; ``held`` is ``None`` between calls.

    Args:
        storage: where the session is stored.
    """

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage
        self.held: Lease | None = None

    def of(self, root: str, session_id: str) -> Leased:
        """The lease as a context: taken on entering, given back however it is left.

        Args:
            root: id of the session's root executor.
            session_id: its text id.
        """
        return Leased(self, root, session_id)

    async def take(self, root: str, session_id: str) -> Lease:
        """Take it, or be refused at once; first that is given back which a closed loop left."""
        await self.give_back(self.held)
        self.held = await settled(self._storage.lease(root, session_id))
        return self.held

    async def give_back(self, lease: Lease | None) -> None:
        """Give a lease back; the session's own is then no longer held."""
        self.forget(lease)
        if lease is not None:
            await settled(lease.release())

    def forget(self, lease: Lease | None) -> None:
        """Refer to a lease no longer, unless another one is held by now."""
        if self.held is lease:
            self.held = None


class Leased:
    """One call's time with the lease."""

    def __init__(self, session: SessionLease, root: str, session_id: str) -> None:
        self._session, self._root, self._session_id = session, root, session_id
        self._lease: Lease | None = None

    async def __aenter__(self) -> Lease:
        self._lease = await self._session.take(self._root, self._session_id)
        return self._lease

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        lease, self._lease = self._lease, None
        if kind is GeneratorExit:  # the event loop was closed: nothing can be awaited any more
            self._session.forget(lease)
        else:
            await self._session.give_back(lease)
