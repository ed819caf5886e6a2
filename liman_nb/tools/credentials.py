"""What a service account lets a function see: its slice of the context, and its credentials.

Nothing here is ever stored. `redaction.py` takes these values out of the texts that are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from liman_nb.errors import ToolError
from liman_nb.state.json_values import copied
from liman_nb.tools.calling import call_function
from liman_nb.tools.frames import user_frame


class ContextRule(Protocol):
    """What a ServiceAccount says under ``context:``."""

    @property
    def strict(self) -> bool:
        """Whether a missing value is an error."""
        ...

    @property
    def inject(self) -> Sequence[str | Mapping[str, str]]:
        """``user_id``, ``org.id``, ``alias: a.b`` as a text, or ``{alias: a.b}``."""
        ...


# ── context ──────────────────────────────────────────────────────────────────────────────────────


def account_slice(
    rule: ContextRule | None, context: Mapping[str, Any], account: str
) -> dict[str, Any]:
    """The part of the call-time context that a service account hands on.

    Args:
        rule: which values; ``None`` for none. ``a`` and ``a.b`` keep their place, so that a
            function reads ``context["a"]["b"]`` as it would in the whole; ``alias: a.b`` is read as
            ``context["alias"]``. Names lead into mappings only, never to attributes of objects.
        context: the call-time context.
        account: the account's name, for errors.

    Returns:
        A new dictionary. Lists and dictionaries in it are copies, objects of other classes the
        context's own.

    Raises:
        ToolError: the account is strict and a value is missing; names the key, never a value.
    """
    result: dict[str, Any] = {}
    for target, source in _injections(rule.inject if rule else ()):
        try:
            result = _put(result, target, copied(_read(context, source)))
        except LookupError:
            if rule and rule.strict:
                raise ToolError(
                    f"the service account {account!r} needs {'.'.join(source)!r} in the context; "
                    "pass it as context={…} with this call, or set strict: false"
                ) from None
    return result


def _injections(
    inject: Sequence[str | Mapping[str, str]],
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Where each value goes, and where it comes from."""
    for entry in inject:
        if isinstance(entry, str):
            alias, _, source = entry.rpartition(":")
            pairs = [(alias.strip() or source.strip(), source.strip())]
        else:
            pairs = [(alias.strip(), source.strip()) for alias, source in entry.items()]
        for target, source in pairs:
            yield tuple(target.split(".")), tuple(source.split("."))


def _read(context: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = context
    for part in path:
        if not isinstance(value, Mapping):
            raise LookupError(part)
        value = value[part]
    return value


def _put(target: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy with one more value; mappings on the way are copied, never changed."""
    head, *rest = path
    if not rest:
        return {**target, head: value}
    inner = target.get(head)
    return {**target, head: _put(inner if isinstance(inner, Mapping) else {}, rest, value)}


# ── credentials ──────────────────────────────────────────────────────────────────────────────────


class TurnCredentials:
    """The credentials of one turn: each provider is called once per account, when first needed.

    Tools that run side by side wait for the same call. A failed call is forgotten, so that another
    attempt asks again. Nothing is kept beyond the turn: drop the object, or :meth:`close` it.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], asyncio.Task[Any]] = {}

    def __repr__(self) -> str:
        """How many there are; never what they are."""
        return f"<TurnCredentials: {len(self._calls)} fetched, values hidden>"

    async def fetch(
        self,
        account: str,
        providers: Mapping[str, Callable[..., Any]],
        context: Mapping[str, Any],
    ) -> Any:
        """An account's credentials.

        Args:
            account: the service account's name.
            providers: its providers' functions, sync or async, by name. One that asks for
                ``context`` gets it.
            context: the account's slice.

        Returns:
            What its one provider returned; of several, a dictionary by provider; ``None`` of none.

        Raises:
            ToolError: a provider failed. Says the exception's type and place and not its message,
                which may quote a secret that is not known yet.
        """
        if not providers:
            return None
        calls = {n: self._call(account, n, f, context) for n, f in providers.items()}
        values = {name: await _value(account, name, call) for name, call in calls.items()}
        return values if len(values) > 1 else next(iter(values.values()))

    def values(self) -> tuple[Any, ...]:
        """Everything fetched so far, for :func:`liman_nb.tools.redaction.redact`."""
        done = [task for task in self._calls.values() if task.done() and not task.cancelled()]
        return tuple(task.result() for task in done if task.exception() is None)

    def close(self) -> None:
        """Cancel the calls that still run, and forget every value."""
        for task in self._calls.values():
            task.cancel()
        self._calls.clear()

    def _call(
        self, account: str, provider: str, function: Callable[..., Any], context: Mapping[str, Any]
    ) -> asyncio.Task[Any]:
        """The one call of a provider for an account: under way, done, or started now."""
        key = (account, provider)
        if key not in self._calls:
            task = asyncio.create_task(call_function(function, {}, {"context": context}))
            task.add_done_callback(lambda done: self._forget_failure(key, done))
            self._calls[key] = task
        return self._calls[key]

    def _forget_failure(self, key: tuple[str, str], task: asyncio.Task[Any]) -> None:
        if (task.cancelled() or task.exception()) and self._calls.get(key) is task:
            del self._calls[key]


class NamedCredentials:
    """The credentials of one account by provider; each is fetched when it is first asked for.

    Args:
        names: its providers.
        fetch: gives the value of one of them.
    """

    def __init__(
        self,
        names: Iterable[str] = (),
        fetch: Callable[[str], Awaitable[Any]] | None = None,
    ) -> None:
        self.names = frozenset(names)
        self._fetch = fetch

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> NamedCredentials:
        """Those that are at hand."""

        async def fetch(name: str) -> Any:
            return values[name]

        return cls(values, fetch)

    def __repr__(self) -> str:
        """Which there are; never what they are."""
        return f"<NamedCredentials: {', '.join(sorted(self.names)) or 'none'}, values hidden>"

    async def get(self, name: str) -> Any:
        """The value of a provider.

        Raises:
            ToolError: the account has no such provider, or it failed.
        """
        if name not in self.names or self._fetch is None:
            raise ToolError(f"the service account has no credentials provider {name!r}")
        return await self._fetch(name)


async def _value(account: str, provider: str, call: asyncio.Task[Any]) -> Any:
    try:
        return await asyncio.shield(call)
    except Exception as exc:
        place = user_frame(exc)
        raise ToolError(
            f"the credentials provider {provider!r} of {account!r} failed: "
            f"{type(exc).__name__}{f' at {place}' if place else ''}"
        ) from exc
