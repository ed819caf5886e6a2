"""Where sessions are kept, by the environment. Code that says it in Python needs none of this.

Variables of LeafMesh's page on sessions are understood. A ``.env`` file is read only when code
names it: a stranger's folder must not redirect conversations.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from liman_nb.errors import SetupError

if TYPE_CHECKING:
    from liman_nb.state.storage import StateStorage

VARIABLES = (
    "LIMAN_NB_STORE",
    "LEAFMESH_STORE",
    "LIMAN_NB_DIR",
    "LIMAN_NB_AGENCY",
    "LEAFMESH_AGENCY_NAME",
    "LIMAN_NB_SESSION_TTL",
    "LIMAN_NB_DEFAULT_TTL",
    "REDIS_HOST",
    "REDIS_PORT",
    "REDIS_DB",
    "REDIS_PASSWORD",
    "REDIS_DEFAULT_TTL",
    "REDIS_SESSION_TTL",
)
"""Every variable that is read. Of two for the same thing, the first one here counts."""

DIRECTORY = ".liman_nb"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where sessions are kept.

    Attributes:
        store: ``diskcache`` (the default), ``redis`` or ``memory``.
        directory: of the store on disk.
        agency: a name that keeps several users of one store apart; empty for none.
        session_ttl: seconds until an unused session expires; ``None`` to keep sessions, which is
            the default but with Redis: there it is 604,800 (7 days).
        record_ttl: seconds that yields, calls between agents, analyses and decisions are shown as
            records; ``None`` for ever, which is the default but with Redis: there it is 3,600.
        redis_host: the Redis server's host.
        redis_port: its port.
        redis_db: number of its database.
        redis_password: its password; never shown.
    """

    store: Literal["diskcache", "redis", "memory"] = "diskcache"
    directory: str = DIRECTORY
    agency: str = ""
    session_ttl: float | None = None
    record_ttl: float | None = None
    redis_host: str = "localhost"
    redis_port: int = 6379
    redis_db: int = 0
    redis_password: str = ""

    def __repr__(self) -> str:
        shown = ", password ***" if self.redis_password else ""
        where = {
            "diskcache": f"directory={self.directory!r}",
            "redis": f"redis at {self.redis_host}:{self.redis_port}/{self.redis_db}{shown}",
            "memory": "memory",
        }[self.store]
        return f"<Settings: {where}, agency={self.agency!r}>"

    def storage(self) -> StateStorage:
        """The storage that is meant. Nothing is opened or connected to yet.

        Raises:
            SetupError: the Redis client is not installed.
        """
        if self.store == "memory":
            from liman_nb.state.memory import InMemoryStateStorage

            return InMemoryStateStorage(session_ttl=self.session_ttl, record_ttl=self.record_ttl)
        if self.store == "redis":
            from liman_nb.state.redis.storage import RedisStateStorage

            return RedisStateStorage(
                self._redis_url(),
                agency=self.agency,
                session_ttl=self.session_ttl,
                record_ttl=self.record_ttl,
            )
        from liman_nb.state.disk.storage import DiskCacheStateStorage

        return DiskCacheStateStorage(
            self.directory, session_ttl=self.session_ttl, record_ttl=self.record_ttl
        )

    def _redis_url(self) -> str:
        from urllib.parse import quote

        password = f":{quote(self.redis_password, safe='')}@" if self.redis_password else ""
        host = f"[{self.redis_host}]" if ":" in self.redis_host else self.redis_host
        return f"redis://{password}{host}:{self.redis_port}/{self.redis_db}"


def read_settings(env_file: str | os.PathLike[str] | None = None) -> Settings:
    """The settings of the environment, and of a ``.env`` file if one is named.

    The environment wins over the file. A variable that is set and empty counts as not set.

    Args:
        env_file: the file; ``None`` for none.

    Raises:
        SetupError: a variable has a value that means nothing, or the file cannot be read.
    """
    if env_file is not None and not Path(env_file).is_file():
        raise SetupError(f"there is no file {os.fspath(env_file)!r} to take settings from")
    if env_file is None and not any(os.environ.get(name) for name in VARIABLES):
        return Settings()
    return _read(env_file)


def _read(env_file: str | os.PathLike[str] | None) -> Settings:
    from pydantic import ValidationError

    from liman_nb.variables import Variables

    try:
        found = Variables(_env_file=env_file)  # type: ignore[call-arg]  # of pydantic-settings
    except ValidationError as error:
        raise SetupError("; ".join(_complaint(e) for e in error.errors())) from None
    redis = found.store == "redis"
    return Settings(
        store=found.store,
        directory=found.directory,
        agency=found.agency,
        session_ttl=found.ttl("session", redis),
        record_ttl=found.ttl("default", redis),
        redis_host=found.redis_host,
        redis_port=found.redis_port,
        redis_db=found.redis_db,
        redis_password=found.redis_password.get_secret_value(),
    )


def _complaint(error: Any) -> str:
    """What is wrong with one variable; never a value, which may be a password."""
    name = str(error["loc"][0]) if error["loc"] else "a variable"
    return f"the environment's {name} cannot be used: {error['msg'].removeprefix('Value error, ')}"
