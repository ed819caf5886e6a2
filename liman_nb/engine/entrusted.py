"""What of the call's context and credentials a run's functions get: what its account hands on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from liman_nb.engine.run import NodeRun
from liman_nb.specs.documents import ServiceAccountSpec
from liman_nb.state.json_values import copied
from liman_nb.tools.credentials import NamedCredentials, account_slice


async def entrusted(run: NodeRun, asked: frozenset[str]) -> dict[str, Any]:
    """The slice of the context, and the credentials, of the account that the node runs for.

    Args:
        run: the node run.
        asked: what the function asks for: ``context``, ``credentials``.
    """
    account = account_of(run)
    if account is None:
        return {"context": {}, "credentials": None}
    part = account_slice(account.context, run.call_time.context, account.name)
    if "credentials" not in asked:
        return {"context": part}
    return {"context": part, "credentials": await _fetched(run, account, account.providers)}


def named_credentials(run: NodeRun) -> NamedCredentials:
    """The credentials of the account that the node runs for, none of them fetched yet."""
    account = account_of(run)
    if account is None:
        return NamedCredentials()

    async def fetch(name: str) -> Any:
        return await _fetched(run, account, (name,))

    return NamedCredentials(account.providers, fetch)


async def _fetched(run: NodeRun, account: ServiceAccountSpec, names: Iterable[str]) -> Any:
    functions = run.runtime.callables.providers
    providers = {name: functions[name] for name in names}
    part = account_slice(account.context, run.call_time.context, account.name)
    return await run.call_time.credentials.fetch(account.name, providers, copied(part))


def account_of(run: NodeRun) -> ServiceAccountSpec | None:
    """The service account that a run acts for: its node's, else the model's that called it."""
    node = run.node
    if node.service_account is None and run.executor.called:
        caller = run.tree.executors[run.executor.parent or run.tree.root]
        node = run.runtime.graph.nodes[caller.node]
    return node.service_account
