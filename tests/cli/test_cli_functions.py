"""`--functions` and `--tools`: Python files whose functions specs may name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from liman_nb.cli.functions import functions_in
from liman_nb.errors import UsageError


def names(*files: str) -> list[str]:
    """Names of the functions that files define."""
    return [f.__name__ for f in functions_in([Path(file) for file in files], "--functions")]


def test_what_a_file_defines_in_its_own_order(tmp_path):
    """Imported and private functions, classes and values are not the file's functions."""
    (tmp_path / "mine.py").write_text(
        "from json import dumps\n"
        "from dataclasses import dataclass\n"
        "async def second(): ...\n"
        "def first(): ...\n"
        "def _helper(): ...\n"
        "class Thing:\n    def method(self): ...\n"
        "number = 1\n"
    )
    assert names("mine.py") == ["second", "first"]
    assert functions_in(None, "--functions") == []


def test_a_file_is_run_once_however_often_it_is_named(tmp_path):
    """The same file for functions and tools gives the same functions."""
    (tmp_path / "once.py").write_text("def f(): ...\n")
    (given,) = functions_in([Path("once.py")], "--functions")
    (again,) = functions_in([tmp_path / "once.py"], "--tools")
    assert given is again


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    """As a script may."""
    (tmp_path / "beside_it.py").write_text("ANSWER = 42\n")
    (tmp_path / "importing.py").write_text("from beside_it import ANSWER\ndef f(): return ANSWER\n")
    (function,) = functions_in([Path("importing.py")], "--functions")
    assert function() == 42


def test_a_dataclass_with_annotations_as_text(tmp_path):
    """The module is known by its name while it runs, which dataclasses need."""
    (tmp_path / "shapes_of_mine.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Shape:\n    sides: int\n"
        "def square(): return Shape(4)\n"
    )
    (function,) = functions_in([Path("shapes_of_mine.py")], "--functions")
    assert function().sides == 4


@pytest.mark.parametrize("name", ["missing.py", "folder.py", "notes.txt"])
def test_what_is_no_python_file(tmp_path, name):
    """A missing file, a folder, another suffix."""
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match=f"^--functions {name}: there is no such Python file$"):
        names(name)


@pytest.mark.parametrize("name", ["json", "csv", "yaml"])
def test_a_name_that_another_module_has(tmp_path, name):
    """A file never takes the place of a module that others import."""
    (tmp_path / f"{name}.py").write_text("def f(): ...\n")
    before = sys.modules.get(name)
    with pytest.raises(UsageError, match=f"'{name}' is another module's name; rename the file"):
        names(f"{name}.py")
    assert sys.modules.get(name) is before


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\nraise ValueError('no')\n", r"ValueError: no \(line 2\)"),
        ("def f():\n    g()\n\nf()\n", r"NameError: name 'g' is not defined \(line 2\)"),
        ("import nothing_of_that_name\n", r"ModuleNotFoundError: No module named .* \(line 1\)"),
        ("def f(:\n", r"SyntaxError: .*broken.py, line 1\)"),
        ("raise SystemExit(3)\n", r"SystemExit: 3 \(line 1\)"),
    ],
)
def test_a_file_that_fails(tmp_path, code, said):
    """One sentence: the file, the error and the line in the file; nothing half-run stays behind."""
    (tmp_path / "broken.py").write_text(code)
    with pytest.raises(UsageError, match=f"^--functions broken.py cannot be run: {said}$"):
        names("broken.py")
    assert "broken" not in sys.modules


def test_the_command_says_it_in_one_line(run, examples):
    """Whichever command takes the option."""
    for command in (["check"], ["graph"], ["ask", "--model", "m"]):
        arguments = [examples / "hello", *(["hi"] if command[0] == "ask" else [])]
        done = run(*command, *arguments, "--functions", "none.py")
        assert (done.status, done.out) == (1, "")
        assert done.err == "error: --functions none.py: there is no such Python file\n"
