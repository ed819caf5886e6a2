"""Where in the user's own code an exception was raised."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")
_INSTALLED = {"site-packages", "dist-packages"}


def user_frame(exc: BaseException) -> str:
    """``file:line`` of the innermost frame of an exception that is the user's code.

    Not the user's: this package, the standard library and installed packages. A file below the
    working directory is named relative to it; a notebook cell as IPython names it. When the
    exception itself has no such frame, the one that caused it is asked.

    Returns:
        Empty when there is none.
    """
    for link in _chain(exc):
        for frame, line in reversed(list(traceback.walk_tb(link.__traceback__))):
            if _is_users(frame.f_code.co_filename):
                return f"{_shown(frame.f_code.co_filename)}:{line}"
    return ""


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """An exception and what caused it."""
    seen: set[int] = set()
    link: BaseException | None = exc
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _is_users(file: str) -> bool:
    if file.startswith("<frozen "):
        return False
    path = Path(file)
    foreign = (_PACKAGE, *(Path(sysconfig.get_path(name)) for name in _LIBRARIES))
    return _INSTALLED.isdisjoint(path.parts) and not any(map(path.is_relative_to, foreign))


def _shown(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, no file, or no working directory any more
        return file
