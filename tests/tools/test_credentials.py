"""What of the context and which credentials a function sees, and how often a provider is asked."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass, field
from typing import Any

import pytest

from liman_nb.errors import ToolError
from liman_nb.specs.documents import ContextSpec
from liman_nb.tools.credentials import TurnCredentials, account_slice

CONTEXT = {
    "user_id": "u-123",
    "org": {"id": "o-456", "plan": {"tier": "gold"}, "secret": "x"},
    "none": None,
    "flag": False,
}


@dataclass(frozen=True)
class Rule:
    """What a service account says about the context."""

    inject: list[str | dict[str, str]] = field(default_factory=list)
    strict: bool = True


# ── context ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("inject", "expected"),
    [
        ([], {}),
        (["user_id"], {"user_id": "u-123"}),
        (["org.id"], {"org": {"id": "o-456"}}),
        (["org.id", "org.plan.tier"], {"org": {"id": "o-456", "plan": {"tier": "gold"}}}),
        (["tier: org.plan.tier"], {"tier": "gold"}),
        (["tier:org.plan.tier"], {"tier": "gold"}),
        ([{"tier": "org.plan.tier", "who": "user_id"}], {"tier": "gold", "who": "u-123"}),
        (["org.plan"], {"org": {"plan": {"tier": "gold"}}}),
        (["plan: org.plan", "plan.owner: user_id"], {"plan": {"tier": "gold", "owner": "u-123"}}),
        (["none", "flag"], {"none": None, "flag": False}),
    ],
)
def test_each_form_injects_its_value(inject: Any, expected: dict[str, Any]) -> None:
    """A name keeps its place, an alias gives another; a value may be null or false."""
    before = copy.deepcopy(CONTEXT)
    assert account_slice(Rule(inject), CONTEXT, "support") == expected
    assert before == CONTEXT


def test_a_document_is_understood_as_it_is() -> None:
    """The `context:` of a ServiceAccount document is such a rule."""
    rule = ContextSpec(inject=("user_id", {"tier": "org.plan.tier"}))
    assert account_slice(rule, CONTEXT, "a") == {"user_id": "u-123", "tier": "gold"}


def test_without_a_rule_nothing_is_seen() -> None:
    """The slice is what is named, not what is there."""
    assert account_slice(None, CONTEXT, "support") == {}


@pytest.mark.parametrize("name", ["tenant", "org.name", "user_id.x", "org.plan.tier.x", "flag.x"])
def test_a_strict_account_misses_nothing_silently(name: str) -> None:
    """The error names the account and the key, and no value."""
    with pytest.raises(ToolError) as caught:
        account_slice(Rule(["user_id", f"a: {name}"]), CONTEXT, "support")
    assert str(caught.value) == (
        f"the service account 'support' needs '{name}' in the context; pass it as context={{…}} "
        "with this call, or set strict: false"
    )
    assert account_slice(Rule(["user_id", f"a: {name}"], strict=False), CONTEXT, "support") == {
        "user_id": "u-123"
    }


def test_names_never_lead_to_attributes() -> None:
    """An object in the context is a value, not a way to others."""

    class Client:
        inner = "canary"

    context = {"client": Client()}
    assert account_slice(Rule(["client.inner"], strict=False), context, "a") == {}
    assert account_slice(Rule(["client"]), context, "a") == context


# ── credentials ──────────────────────────────────────────────────────────────────────────────────


class Provider:
    """Gives a token, and counts how often it was asked."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[Any] = []
        self.failures = failures

    async def later(self, context: dict[str, Any]) -> dict[str, str]:
        """Take a moment."""
        self.calls.append(context)
        call = len(self.calls)
        await asyncio.sleep(0.01)
        if call <= self.failures:
            raise ConnectionError("bad key canary-1")
        return {"token": f"t-{call}"}

    def now(self) -> str:
        """Need no context."""
        self.calls.append(None)
        return "password"


