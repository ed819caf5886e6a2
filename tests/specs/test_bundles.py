"""Language bundles: language keys at any depth, one language chosen for each text by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.errors import Place
from liman_nb.specs import check_specs, load_specs
from liman_nb.specs.bundles import choose, spread
from liman_nb.specs.languages import stand_ins
from liman_nb.specs.located import locate

FORMS = {
    "language below": {"system": {"en": "Hello", "de": "Hallo"}, "notes": {"en": "Note"}},
    "language above": {"en": {"system": "Hello", "notes": "Note"}, "de": {"system": "Hallo"}},
    "both ways": {"system": {"en": "Hello"}, "de": {"system": "Hallo"}, "notes": {"en": "Note"}},
    "text without language": {"system": "Hello", "notes": "Note", "de": {"system": "Hallo"}},
    "region": {
        "system": {"en-GB": "x", "en": "Hello", "de_CH": "y", "de": "Hallo"},
        "notes": "Note",
    },
}


def prompts(written, **languages) -> dict:
    """The prompts of a node, in one language."""
    (document,) = load_specs(
        {"kind": "LLMNode", "name": "a", "prompts": written}, **languages
    ).items
    return document.spec.prompts


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form):
    """Where the language keys stand makes no difference."""
    assert prompts(FORMS[form]) == {"system": "Hello", "notes": "Note"}
    assert prompts(FORMS[form], language="de") == {"system": "Hallo", "notes": "Note"}
    assert prompts(FORMS[form], language="de-AT") == {"system": "Hallo", "notes": "Note"}
    assert prompts(FORMS[form], language="fr") == {"system": "Hello", "notes": "Note"}


def test_a_variety_of_a_language_is_preferred_to_the_language():
    """`de-CH` before `de`, however it is written."""
    assert prompts(FORMS["region"], language="de-CH")["system"] == "y"
    assert prompts(FORMS["region"], language="en_gb")["system"] == "x"


def test_the_fallback_may_be_another_language():
    """Text without a language is then in that one."""
    written = {"system": "Hallo", "en": {"system": "Hello"}}
    assert prompts(written, fallback_language="de") == {"system": "Hallo"}
    assert prompts(written, language="en", fallback_language="de") == {"system": "Hello"}


def test_a_bundle_may_name_its_own_fallback():
    """As Liman prints a composed prompt."""
    written = {"fallback_lang": "ru", "ru": {"system": "Да"}, "de": {"system": "Ja"}}
    assert prompts(written) == {"system": "Да"}
    assert prompts(written, language="de") == {"system": "Ja"}


def test_the_only_language_is_taken():
    """A spec in one language needs no setting."""
    assert prompts({"system": {"ja": "はい"}}) == {"system": "はい"}


def test_several_languages_and_none_of_those_asked_for():
    """Nothing is guessed."""
    problems = check_specs(
        "kind: LLMNode\nname: a\nprompts:\n  system: {de: Ja, ru: Да}\n", language="fr"
    )
    assert [str(p) for p in problems] == [
        "<specs>:4:11: LLMNode a: there is no text for 'fr' and no 'en' in its place, only 'de', "
        "'ru'; add 'en', or choose one of them with Agent(language=…)"
    ]


def test_one_text_twice_in_one_language():
    """Two spellings of one place."""
    problems = check_specs(
        "kind: LLMNode\nname: a\nprompts:\n  system: {en: A}\n  en: {system: B}\n"
    )
    assert [str(p) for p in problems] == ["<specs>:5:16: LLMNode a: the text for 'en' stands twice"]


def test_texts_and_fields_in_one_place():
    """A language beside something that is no language."""
    problems = check_specs("kind: LLMNode\nname: a\nprompts:\n  notes: {en: A, intro: {en: B}}\n")
    assert "<specs>:4:11: LLMNode a: a text in 'en' stands beside the fields 'intro'" in [
        str(p) for p in problems
    ]


TOOL = {
    "kind": "ToolNode",
    "name": "weather",
    "description": {"en": "The weather", "de": "Das Wetter"},
    "arguments": [
        {"name": "city", "type": "string", "description": {"en": "Where", "de": "Wo"}},
        {
            "name": "when",
            "type": "object",
            "properties": [{"name": "day", "type": "string", "description": {"de": "Tag"}}],
        },
    ],
    "tool_prompt_template": {"en": "{name} does it", "de": "{name} macht es"},
    "triggers": {"en": ["Is it cold?"], "de": ["Ist es kalt?"]},
}


def test_every_localized_field_of_a_tool():
    """Description, arguments at any depth, template, triggers."""
    (document,) = load_specs(TOOL, language="de").items
    spec = document.spec
    assert spec.description == "Das Wetter"
    assert spec.arguments[0]["description"] == "Wo"
    assert spec.arguments[1]["properties"][0]["description"] == "Tag"
    assert spec.tool_prompt_template == "{name} macht es"
    assert spec.triggers == ("Ist es kalt?",)


@pytest.mark.parametrize(
    ("written", "english", "german"),
    [
        (["a", "b"], ("a", "b"), ("a", "b")),
        ("a", ("a",), ("a",)),
        ({"en": ["a", "b"], "de": ["c"]}, ("a", "b"), ("c",)),
        ([{"en": "a", "de": "b"}, "c"], ("a", "c"), ("b", "c")),
        ({"en": "a", "de": "b"}, ("a",), ("b",)),
        ([{"de": "b"}], ("b",), ("b",)),
        ([], (), ()),
    ],
)
def test_triggers_in_every_form(written, english, german):
    """One list with languages in it, or a list for each language."""
    spec = {"kind": "ToolNode", "name": "t", "triggers": written}
    assert load_specs(spec).items[0].spec.triggers == english
    assert load_specs(spec, language="de").items[0].spec.triggers == german


def test_descriptions_of_yields():
    """Fields named `description` are left alone, descriptions of fields are chosen."""
    spec = {
        "kind": "LLMNode",
        "name": "a",
        "yields": {
            "description": "string",
            "mood": {"type": "string", "description": {"en": "How", "de": "Wie"}},
        },
    }
    (document,) = load_specs(spec, language="de").items
    assert document.spec.yields == {
        "description": "string",
        "mood": {"type": "string", "description": "Wie"},
    }


def test_what_is_no_bundle_is_left_alone():
    """Two-letter keys elsewhere are names."""
    spec = {"kind": "LLMNode", "name": "a", "yields": {"id": "integer", "de": "string"}}
    assert load_specs(spec).items[0].spec.yields == {"id": "integer", "de": "string"}


def test_a_question_in_two_languages():
    """Of a HumanNode."""
    spec = {"kind": "HumanNode", "name": "a", "question": {"en": "Really?", "de": "Wirklich?"}}
    assert load_specs(spec, language="de").items[0].spec.question == "Wirklich?"


TEXTS = st.text(st.characters(categories=["L"]), min_size=1, max_size=3)
FIELDS = st.sampled_from(["system", "notes", "intro"])
LANGUAGES = st.sampled_from(["en", "de", "ru"])


@given(st.dictionaries(st.tuples(FIELDS, LANGUAGES), TEXTS, min_size=1), LANGUAGES)
def test_each_text_falls_back_alone_wherever_the_languages_stand(texts, language):
    """The language asked for, else English, else the only one."""
    below: dict = {}
    above: dict = {}
    for (field, written_in), text in texts.items():
        below.setdefault(field, {})[written_in] = text
        above.setdefault(written_in, {})[field] = text
    for field, versions in below.items():
        only = next(iter(versions.values())) if len(versions) == 1 else None
        expected = versions.get(language) or versions.get("en") or only
        for written in (below, above):
            found, reported = _chosen(written, language)
            assert expected is None or found[field] == expected
            assert expected or any("there is no text for" in message for message in reported)


def _chosen(bundle: dict, language: str) -> tuple[dict, list[str]]:
    reported: list[str] = []

    def report(message: str, *_: object) -> None:
        reported.append(message)

    document = locate({"prompts": bundle}, Place("f"), report)
    chosen = choose(spread(document, "en", report), stand_ins(language), report)
    return chosen.plain()["prompts"], reported
