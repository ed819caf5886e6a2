"""How an operation wants to be asked: its security schemes, filled from a node's credentials.

See `Security Scheme Object`_. A scheme takes the value of the CredentialsProvider of its name, at
the time of the call; no value is kept here, and none is put into a message.

.. _Security Scheme Object: https://spec.openapis.org/oas/v3.1.1.html#security-scheme-object
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import SecretStr

from liman_nb.errors import ToolError
from liman_nb.tools.credentials import NamedCredentials
from liman_nb.tools.openapi.document import BadReference, Description

Place = Literal["header", "query", "cookie"]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One security scheme.

    Attributes:
        name: as the description calls it.
        provider: the CredentialsProvider that gives its value.
        kind: what the value becomes.
        place: where it goes.
        key: the header's, query parameter's or cookie's name.
    """

    name: str
    provider: str
    kind: Literal["bearer", "basic", "key"]
    place: Place = "header"
    key: str = "Authorization"


@dataclass(slots=True, repr=False)
class Secrets:
    """What a call carries to show who asks. It lives as long as the call.

    Attributes:
        header: by name.
        query: by name.
        cookie: by name.
        texts: the secret texts themselves, to take them out of what comes back.
    """

    header: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    cookie: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def add(self, scheme: Scheme, value: Any) -> None:
        """Put a credential where its scheme wants it.

        Raises:
            ToolError: it is not of a form that the scheme can use.
        """
        if scheme.kind == "basic":
            name, password = _name_and_password(scheme, value)
            text = base64.b64encode(f"{name}:{password}".encode()).decode()
            self.texts += [password, text]
            text = f"Basic {text}"
        else:
            text = _token(scheme, value)
            self.texts.append(text)
            text = f"Bearer {text}" if scheme.kind == "bearer" else text
        places = {"header": self.header, "query": self.query, "cookie": self.cookie}
        places[scheme.place][scheme.key] = text


Alternatives = Sequence[Sequence[Scheme]]
"""Any one of the alternatives will do; all schemes of it are needed."""


def read_security(
    description: Description, declared: Any, providers: Mapping[str, str]
) -> tuple[list[tuple[Scheme, ...]], list[str]]:
    """What a ``security`` field asks for, as far as it can be given.

    Args:
        description: where the schemes stand.
        declared: the field's value.
        providers: CredentialsProvider by scheme, where it has another name.

    Returns:
        The alternatives, and why others are none.
    """
    usable, unusable = list[tuple[Scheme, ...]](), list[str]()
    for alternative in declared if isinstance(declared, list) else ():
        names = list(alternative) if isinstance(alternative, Mapping) else []
        found = [_scheme(description, name, providers) for name in names]
        if wrong := [scheme for scheme in found if isinstance(scheme, str)]:
            unusable += wrong
        else:
            usable.append(tuple(scheme for scheme in found if isinstance(scheme, Scheme)))
    return usable, unusable


async def collect(tool: str, alternatives: Alternatives, credentials: NamedCredentials) -> Secrets:
    """The credentials of the first alternative that the node's account has all of.

    Raises:
        ToolError: it has none of the alternatives, or a provider failed.
    """
    secrets = Secrets()
    if not alternatives:
        return secrets
    ready = [a for a in alternatives if all(s.provider in credentials.names for s in a)]
    if not ready:
        ways = " or ".join(" and ".join(repr(s.provider) for s in a) for a in alternatives)
        raise ToolError(
            f"{tool} needs credentials: let the service account of its node name the credentials "
            f"provider {ways}"
        )
    for scheme in next((a for a in ready if a), ()):  # to say who asks is better than not to
        secrets.add(scheme, await credentials.get(scheme.provider))
    return secrets


def _scheme(description: Description, name: str, providers: Mapping[str, str]) -> Scheme | str:
    """A scheme by its name, or why it is none that can be used."""
    provider = providers.get(name, name)
    try:
        components = description.resolved(description.root.get("components"))
        schemes = description.resolved(components.get("securitySchemes"))
        found = description.resolved(schemes.get(name))
    except BadReference as error:
        return f"security scheme {name!r}: {error}"
    kind, way = found.get("type"), str(found.get("scheme", "")).lower()
    if kind in ("oauth2", "openIdConnect") or (kind == "http" and way == "bearer"):
        return Scheme(name, provider, "bearer")
    if kind == "http" and way == "basic":
        return Scheme(name, provider, "basic")
    key, place = found.get("name"), found.get("in")
    usable = isinstance(key, str) and (place != "header" or is_token(key))
    if kind == "apiKey" and usable and place in ("header", "query", "cookie"):
        return Scheme(name, provider, "key", place, str(key))
    what = f"{kind} {way}".strip() if kind else "which is not declared"
    return f"the security scheme {name!r} ({what}) is not supported"


def is_token(name: str) -> bool:
    """Whether a text may be the name of a header (RFC 9110, `token`)."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def _token(scheme: Scheme, value: Any) -> str:
    for key in ("token", "access_token", "api_key"):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
    text = _text(value)
    if not text:
        raise _unusable(scheme, value, "a text, or a mapping with 'token'")
    return _sendable(scheme, text)


def _name_and_password(scheme: Scheme, value: Any) -> tuple[str, str]:
    if isinstance(value, Mapping):
        name, password = _text(value.get("username")), _text(value.get("password"))
    else:
        name, _, password = _text(value).partition(":")
    if not name:
        raise _unusable(
            scheme, value, "a mapping with 'username' and 'password', or 'name:password'"
        )
    return name, password


def _text(value: Any) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return value if isinstance(value, str) else ""


def _sendable(scheme: Scheme, text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise ToolError(
            f"the credentials provider {scheme.provider!r} gave a text with a line break or "
            f"another character that cannot be sent"
        )
    return text


def _unusable(scheme: Scheme, value: Any, wanted: str) -> ToolError:
    return ToolError(
        f"the credentials provider {scheme.provider!r} gave a {type(value).__name__}; the security "
        f"scheme {scheme.name!r} takes {wanted}"
    )
