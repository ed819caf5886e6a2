"""Sessions in a directory. diskcache is imported when the first store is opened."""

from liman_nb.state.disk.storage import DiskCacheStateStorage

__all__ = ["DiskCacheStateStorage"]
