"""Which keys are languages, and which language stands in for which."""

from __future__ import annotations

import pytest

from liman_nb.errors import UsageError
from liman_nb.specs.languages import is_language, stand_ins


@pytest.mark.parametrize("key", ["en", "de", "de-AT", "de_AT", "zh-Hant-TW", "pt-BR", "no"])
def test_languages(key):
    """Two letters of ISO 639-1, and what BCP 47 allows behind them."""
    assert is_language(key)


@pytest.mark.parametrize(
    "key", ["", "system", "EN", "xx", "e", "eng", "en-", "-en", "en US", "id2"]
)
def test_other_keys(key):
    """Anything else is a field's name."""
    assert not is_language(key)


@pytest.mark.parametrize(
    ("language", "fallback", "order"),
    [
        (None, "en", ("en",)),
        ("en", "en", ("en",)),
        ("de", "en", ("de", "en")),
        ("de-AT", "en", ("de-at", "de", "en")),
        ("zh_Hant_TW", "en", ("zh-hant-tw", "zh-hant", "zh", "en")),
        ("fr", "de-CH", ("fr", "de-ch", "de")),
    ],
)
def test_the_order_in_which_languages_are_looked_for(language, fallback, order):
    """The language itself, what it is a variety of, then the fallback."""
    assert stand_ins(language, fallback) == order


def test_a_language_that_is_none():
    """A word in its place is a mistake of the caller."""
    with pytest.raises(UsageError, match=r"^'german' is not a language; write a code such as 'de'"):
        stand_ins("german")
