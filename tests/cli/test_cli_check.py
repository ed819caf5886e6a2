"""`liman-nb check`: every error and warning, and an exit status for scripts."""

from __future__ import annotations

import pytest

CHAT = "kind: LLMNode\nname: chat\n"


@pytest.mark.parametrize(
    ("folder", "functions"),
    [
        ("hello", None),
        ("weather", "weather_tools.py"),
        ("triage", "desk.py"),
        ("solver_checker", None),
    ],
)
def test_the_example_specs_have_nothing_wrong(run, examples, folder, functions):
    """A clean folder is said to be clean, and the status is 0."""
    options = ["--functions", examples / folder / functions] if functions else []
    done = run("check", examples / folder, *options)
    assert (done.status, done.out, done.err) == (0, "no errors, no warnings\n", "")


def test_every_error_is_listed_with_its_place(run, tmp_path):
    """Several files, several errors, one line each; the status is 1."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.yaml").write_text(f"{CHAT}tools: [wether]\n")
    (tmp_path / "specs" / "b.yaml").write_text("kind: FunctionNode\nname: b\nfun: f\n")
    (tmp_path / "specs" / "c.yaml").write_text("kind: LLMNod\nname: c\n")
    done = run("check", "specs")
    assert done.status == 1
    assert done.out.splitlines() == [
        "error: specs/a.yaml:3:9: LLMNode chat: tools: there is no tool 'wether'; declare a"
        " ToolNode, or pass tools=[a function]",
        "error: specs/b.yaml:3:1: FunctionNode b: unknown field 'fun'; did you mean 'func'?",
        "error: specs/c.yaml:1:7: unknown kind 'LLMNod'; did you mean 'LLMNode'?",
        "3 errors, no warnings",
    ]
    assert done.err == ""


def test_a_condition_that_does_not_parse_comes_with_its_caret(run, tmp_path):
    """The condition stands below its error, with a caret under the column."""
    (tmp_path / "a.yaml").write_text(f"{CHAT}edges:\n  - {{target: chat, when: a >> 1}}\n")
    done = run("check", "a.yaml")
    lines = done.out.splitlines()
    assert lines[0].startswith("error: a.yaml:4:26: LLMNode chat: ")
    assert lines[1:] == ["  a >> 1", "     ^", "1 error, no warnings"]


def test_warnings_leave_the_status_at_0(run, tmp_path):
    """A script goes on after warnings."""
    (tmp_path / "a.yaml").write_text(f"{CHAT}---\nkind: FunctionNode\nname: b\n")
    done = run("check", "a.yaml")
    assert done.status == 0
    assert done.out.splitlines() == [
        "warning: a.yaml:4:1: FunctionNode b: no way leads here from 'chat', where a turn starts",
        "no errors, 1 warning",
    ]


def test_functions_of_a_file_are_known(run, tmp_path):
    """A condition that is a function's name is an unknown name without the function."""
    (tmp_path / "a.yaml").write_text(f"{CHAT}edges:\n  - {{target: chat, when: is_late}}\n")
    (tmp_path / "rules.py").write_text("def is_late(view):\n    return False\n")
    assert "'is_late'" in run("check", "a.yaml").out
    done = run("check", "a.yaml", "--functions", "rules.py")
    assert (done.status, done.out) == (0, "no errors, no warnings\n")


def test_tools_of_a_file_are_known(run, tmp_path):
    """An LLM node may list a function that no ToolNode declares."""
    (tmp_path / "a.yaml").write_text(f"{CHAT}tools: [now]\n")
    (tmp_path / "clock.py").write_text("def now(zone: str) -> str:\n    '''The time.'''\n")
    assert run("check", "a.yaml").status == 1
    done = run("check", "a.yaml", "--tools", "clock.py")
    assert (done.status, done.out) == (0, "no errors, no warnings\n")


def test_a_language_is_checked_as_an_agent_of_that_language_reads_it(run, examples):
    """A language that is none is refused; one that a folder has is read."""
    desk = ("check", examples / "triage", "--functions", examples / "triage" / "desk.py")
    assert run(*desk, "--language", "de").out == "no errors, no warnings\n"
    done = run(*desk, "--language", "german!")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert "'german!'" in done.err


def test_a_folder_that_is_not_there(run):
    """The path is named."""
    done = run("check", "nowhere")
    assert done.status == 1
    first, last = done.out.splitlines()
    assert first.startswith("error: there is no file or folder 'nowhere'")
    assert last == "1 error, no warnings"


def test_a_folder_without_specs(run, tmp_path):
    """An empty folder is an error: it is hardly what was meant."""
    (tmp_path / "empty").mkdir()
    done = run("check", "empty")
    assert done.status == 1
    assert done.out.startswith("error: empty: there is no .yaml")
