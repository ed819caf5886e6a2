"""Every exception class of the client has a counterpart of ours."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import openai.lib.azure
import pytest

from liman_nb.errors import LimanError, ModelError, SetupError
from liman_nb.models.openai_errors import BY_CLASS, from_client


def every_class(top: type[Exception]) -> Iterator[type[Exception]]:
    """A class and all that are derived from it."""
    yield top
    for derived in top.__subclasses__():
        yield from every_class(derived)


STATUS_CLASSES = set(every_class(openai.APIStatusError))


@pytest.mark.parametrize(
    "kind", sorted(set(every_class(openai.OpenAIError)), key=lambda c: c.__name__)
)
def test_a_class_of_the_client_has_a_counterpart(kind: type[Exception]):
    """Each class is named, or is an HTTP status, which `from_status` decides about."""
    assert kind.__name__ in BY_CLASS or kind in STATUS_CLASSES


@pytest.mark.parametrize(
    "kind", sorted(set(every_class(openai.OpenAIError)), key=lambda c: c.__name__)
)
def test_a_class_of_the_client_can_be_named(kind: type[Exception]):
    """An exception without a body, a status or a cause becomes an error of ours all the same."""
    error = from_client(kind.__new__(kind), "model 'm' at h")
    assert isinstance(error, ModelError | SetupError)
    assert "model 'm' at h" in str(error)


def test_counterparts_are_ours():
    """The table leads to this package's errors."""
    assert all(issubclass(kind, LimanError) for kind in BY_CLASS.values())
