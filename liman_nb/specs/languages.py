"""Which keys are languages, and in which order languages stand in for each other.

A language is written as in BCP 47 (https://www.rfc-editor.org/info/bcp47): a two-letter code of
ISO 639-1, with script or region behind it if need be: ``de``, ``de-AT``, ``zh-Hant-TW``; ``de_AT``
is read as ``de-AT``.
"""

from __future__ import annotations

import re

from liman_nb.errors import UsageError

DEFAULT_LANGUAGE = "en"
"""The language of text without a language key, and what stands in for a missing language."""

_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv "
    "sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
ISO_639_1: frozenset[str] = frozenset(_CODES.split())
"""The two-letter codes."""

_TAG = re.compile(r"([a-z]{2})((?:[-_][A-Za-z0-9]{2,8})*)")


def is_language(key: str) -> bool:
    """Whether a key names a language."""
    found = _TAG.fullmatch(key)
    return found is not None and found[1] in ISO_639_1


def same_language(key: str) -> str:
    """The form in which two keys for one language are equal."""
    return key.replace("_", "-").lower()


def stand_ins(language: str | None, fallback: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """The languages to look for, best first: ``de-AT`` gives ``de-at``, ``de``, then the fallback.

    Raises:
        UsageError: one of them is not a language.
    """
    wanted: list[str] = []
    for one in (language, fallback):
        if one is None:
            continue
        if not is_language(one):
            raise UsageError(f"{one!r} is not a language; write a code such as 'de' or 'de-AT'")
        parts = same_language(one).split("-")
        wanted += ["-".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return tuple(dict.fromkeys(wanted))
