"""Problems found while specs are read, collected so that all of them are reported together.

Says nothing about what is a problem: the files that read and check specs do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

from liman_nb.errors import Place, Problem, SpecError


class Findings:
    """The problems of one reading, in the order of files and lines.

    Args:
        strict: whether :meth:`refuse` finds errors; otherwise it finds warnings.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self._problems: list[Problem] = []

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, by file, line and column; those without a place last."""
        return tuple(sorted(self._problems, key=_position))

    @property
    def has_errors(self) -> bool:
        """Whether anything found stops loading."""
        return any(p.level == "error" for p in self._problems)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Those that do not stop loading."""
        return tuple(p for p in self.problems if p.level == "warning")

    def error(
        self, message: str, place: Place | None = None, subject: str = "", hint: str = ""
    ) -> None:
        """Something that cannot be read in any way."""
        self.add(Problem(message, place, subject, hint))

    def refuse(
        self, message: str, place: Place | None = None, subject: str = "", hint: str = ""
    ) -> None:
        """Something that can be left out: an error, or a warning when not strict."""
        self.add(Problem(message, place, subject, hint), lenient=True)

    def warn(
        self, message: str, place: Place | None = None, subject: str = "", hint: str = ""
    ) -> None:
        """Something that loads and is probably not meant."""
        self.add(Problem(message, place, subject, hint, level="warning"))

    def add(self, problem: Problem, *, lenient: bool = False) -> None:
        """Add a problem that exists already.

        Args:
            problem: what was found.
            lenient: whether it is only a warning when not strict.
        """
        if lenient and not self.strict:
            problem = replace(problem, level="warning")
        if problem not in self._problems:
            self._problems.append(problem)

    def raise_errors(self) -> None:
        """Raise what was found, if any of it is an error.

        Raises:
            SpecError: with every error.
        """
        errors = [p for p in self.problems if p.level == "error"]
        if errors:
            raise SpecError(errors)


def _position(problem: Problem) -> tuple[bool, str, int, int]:
    place = problem.place or Place("")
    return problem.place is None, place.file, place.line, place.column


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word nearest to a wrong one; empty when none is near."""
    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[near[0]]!r}?" if near else ""


def listed(words: Iterable[str]) -> str:
    """Words in quotes, separated by commas; ``none`` when there are none."""
    return ", ".join(repr(w) for w in words) or "none"
