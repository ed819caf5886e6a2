"""What every storage has to keep, as tests that run on a class of yours.

    from liman_nb.testing import StorageContract

    class TestRedisStateStorage(StorageContract):
        async def storage(self):
            return RedisStateStorage("redis://localhost")

pytest collects the tests; no plugin is needed. Each runs in an event loop of its own, in which the
storage is made and closed. All ids are new, so a store that holds other sessions can be used too.
What a storage need not have (a journal, a list, deletion, time-to-live) is tested only where it is
there; where it is not, the storage must say so. More is tested where `expiring`, `kept` and `files`
are overridden.
"""

from __future__ import annotations

from liman_nb.testing.commits_contract import CommitsContract
from liman_nb.testing.deleting_contract import DeletingContract
from liman_nb.testing.lifetime_contract import LifetimeContract
from liman_nb.testing.states_contract import StatesContract


class StorageContract(StatesContract, CommitsContract, DeletingContract, LifetimeContract):
    """Subclass it, implement `storage`, and let pytest find the subclass."""
