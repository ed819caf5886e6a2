"""Language bundles: texts in several languages, with the language keys at any depth.

Two steps, so that an overlay can add a language in between. :func:`spread` moves the language keys
down to the texts: ``{de: {system: …}}`` becomes ``{system: {de: …}}``, and a text without language
counts as the default one's. :func:`choose` then picks one language for each text by itself, so that
a missing translation falls back alone. Both work on a whole document and touch nothing else in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from liman_nb.errors import Place
from liman_nb.specs.findings import listed
from liman_nb.specs.languages import is_language, same_language
from liman_nb.specs.located import Located

Report = Callable[[str, Place, str], None]
"""Told of a problem: message, place, hint."""

BUNDLES = ("description", "prompts", "question", "tool_prompt_template", "triggers")
"""The fields of a document that are bundles."""

_DESCRIBED = ("arguments", "structured_output", "yields")
"""The fields in which every ``description`` is a bundle."""

_FALLBACK_KEYS = ("fallback_lang", "fallback_language")


def spread(document: Located, default: str, report: Report) -> Located:
    """The document with all language keys moved down to the texts.

    Args:
        document: a mapping, as written.
        default: the language of texts without one.
        report: told of a text that stands twice in one language.
    """
    return _in_bundles(document, lambda bundle: _spread(bundle, default, None, report))


def choose(document: Located, languages: Sequence[str], report: Report) -> Located:
    """The document in one language.

    Args:
        document: a mapping that was spread.
        languages: what to look for, best first, as from :func:`liman_nb.specs.languages.stand_ins`.
        report: told of a text that has several languages and none of these.
    """
    return _in_bundles(document, lambda bundle: _choose(bundle, languages, report))


# ── where bundles are ────────────────────────────────────────────────────────────────────────────


def _in_bundles(document: Located, change: Callable[[Located], Located]) -> Located:
    fields = {}
    for name, value in document.fields.items():
        if name in BUNDLES:
            fields[name] = _kept_key(change(value), value)
        elif name in _DESCRIBED:
            fields[name] = _in_descriptions(value, change)
        else:
            fields[name] = value
    return document.with_value(fields)


def _in_descriptions(value: Located, change: Callable[[Located], Located]) -> Located:
    if value.is_list:
        return value.with_value(tuple(_in_descriptions(v, change) for v in value.items))
    if not value.is_mapping:
        return value
    fields = {}
    for name, child in value.fields.items():
        is_bundle = name == "description" and (child.text is not None or _is_texts(child))
        changed = change(child) if is_bundle else _in_descriptions(child, change)
        fields[name] = _kept_key(changed, child)
    return value.with_value(fields)


def _kept_key(new: Located, old: Located) -> Located:
    return replace(new, key=old.key)


def _is_texts(value: Located) -> bool:
    """Whether a mapping holds one text for each of its languages, and nothing else."""
    return bool(value.fields) and all(is_language(k) for k in value.fields)


# ── spreading ────────────────────────────────────────────────────────────────────────────────────


def _spread(value: Located, default: str, language: str | None, report: Report) -> Located:
    if value.is_mapping:
        return _spread_fields(value, default, language, report)
    if value.is_list and language is None:
        return _spread_list(value, default, report)
    if value.value is None:
        return value
    return Located({language or default: value}, value.place, value.key)


def _spread_fields(value: Located, default: str, language: str | None, report: Report) -> Located:
    spread_out = value.with_value({})
    for name, child in value.fields.items():
        if is_language(name):
            new = _spread(child, default, name, report)
        elif name in _FALLBACK_KEYS:
            new = value.with_value({name: child})
        else:
            inner = _spread(child, default, language, report)
            new = value.with_value({name: _kept_key(inner, child)})
        spread_out = _together(spread_out, new, report)
    return spread_out


def _spread_list(value: Located, default: str, report: Report) -> Located:
    """``[{en: a, de: b}, c]`` becomes ``{en: [a, c], de: [b, c]}``."""
    if not all(item.text is not None or _is_texts(item) for item in value.items):
        return Located({default: value}, value.place, value.key)
    items = [_spread(item, default, None, report) for item in value.items]
    languages = dict.fromkeys(name for item in items for name in item.fields)
    lists = {
        language: Located(tuple(_text_in(item, language, default) for item in items), value.place)
        for language in languages or (default,)
    }
    return Located(lists, value.place, value.key)


def _text_in(item: Located, language: str, default: str) -> Located:
    texts = item.fields
    return texts.get(language) or texts.get(default) or next(iter(texts.values()), item)


def _together(one: Located, other: Located, report: Report) -> Located:
    """Two parts of one bundle as one."""
    if other.value is None:
        return one
    if not (one.is_mapping and other.is_mapping):
        report("a text stands beside fields of its own name", other.place, "")
        return one
    fields = dict(one.fields)
    for name, value in other.fields.items():
        if name not in fields:
            fields[name] = value
        elif is_language(name):
            report(f"the text for {name!r} stands twice", value.place, "")
        else:
            fields[name] = _together(fields[name], value, report)
    return one.with_value(fields)


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────


def _choose(value: Located, languages: Sequence[str], report: Report) -> Located:
    for key in _FALLBACK_KEYS:
        fallback = value.fields.get(key)
        if fallback and fallback.text:
            languages = (*languages[:-1], same_language(fallback.text))
    value = value.without(*_FALLBACK_KEYS) if value.is_mapping else value
    return _chosen(value, languages, report)


def _chosen(value: Located, languages: Sequence[str], report: Report) -> Located:
    if value.is_list:
        return value.with_value(tuple(_chosen(v, languages, report) for v in value.items))
    if _is_texts(value):
        return _pick(value, languages, report)
    if not value.is_mapping:
        return value
    fields = {}
    for name, child in value.fields.items():
        if is_language(name):
            message = f"a text in {name!r} stands beside the fields {_others(value.fields)}"
            report(message, child.key or child.place, "")
        else:
            fields[name] = _kept_key(_chosen(child, languages, report), child)
    return value.with_value(fields)


def _others(fields: Mapping[str, Located]) -> str:
    return listed(k for k in fields if not is_language(k))


def _pick(value: Located, languages: Sequence[str], report: Report) -> Located:
    texts = {same_language(name): text for name, text in value.fields.items()}
    for language in languages:
        if language in texts:
            return texts[language]
    if len(texts) > 1:
        report(
            f"there is no text for {languages[0]!r} and no {languages[-1]!r} in its place, "
            f"only {listed(value.fields)}",
            value.place,
            f"add {languages[-1]!r}, or choose one of them with Agent(language=…)",
        )
    return next(iter(texts.values()))
