"""Which servers may be asked at all: an origin is a scheme, a host and a port (RFC 6454)."""

from __future__ import annotations

from collections.abc import Iterable

import httpx

from liman_nb.errors import UsageError


def origin_of(url: str) -> str:
    """The origin of an address, as ``https://api.example.com`` or ``http://localhost:8000``.

    The parser is the one that the connection is made with, so that both read an address alike.

    Raises:
        ValueError: not the address of a web server, or one that carries a name or password.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{url!r:.200} is no address: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r:.200} is no address that begins with http:// or https://")
    if parsed.userinfo:
        raise ValueError(f"the address of {parsed.host} carries a name or password")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def origins_of(urls: Iterable[str]) -> frozenset[str]:
    """The origins that a caller allows.

    Raises:
        UsageError: one of them is none.
    """
    if isinstance(urls, str):
        urls = (urls,)
    try:
        return frozenset(origin_of(url) for url in urls)
    except ValueError as error:
        raise UsageError(f"allow_origins: {error}") from None
