"""Sessions on a Redis server. The client is imported when the first connection is made."""

from liman_nb.state.redis.storage import RedisStateStorage

__all__ = ["RedisStateStorage"]
