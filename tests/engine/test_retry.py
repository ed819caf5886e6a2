"""Failed calls are made again as the policy says."""

import pytest

from liman_nb.engine.retry import RetryPolicy, with_retry
from liman_nb.errors import ModelRateLimited, ModelRejected, ModelServerError


def failing(*errors: Exception):
    """A call that raises these errors in turn, then returns how often it was made."""
    left, made = list(errors), []

    async def call() -> int:
        made.append(1)
        if left:
            raise left.pop(0)
        return len(made)

    return call


async def test_errors_that_may_pass_are_tried_again_and_each_is_told():
    """A server's failure is followed by another attempt, and the failure is on record."""
    told: list[BaseException] = []
    first, second = ModelServerError("503"), ModelServerError("502")
    made = await with_retry(failing(first, second), RetryPolicy(3, backoff=0.001), told.append)
    assert made == 3
    assert told == [first, second]


async def test_the_last_failure_is_raised_and_not_told_as_an_attempt():
    """When the attempts are used up the last error is the outcome."""
    told: list[BaseException] = []
    errors = [ModelServerError(str(i)) for i in range(3)]
    with pytest.raises(ModelServerError, match="1"):
        await with_retry(failing(*errors), RetryPolicy(2, backoff=0.001), told.append)
    assert told == errors[:1]


async def test_an_error_that_will_not_pass_is_raised_at_once():
    """A wrong key is not tried again."""
    told: list[BaseException] = []
    with pytest.raises(ModelRejected):
        await with_retry(failing(ModelRejected("401")), RetryPolicy(5), told.append)
    assert told == []


async def test_named_errors_replace_the_usual_ones():
    """A policy that names errors retries those, base classes included, and no others."""
    policy = RetryPolicy(2, backoff=0.001, errors=("LookupError",))
    assert await with_retry(failing(KeyError("x")), policy, lambda _: None) == 2
    with pytest.raises(ModelServerError):
        await with_retry(failing(ModelServerError("503")), policy, lambda _: None)


async def test_a_server_that_names_a_time_is_given_that_time(monkeypatch):
    """Retry-After decides the wait."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    errors = [ModelRateLimited("429", retry_after=7), ModelRateLimited("429", retry_after=1e6)]
    await with_retry(failing(*errors), RetryPolicy(3), lambda _: None)
    assert waits == [7, 60]
