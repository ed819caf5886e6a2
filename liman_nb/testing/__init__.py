"""For those who write back ends: the suite that every storage of this package passes."""

from liman_nb.testing.storage_contract import StorageContract

__all__ = ["StorageContract"]
