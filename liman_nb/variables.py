"""The environment's variables, read and checked by pydantic-settings.

A module of its own, since loading that package takes longer than all that most agents need of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from liman_nb.settings import DIRECTORY


def _store(value: Any) -> Any:
    name = str(value).strip().lower()
    return {"disk": "diskcache", "in_memory": "memory", "inmemory": "memory"}.get(name, name)


Seconds = Annotated[float, Field(gt=0)]


class Variables(BaseSettings):
    """Each variable under its own name; see :class:`liman_nb.settings.Settings`."""

    model_config = SettingsConfigDict(extra="ignore", env_ignore_empty=True, case_sensitive=True)

    store: Annotated[Literal["diskcache", "redis", "memory"], BeforeValidator(_store)] = Field(
        default="diskcache", validation_alias=AliasChoices("LIMAN_NB_STORE", "LEAFMESH_STORE")
    )
    directory: str = Field(default=DIRECTORY, validation_alias="LIMAN_NB_DIR")
    agency: str = Field(
        default="", validation_alias=AliasChoices("LIMAN_NB_AGENCY", "LEAFMESH_AGENCY_NAME")
    )
    session_ttl: Seconds | None = Field(default=None, validation_alias="LIMAN_NB_SESSION_TTL")
    default_ttl: Seconds | None = Field(default=None, validation_alias="LIMAN_NB_DEFAULT_TTL")
    redis_host: str = Field(default="localhost", validation_alias="REDIS_HOST")
    redis_port: int = Field(default=6379, ge=1, le=65535, validation_alias="REDIS_PORT")
    redis_db: int = Field(default=0, ge=0, validation_alias="REDIS_DB")
    redis_password: SecretStr = Field(default=SecretStr(""), validation_alias="REDIS_PASSWORD")
    redis_session_ttl: Seconds = Field(default=604_800, validation_alias="REDIS_SESSION_TTL")
    redis_default_ttl: Seconds = Field(default=3_600, validation_alias="REDIS_DEFAULT_TTL")

    def ttl(self, of: Literal["session", "default"], redis: bool) -> float | None:
        """A time to live: what is said for every store, else Redis's own where that is meant."""
        own = self.session_ttl if of == "session" else self.default_ttl
        of_redis = self.redis_session_ttl if of == "session" else self.redis_default_ttl
        return of_redis if own is None and redis else own
