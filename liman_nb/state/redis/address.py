"""A server's url: checked early, and shown without what is secret in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from liman_nb.errors import UsageError

_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is.

    Attributes:
        url: the whole url, which may hold a password: for the client only.
        shown: the same without user, password and options.
    """

    url: str = field(repr=False)
    shown: str
    _secrets: tuple[str, ...] = field(repr=False, default=())

    @classmethod
    def parse(cls, url: str) -> Address:
        """An address from a url.

        Raises:
            UsageError: it is none of a Redis server. No part of it is repeated: it may be secret.
        """
        try:
            parts = urlsplit(url)
            shown = _shown(parts)
        except ValueError:
            raise _unusable("it cannot be read") from None
        return cls(url, shown, _passwords(parts))

    def without_secrets(self, text: str) -> str:
        """A text in which no password of the url is left; some servers repeat what they got."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


def _shown(parts: SplitResult) -> str:
    if parts.scheme not in _SCHEMES:
        raise _unusable("it begins with none of redis://, rediss:// (TLS) and unix://")
    if "@" in parts.path + parts.query or parts.fragment:
        raise _unusable("it has an @ or a # behind the server's name")
    database = parse_qs(parts.query).get("db", [""])[0]
    if parts.scheme == "unix":
        return f"unix://{parts.path}" + (f"?db={database}" if database else "")
    database = database or parts.path.strip("/") or "0"
    if not database.isdecimal():
        raise _unusable("what follows the server's name is not the number of a database")
    host = parts.hostname or "localhost"
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{parts.port or 6379}/{database}"


def _passwords(parts: SplitResult) -> tuple[str, ...]:
    """Every form in which a password of the url may turn up, the longest first."""
    given = [parts.password or "", *parse_qs(parts.query).get("password", [])]
    forms = {form for text in given for form in (text, unquote(text)) if form}
    return tuple(sorted(forms, key=len, reverse=True))


def _unusable(why: str) -> UsageError:
    return UsageError(
        f"the url of a Redis server cannot be used: {why}. It looks like "
        "redis://user:password@host:6379/0; in a password write / @ : ? # % as %2F %40 %3A %3F "
        "%23 %25"
    )
