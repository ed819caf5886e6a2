"""Where an error was raised, as the user would look it up."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from liman_nb.errors import ToolError
from liman_nb.specs.yields import parse_yields
from liman_nb.tools.calling import call_function
from liman_nb.tools.frames import user_frame


def raised(function: Callable[[], object]) -> Exception:
    """What a function raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any exception is fine
        function()
    return caught.value


def cell(file: str, source: str) -> Callable[[], object]:
    """A function `run` of a source that goes by a file name, as a notebook cell does."""
    names: dict[str, Callable[[], object]] = {}
    exec(compile(source, file, "exec"), names)  # noqa: S102 - a notebook does the same
    return names["run"]


CELL = "/tmp/ipykernel_123/456.py"  # noqa: S108 - a name, never a file


@pytest.mark.parametrize("file", ["<ipython-input-3-abc>", CELL, "<stdin>", "/home/ann/tools.py"])
def test_the_line_of_a_cell_or_file_is_named(file: str) -> None:
    """However IPython names its cells."""
    run = cell(file, "def run():\n    x = 1\n    raise ValueError(x)\n")
    assert user_frame(raised(run)) == f"{file}:3"


def test_libraries_are_passed_over() -> None:
    """An error raised in the standard library, a package or here points to the user's call."""
    for line in ("json.loads('x')", "TypeAdapter(int).validate_python('x')", "parse_yields({}, 3)"):
        run = cell("<cell>", f"def run():\n    return {line}\n")
        run.__globals__.update(json=json, TypeAdapter=TypeAdapter, parse_yields=parse_yields)  # type: ignore[attr-defined]  # a function
        assert user_frame(raised(run)) == "<cell>:2"


def test_the_innermost_line_is_named() -> None:
    """Not the call that led there."""
    inner = cell("<inner>", "def run():\n    raise ValueError\n")
    outer = cell("<outer>", "def run():\n    inner()\n")
    outer.__globals__["inner"] = inner  # type: ignore[attr-defined]  # a function
    assert user_frame(raised(outer)) == "<inner>:2"


async def test_a_line_within_a_thread_is_named() -> None:
    """A sync tool's traceback comes with it, also from an error that only wraps its own."""
    run = cell("<cell>", "def run():\n    raise SystemExit(1)\n")
    (error,) = await asyncio.gather(call_function(run, {}), return_exceptions=True)
    assert isinstance(error, ToolError)
    assert user_frame(error) == "<cell>:2"


def test_a_file_below_the_working_directory_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shorter to read, and no private path is stored."""
    file = tmp_path / "tools" / "weather.py"
    error = raised(cell(str(file), "def run():\n    raise ValueError\n"))
    assert user_frame(error) == f"{file}:2"
    monkeypatch.chdir(tmp_path)
    assert user_frame(error) == f"{Path('tools/weather.py')}:2"


def test_without_a_users_frame_the_place_is_unknown() -> None:
    """An exception that was never raised, or only in libraries."""
    assert user_frame(ValueError("never raised")) == ""
    error = raised(lambda: json.loads("x"))
    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
    while error.__traceback__ and "json" not in error.__traceback__.tb_frame.f_code.co_filename:
        error.__traceback__ = error.__traceback__.tb_next
    assert user_frame(error) == ""


def test_a_circle_of_causes_ends() -> None:
    """Exceptions can be made to cause each other."""
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert user_frame(first) == ""


def test_a_working_directory_that_is_gone_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saying where an error was must not raise another."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    error = raised(cell("/home/ann/tools.py", "def run():\n    raise ValueError\n"))
    assert user_frame(error) == "/home/ann/tools.py:2"
    os.chdir(tmp_path)
