"""Where documents come from: folders, files, texts, mappings, and lists of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from liman_nb.errors import Place, SpecError
from liman_nb.specs import load_specs
from liman_nb.specs.findings import Findings
from liman_nb.specs.loading import MAX_BYTES, MAX_FILES, read_sources

CHAT = "kind: LLMNode\nname: chat\n"


def names(source) -> list[str]:
    """The names of all documents, in order."""
    return [d.spec.name for d in load_specs(source).items]


def problems(source) -> list[str]:
    """What is wrong with a source, as it is printed."""
    findings = Findings()
    read_sources(source, findings)
    return [str(problem) for problem in findings.problems]


def write(folder: Path, **files: str) -> Path:
    """Write files; a double underscore in a name is a slash."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_folder_is_read_with_all_its_folders_in_order(tmp_path):
    """`.yaml`, `.yml` and `.json`, sorted by path; other files are not specs."""
    for name in ("b.yaml", "a.yml", "sub/c.json", "sub/deeper/d.YAML"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"kind": "LLMNode", "name": "{path.stem}"}}', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no spec", encoding="utf-8")
    assert names(tmp_path) == ["a", "b", "c", "d"]
    assert names(str(tmp_path)) == ["a", "b", "c", "d"]


def test_hidden_folders_and_files_are_no_specs(tmp_path):
    """Jupyter's checkpoints and editors' swap files hold old copies."""
    hidden = (".ipynb_checkpoints/chat-checkpoint.yaml", ".git/x.yaml", ".chat.yaml")
    for name in (*hidden, "chat.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(CHAT, encoding="utf-8")
    assert names(tmp_path) == ["chat"]


def test_a_linked_folder_is_read_once_even_if_it_links_back(tmp_path):
    """Links are followed; a circle of links ends."""
    write(tmp_path, specs__chat_yaml=CHAT, shared__tool_yaml="kind: ToolNode\nname: tool\n")
    (tmp_path / "specs" / "shared").symlink_to(tmp_path / "shared")
    (tmp_path / "shared" / "back").symlink_to(tmp_path / "specs")
    assert sorted(names(tmp_path / "specs")) == ["chat", "tool"]


def test_places_name_files_as_they_were_given(tmp_path, monkeypatch):
    """A relative path stays relative."""
    write(tmp_path, specs__chat_yaml=f"# mine\n{CHAT}")
    monkeypatch.chdir(tmp_path)
    (document,) = load_specs("specs/").items
    assert document.tree.place == Place(str(Path("specs/chat.yaml")), 2, 1)


def test_one_file_with_several_documents(tmp_path):
    """As many as stand in it."""
    write(tmp_path, all_yaml=f"{CHAT}---\nkind: ToolNode\nname: tool\n")
    assert names(tmp_path / "all.yaml") == ["chat", "tool"]


def test_json_indented_with_tabs(tmp_path):
    """JSON allows tabs where YAML does not; places count them as one column."""
    path = tmp_path / "chat.json"
    path.write_text('{\n\t"kind": "LLMNode",\n\t"name": "chat"\n}', encoding="utf-8")
    (document,) = load_specs(path).items
    assert document.tree.at(("name",)).place == Place(str(path), 3, 10)


@pytest.mark.parametrize(
    "text", [CHAT, "{kind: LLMNode, name: chat}", '{"kind":"LLMNode","name":"chat"}', f"\n{CHAT}"]
)
def test_a_text_in_code(text):
    """YAML or JSON between quotes, as in a notebook's cell."""
    assert names(text) == ["chat"]
    assert load_specs(text).items[0].tree.place.file == "<specs>"


def test_a_mapping_and_a_list_of_everything(tmp_path):
    """Each part of a list is read by itself, and places say which one it was."""
    write(tmp_path, tool_yaml="kind: ToolNode\nname: tool\n")
    parts = [
        {"kind": "LLMNode", "name": "a"},
        "kind: Node\nname: b\n",
        tmp_path,
        str(tmp_path / "c"),
    ]
    write(tmp_path, c__d_yaml="kind: Node\nname: d\n")
    assert names(parts[:2]) == ["a", "b"]
    assert [d.tree.place.file for d in load_specs(parts[:2]).items] == ["<specs[0]>", "<specs[1]>"]
    assert sorted(names([parts[0], parts[1], parts[3]])) == ["a", "b", "d"]
    assert sorted(names(tuple(parts[:3]))) == ["a", "b", "d", "tool"]


def test_a_file_wins_over_a_text(tmp_path, monkeypatch):
    """A string that names something that exists is that file."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, chat=CHAT)
    assert names("chat") == ["chat"]


def test_loading_imports_and_runs_nothing(tmp_path, monkeypatch):
    """The modules that a spec names stay unread."""
    write(tmp_path, tools_py="raise AssertionError('imported')")
    (tmp_path / "tools_py").rename(tmp_path / "spec_named_tools.py")
    write(tmp_path, tool_yaml="kind: ToolNode\nname: t\nfunc: spec_named_tools.run\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names(tmp_path) == ["t"]
    assert "spec_named_tools" not in sys.modules


# ── what cannot be read ──────────────────────────────────────────────────────────────────────────


def test_a_path_that_does_not_exist_names_the_nearest_that_does(tmp_path):
    """A typing mistake in any part of the path."""
    write(tmp_path, specs__chat_yaml=CHAT)
    for wrong, near in (
        ("spec", "specs"),
        ("specs/chad.yaml", "chat.yaml"),
        ("spces/x/y", "specs"),
    ):
        path = tmp_path / wrong
        assert problems(str(path)) == [
            f"there is no file or folder {str(path)!r}; did you mean {near!r}?"
        ]


def test_a_text_that_is_neither_path_nor_yaml():
    """It is taken for a path, and the message says what a text would need."""
    assert problems("LLMNode") == [
        "there is no file or folder 'LLMNode'; a YAML text needs a line break or 'key: value'"
    ]


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_text(text):
    """Nothing in it."""
    assert problems(text) == ["<specs>: there is no document: it is empty, or only comments"]


def test_an_empty_list():
    """Nothing in it either."""
    assert problems([]) == ["the list of specs is empty"]


@pytest.mark.parametrize("source", [5, None, b"kind: LLMNode", {1, 2}])
def test_something_else_than_specs(source):
    """The type is named, and what there could be instead."""
    kind = type(source).__name__
    assert problems(source) == [
        f"<specs>: specs cannot be read from a {kind}; give a folder, a file, a YAML text, a "
        "mapping or a list of them"
    ]


def test_a_folder_without_specs(tmp_path):
    """Most likely the wrong folder."""
    assert problems(tmp_path) == [f"{tmp_path}: there is no .yaml, .yml, .json file in this folder"]


def test_a_folder_with_too_many_files(tmp_path, monkeypatch):
    """Such as a home folder: the search ends."""
    monkeypatch.setattr("liman_nb.specs.loading.MAX_FILES", 3)
    for number in range(4):
        write(tmp_path, **{f"n{number}_yaml": CHAT})
    assert problems(tmp_path) == [
        f"{tmp_path}: this holds more than 3 spec files, or 50,000 files in all; give the folder "
        "of the specs alone"
    ]
    assert MAX_FILES == 2_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is no document: it is empty, or only comments"),
        (b"name: \xff", "this is not UTF-8 text: byte 0xff at offset 6; save it as UTF-8"),
        (
            "kind: LLMNode".encode("utf-16"),
            "this is not UTF-8 text: byte 0xff at offset 0; save it as UTF-8",
        ),
        (b" " * (MAX_BYTES + 1), "the file has 4,000,001 bytes; at most 4,000,000 are read"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, content, message):
    """Each reason in one sentence."""
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    assert problems(tmp_path) == [f"{path}: {message}"]


def test_a_utf8_byte_order_mark(tmp_path):
    """It is passed over."""
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + CHAT.encode())
    assert names(path) == ["chat"]


def test_a_link_to_nothing_and_a_pipe(tmp_path):
    """Neither blocks, neither is passed over."""
    (tmp_path / "a.yaml").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "b.yaml")
    assert problems(tmp_path) == [
        f"{tmp_path / 'a.yaml'}: this cannot be read: no such file or directory",
        f"{tmp_path / 'b.yaml'}: this is not a regular file",
    ]


def test_what_a_mapping_cannot_hold():
    """Python objects, keys that are no text, and numbers that JSON does not have."""
    source = {
        "kind": "LLMNode",
        "name": "chat",
        "temperature": float("nan"),
        "tools": [{"a"}],
        "prompts": {1: "x", "\ud83d": "y"},
    }
    assert problems(source) == [
        "<specs>: LLMNode chat: temperature is nan, which JSON does not have",
        "<specs>: LLMNode chat: tools[0] is a Python set, which a spec cannot hold",
        "<specs>: LLMNode chat: prompts has the key 1, which is the number 1; keys are text",
        "<specs>: LLMNode chat: prompts has the key '\\ud83d', which is half of a surrogate pair; "
        "keys are text",
    ]


def test_a_mapping_that_contains_itself():
    """Once is enough to see it."""
    source: dict = {"kind": "LLMNode", "name": "chat"}
    source["prompts"] = source["yields"] = source
    assert problems(source) == [
        "<specs>: LLMNode chat: prompts contains itself",
        "<specs>: LLMNode chat: yields contains itself",
    ]


def test_a_mapping_that_is_too_deep_or_too_large():
    """Both are bounded, and said once."""
    deep: list = []
    for _ in range(100):
        deep = [deep]
    wide: list = [1] * 10
    for _ in range(20):
        wide = [wide] * 10
    (error,) = problems({"kind": "LLMNode", "name": "a", "tools": deep})
    assert error.endswith("[0][0] is nested deeper than 64 levels")
    (error,) = problems({"kind": "LLMNode", "name": "a", "tools": wide})
    assert error.endswith(" is the first of the values beyond 100,000, which are not read")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**100, "description has more than 100 digits"),
        ("\ud83d", "description holds half of a surrogate pair"),
    ],
)
def test_values_in_a_mapping_that_nothing_could_store(value, message):
    """Python has them; JSON text in UTF-8 has not."""
    source = {"kind": "LLMNode", "name": "a", "description": value}
    assert problems(source) == [f"<specs>: LLMNode a: {message}"]


def test_a_text_in_indented_code():
    """All its lines may be indented like the code around them, separators too."""
    text = """
        kind: LLMNode
        name: a
        ---
        kind: Node
        name: b
    """
    assert names(text) == ["a", "b"]


def test_all_errors_of_all_files_are_raised_together_by_file_and_line(tmp_path):
    """One round of corrections, not one for each mistake."""
    write(
        tmp_path,
        b_yaml="kind: LLMNode\nname: b\nfoo: 1\nbar: 2\n",
        a_yaml="kind: LLMNode\nname: [\n",
        c_yaml="kind: Tool\nname: c\n",
    )
    with pytest.raises(SpecError) as caught:
        load_specs(tmp_path)
    assert [(Path(p.place.file).name, p.place.line) for p in caught.value.problems] == [
        ("a.yaml", 3),
        ("b.yaml", 3),
        ("b.yaml", 4),
        ("c.yaml", 1),
    ]
    assert str(caught.value).startswith("4 errors in the specs:\n")
