"""Overlays: documents that change other documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from liman_nb.specs import check_specs, load_specs
from liman_nb.specs.documents import LLMNodeSpec

CHAT = """
kind: LLMNode
name: chat
description: Talks
temperature: 0.1
prompts:
  system: {en: Hello, de: Hallo}
tools: [clock]
nodes:
  - {id: up, target: boss, when: urgent}
---
kind: Node
name: boss
---
kind: ToolNode
name: clock
---
kind: ToolNode
name: weather
arguments:
  - {name: city, type: string, description: Where}
"""


def chat(overlay: str, **languages) -> LLMNodeSpec:
    """The fields of the node, with an overlay."""
    return document(overlay, **languages).spec


def document(overlay: str, name: str = "chat", **languages):
    """A document, with an overlay."""
    documents = load_specs([CHAT, f"kind: Overlay\n{overlay}"], **languages)
    return next(d for d in documents.items if d.spec.name == name)


def test_merge_replaces_what_is_no_mapping_and_no_list():
    """The rest stays."""
    spec = chat("to: LLMNode:chat\ntemperature: 0.9\n")
    assert (spec.temperature, spec.description) == (0.9, "Talks")


@pytest.mark.parametrize("to", ["LLMNode:chat", "LLMNode/chat"])
def test_both_spellings_of_the_target(to):
    """Kind and name, with a colon or a slash."""
    assert chat(f"to: {to}\ndescription: New\n").description == "New"


def test_an_alias_of_a_kind_names_the_same_document():
    """`Node` is a FunctionNode."""
    assert document("to: Node:boss\nfunc: f\n", "boss").spec.func == "f"


@pytest.mark.parametrize("form", ["{ru: {system: Да}}", "{system: {ru: Да}}"])
def test_a_language_is_added(form):
    """In whatever form the bundle is written."""
    assert chat(f"to: LLMNode:chat\nprompts: {form}\n", language="ru").system == "Да"
    assert chat(f"to: LLMNode:chat\nprompts: {form}\n", language="de").system == "Hallo"


def test_a_list_gets_the_items_it_does_not_have():
    """In order, without repeats; a single item counts as a list of one."""
    assert chat("to: LLMNode:chat\ntools: [clock, weather]\n").tools == ("clock", "weather")
    assert chat("to: LLMNode:chat\ntools: weather\n").tools == ("clock", "weather")


def test_an_edge_with_the_id_of_another_changes_it():
    """Others are added."""
    overlay = (
        "to: LLMNode:chat\nnodes:\n  - {id: up, when: always}\n  - {target: boss, when: late}\n"
    )
    edges = document(overlay).edges
    assert [(e.id, e.condition.text) for e in edges] == [("up", "always"), ("chat>boss#1", "late")]


def test_an_argument_with_the_name_of_another_changes_it():
    """A description, say."""
    overlay = "to: ToolNode:weather\narguments:\n  - {name: city, description: Which town}\n"
    (argument,) = document(overlay, "weather").spec.arguments
    assert argument == {"name": "city", "type": "string", "description": "Which town"}


def test_an_empty_value_removes_a_field():
    """So that a default holds again."""
    spec = chat("to: LLMNode:chat\ntemperature: null\nprompts: {system: null}\n")
    assert (spec.temperature, spec.system) == (None, "")


def test_replace_keeps_kind_and_name_alone():
    """Everything else is the overlay's."""
    found = document("to: LLMNode:chat\nstrategy: replace\nprompts: Bye\n")
    assert found.spec == LLMNodeSpec(name="chat", prompts={"system": "Bye"})
    assert found.edges == ()


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_overlays_are_applied_by_depth_of_folder_then_by_name_of_file(tmp_path):
    """The deeper one is the more special one, wherever the document itself is."""
    to_chat = "kind: Overlay\nto: LLMNode:chat\n"
    files = {
        "z/z/chat.yaml": CHAT,
        "b/deep.yaml": f"{to_chat}description: deep\n",
        "z_flat.yaml": f"{to_chat}description: z\nmodel: z\ntemperature: 2\n",
        "a_flat.yaml": f"{to_chat}description: a\nmodel: a\nmax_tokens: 7\n",
    }
    spec = next(load_specs(write(tmp_path, files)).of_kind("LLMNode")).spec
    assert (spec.description, spec.model, spec.temperature, spec.max_tokens) == ("deep", "z", 2, 7)


def test_a_file_named_after_a_language_holds_texts_in_it(tmp_path):
    """`langs/de.yaml` needs no language keys."""
    files = {
        "chat.yaml": "kind: LLMNode\nname: chat\n",
        "langs/en.yaml": "kind: Overlay\nto: LLMNode:chat\nprompts: {system: Hello}\n",
        "langs/de.yaml": "kind: Overlay\nto: LLMNode:chat\nprompts: {system: Hallo}\n",
        "langs/pt-BR.yaml": "kind: Overlay\nto: LLMNode:chat\nprompts: {system: Oi}\n",
    }
    write(tmp_path, files)
    greetings = {
        language: load_specs(tmp_path, language=language).items[0].spec.system
        for language in (None, "de", "pt-BR", "fr")
    }
    assert greetings == {None: "Hello", "de": "Hallo", "pt-BR": "Oi", "fr": "Hello"}


def test_a_problem_in_an_overlay_points_to_the_overlay(tmp_path):
    """The document is named, the place is where the mistake stands."""
    files = {
        "chat.yaml": CHAT,
        "more/warm.yaml": "kind: Overlay\nto: LLMNode:chat\ntemprature: 1\n",
    }
    write(tmp_path, files)
    errors = [str(p) for p in check_specs(tmp_path) if p.level == "error"]
    assert errors == [
        f"{tmp_path}/more/warm.yaml:3:1: LLMNode chat: unknown field 'temprature'; "
        "did you mean 'temperature'?"
    ]


@pytest.mark.parametrize(
    ("overlay", "error"),
    [
        (
            "to: LLMNode:Chat",
            "<specs[1]>:2:5: Overlay: there is no 'LLMNode:Chat' to change; did you mean "
            "'LLMNode:chat'?",
        ),
        (
            "to: ToolNode:chat",
            "<specs[1]>:2:5: Overlay: there is no 'ToolNode:chat' to change; did you mean "
            "'LLMNode:chat'?",
        ),
        (
            "to: chat",
            "<specs[1]>:2:5: Overlay: an overlay says in 'to' what it changes; write for example "
            "'to: LLMNode:chat'",
        ),
        (
            "prompts: x",
            "<specs[1]>:1:1: Overlay: an overlay says in 'to' what it changes; write for example "
            "'to: LLMNode:chat'",
        ),
        (
            "to: LLMNode:chat\nstrategy: add",
            "<specs[1]>:3:11: Overlay LLMNode/chat: strategy: 'merge' or 'replace' is expected, "
            "this is the text 'add'",
        ),
    ],
)
def test_overlays_that_cannot_be_applied(overlay, error):
    """Each with what to do."""
    problems = check_specs([CHAT, f"kind: Overlay\n{overlay}\n"])
    assert [str(p) for p in problems if p.level == "error"] == [error]
