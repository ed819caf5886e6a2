"""The functions that Python files define, for specs that name them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

from liman_nb.errors import UsageError


def functions_in(files: Iterable[Path] | None, option: str) -> list[Callable[..., Any]]:
    """The public functions that files define. The user named the files: they are run.

    Args:
        files: Python files, each run once however often it is named.
        option: the option that names them, for errors.

    Raises:
        UsageError: a file that is none, that fails, or whose name is another module's.
    """
    return [function for file in files or () for function in _functions_of(_loaded(file, option))]


def _functions_of(module: ModuleType) -> list[Callable[..., Any]]:
    return [
        member
        for name, member in vars(module).items()
        if inspect.isfunction(member)
        and member.__module__ == module.__name__
        and not name.startswith("_")
    ]


def _loaded(file: Path, option: str) -> ModuleType:
    """A file as the module of its name, so that specs may say `name.function`, too."""
    path = file.resolve()
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"{option} {file}: there is no such Python file")
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None or path.stem in sys.stdlib_module_names:
        raise UsageError(
            f"{option} {file}: {path.stem!r} is another module's name; rename the file"
        )
    return _run(path, f"{option} {file}")


def _run(path: Path, shown: str) -> ModuleType:
    spec = util.spec_from_file_location(path.stem, path)
    assert spec is not None, "a suffix that Python knows"
    assert spec.loader is not None, "a file has a loader"
    module = util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.append(str(path.parent))  # for what the file imports from beside it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[path.stem]
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{shown} cannot be run: {what}{_line(error, path)}") from error
    return module


def _line(error: BaseException, path: Path) -> str:
    """The last line of the file that an error went through, when it went through one."""
    traceback, line = error.__traceback__, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return f" (line {line})" if line else ""
