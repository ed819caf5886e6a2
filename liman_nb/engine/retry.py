"""Trying a model call or a tool call again, every attempt on record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from liman_nb.errors import ModelError, ModelRateLimited
from liman_nb.specs.documents import RetrySpec

T = TypeVar("T")

LONGEST_WAIT = 60.0
"""Seconds; also the most that a server's Retry-After is followed."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When and how often a failed call is made again.

    Attributes:
        attempts: calls in all, the first included.
        backoff: seconds; the wait before call n is drawn between 0 and ``backoff * 2**(n-2)``.
        errors: class names of the errors worth another attempt (base classes count); empty for
            what the model layer marks as retryable: no connection, HTTP 429 and 5xx.
    """

    attempts: int = 3
    backoff: float = 0.5
    errors: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: RetrySpec | None) -> RetryPolicy:
        """The policy that a node's ``retry`` declares; the default one where it declares none."""
        return cls() if spec is None else cls(spec.attempts, spec.backoff, spec.errors)

    def wants(self, error: BaseException) -> bool:
        """Whether this error is worth another attempt; what asks to stop never is."""
        if not isinstance(error, Exception):
            return False
        if self.errors:
            return any(c.__name__ in self.errors for c in type(error).__mro__)
        return isinstance(error, ModelError) and error.retryable

    def wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt: what the server asked for, else a jittered back-off."""
        error = state.outcome and state.outcome.exception()
        if isinstance(error, ModelRateLimited) and error.retry_after is not None:
            return min(error.retry_after, LONGEST_WAIT)
        return float(wait_random_exponential(multiplier=self.backoff, max=LONGEST_WAIT)(state))


async def with_retry(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    on_failure: Callable[[BaseException], None],
) -> T:
    """Call until it succeeds or the policy is used up.

    Args:
        call: the call.
        policy: when to try again.
        on_failure: told of each failure that is followed by another attempt.

    Raises:
        Exception: the last failure.
    """
    try:
        return await call()
    except BaseException as error:
        if policy.attempts == 1 or not policy.wants(error):
            raise
        first = error
    return await _again(call, policy, on_failure, first)


async def _again(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    on_failure: Callable[[BaseException], None],
    first: BaseException,
) -> T:
    """Go on after a first failure, which counts as the first attempt.

    Most calls succeed at once, and tenacity's machinery costs them more than the engine does.
    """
    failures = [first]

    async def attempt() -> T:
        if failures:
            raise failures.pop()
        return await call()

    def failed(state: RetryCallState) -> None:
        error = state.outcome and state.outcome.exception()
        if error:
            on_failure(error)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(policy.attempts),
        wait=policy.wait,
        retry=retry_if_exception(policy.wants),
        before_sleep=failed,
        reraise=True,
    )
    return await retrying(attempt)