async def test_tools_that_run_side_by_side_ask_once() -> None:
    """One call per turn and account, whether it is under way or done."""
    provider, turn = Provider(), TurnCredentials()
    fetch = [turn.fetch("support", {"vault": provider.later}, {"user": "u"}) for _ in range(3)]
    assert await asyncio.gather(*fetch) == [{"token": "t-1"}] * 3
    assert await turn.fetch("support", {"vault": provider.later}, {"user": "u"}) == {"token": "t-1"}
    assert provider.calls == [{"user": "u"}]


async def test_each_account_and_each_turn_asks_anew() -> None:
    """Credentials are not shared between accounts, nor kept for the next turn."""
    provider, turn = Provider(), TurnCredentials()
    for fetched in (turn, turn, TurnCredentials()):
        account = f"account {len(provider.calls)}"
        await fetched.fetch(account, {"vault": provider.later}, {"of": account})
    assert provider.calls == [{"of": f"account {n}"} for n in range(3)]


async def test_several_providers_are_told_apart_by_name() -> None:
    """One gives its value as it is; several give a mapping; none gives nothing."""
    provider, turn = Provider(), TurnCredentials()
    both = {"vault": provider.later, "file": provider.now}
    assert await turn.fetch("a", both, {}) == {"vault": {"token": "t-1"}, "file": "password"}
    assert await turn.fetch("b", {"file": provider.now}, {}) == "password"
    assert await turn.fetch("c", {}, {}) is None


async def test_a_failure_names_the_provider_and_quotes_nothing() -> None:
    """The provider's message may hold a secret that nobody knows yet; its type and place do not."""
    provider, turn = Provider(failures=1), TurnCredentials()
    with pytest.raises(ToolError) as caught:
        await turn.fetch("support", {"vault": provider.later}, {})
    assert str(caught.value).startswith(
        "the credentials provider 'vault' of 'support' failed: ConnectionError at "
    )
    assert "test_credentials.py:" in str(caught.value)
    assert "canary" not in str(caught.value)


async def test_a_failure_is_not_kept() -> None:
    """Another attempt asks again; those who waited together fail together."""
    provider, turn = Provider(failures=1), TurnCredentials()
    fetch = [turn.fetch("support", {"vault": provider.later}, {}) for _ in range(2)]
    failed = await asyncio.gather(*fetch, return_exceptions=True)
    assert [type(f) for f in failed] == [ToolError, ToolError]
    assert await turn.fetch("support", {"vault": provider.later}, {}) == {"token": "t-2"}


async def test_a_failure_beside_another_provider_is_reported() -> None:
    """Whichever of several ends first."""
    slow, quick = Provider(), Provider(failures=1)
    turn = TurnCredentials()
    with pytest.raises(ToolError, match="provider 'quick'"):
        await turn.fetch("a", {"slow": slow.later, "quick": quick.later}, {})
    with pytest.raises(ToolError, match="provider 'quick'"):
        await TurnCredentials().fetch("a", {"quick": Provider(failures=1).later, "x": slow.now}, {})


async def test_a_tool_that_is_stopped_does_not_fail_the_others() -> None:
    """The call belongs to the turn, not to the tool that happened to start it."""
    provider, turn = Provider(), TurnCredentials()
    first = asyncio.create_task(turn.fetch("a", {"vault": provider.later}, {}))
    second = asyncio.create_task(turn.fetch("a", {"vault": provider.later}, {}))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == {"token": "t-1"}
    assert len(provider.calls) == 1


async def test_values_are_hidden_and_forgotten() -> None:
    """Not in the repr; known for redaction while the turn lasts; gone when it is closed."""
    provider, turn = Provider(), TurnCredentials()
    await turn.fetch("a", {"vault": provider.later, "file": provider.now}, {})
    assert repr(turn) == "<TurnCredentials: 2 fetched, values hidden>"
    assert turn.values() == ({"token": "t-1"}, "password")
    turn.close()
    assert turn.values() == ()


async def test_closing_stops_a_call_under_way() -> None:
    """A turn that ends does not leave a provider running."""
    provider, turn = Provider(), TurnCredentials()
    waiting = asyncio.create_task(turn.fetch("a", {"vault": provider.later}, {}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    turn.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert turn.values() == ()
