"""From what a user gives as specs to the documents in it: folders, files, texts, mappings, lists.

Knows where documents come from, not what they say. Reads; imports and runs nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeAlias

from liman_nb.errors import Place
from liman_nb.specs.findings import Findings, did_you_mean
from liman_nb.specs.languages import is_language
from liman_nb.specs.located import Located, locate, path_text
from liman_nb.specs.source import MAX_CHARACTERS, read_text

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]
"""A folder, a file, a YAML or JSON text, a mapping, or a list of any of them."""

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 4 * MAX_CHARACTERS
"""Bytes of one file."""

MAX_FILES = 2_000
"""Spec files of one folder."""

MAX_ENTRIES = 50_000
"""Files of any sort looked at in one folder, so that a wrong folder is not searched for minutes."""

_IN_CODE = "<specs>"


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as it was written.

    Attributes:
        tree: its content.
        order: where it stands in the order of overlays: folder depth, source, file, position.
        language: the language its file is named after (``langs/de.yaml``); empty for none.
    """

    tree: Located
    order: tuple[int, int, str, int]
    language: str = ""


def read_sources(source: Source, findings: Findings) -> list[RawDocument]:
    """Every document of a source.

    Args:
        source: see :data:`Source`. A string is a text when it has a line break, a colon followed by
            a space or its end, or starts with a bracket, and no file has that name.
        findings: told of everything that cannot be read.
    """
    documents: list[RawDocument] = []
    parts = source if isinstance(source, list | tuple) else [source]
    if not parts:
        findings.error("the list of specs is empty")
    for number, part in enumerate(parts):
        name = _IN_CODE if len(parts) == 1 else f"<specs[{number}]>"
        documents.extend(_Reader(number, name, findings).read(part))
    return documents


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one part of the source.

    Attributes:
        number: its position in the list of sources.
        name: what places call it if it is no file.
        findings: where problems go.
    """

    number: int
    name: str
    findings: Findings

    def read(self, part: Any) -> Iterator[RawDocument]:
        if isinstance(part, Mapping):
            yield from self._mapping(part)
        elif isinstance(part, os.PathLike):
            yield from self._path(Path(part))
        elif isinstance(part, str):
            if not os.path.exists(part) and _looks_like_text(part):  # noqa: PTH110 - never raises
                yield from self._text(part)
            else:
                yield from self._path(Path(part))
        else:
            self.findings.error(
                f"specs cannot be read from a {type(part).__name__}",
                Place(self.name),
                hint="give a folder, a file, a YAML text, a mapping or a list of them",
            )

    def _mapping(self, part: Mapping[str, Any]) -> Iterator[RawDocument]:
        def report(path: Sequence[str | int], message: str) -> None:
            shown = path_text(path) or "the mapping"
            self.findings.error(f"{shown} {message}", Place(self.name), _subject_of(part))

        tree = locate(part, Place(self.name), report)
        yield RawDocument(tree, (0, self.number, "", 0))

    def _text(self, text: str) -> Iterator[RawDocument]:
        flush = dedent(text)  # specs in a notebook's cell are indented like the code around them
        for position, tree in enumerate(read_text(flush, self.name, self.findings)):
            yield RawDocument(tree, (0, self.number, "", position))

    def _path(self, path: Path) -> Iterator[RawDocument]:
        if path.is_dir():
            yield from self._folder(path)
        elif os.path.lexists(path):
            yield from self._file(path, path.name, depth=0)
        else:
            self.findings.error(
                f"there is no file or folder {str(path)!r}", hint=_nearest_path(path)
            )

    def _folder(self, folder: Path) -> Iterator[RawDocument]:
        found = self._spec_files(folder)
        if found is None:
            self.findings.error(
                f"this holds more than {MAX_FILES:,} spec files, or {MAX_ENTRIES:,} files in all",
                Place(str(folder)),
                hint="give the folder of the specs alone",
            )
        elif not found:
            self.findings.error(
                f"there is no {', '.join(SUFFIXES)} file in this folder", Place(str(folder))
            )
        for path in found or ():
            relative = path.relative_to(folder)
            yield from self._file(path, relative.as_posix(), depth=len(relative.parts) - 1)

    def _spec_files(self, folder: Path) -> list[Path] | None:
        """The spec files, sorted; ``None`` if there are too many."""
        found: list[Path] = []
        seen = 0
        been: set[str] = set()
        for parent, folders, files in os.walk(folder, onerror=self._unreadable, followlinks=True):
            been.add(os.path.realpath(parent))
            folders[:] = [
                f
                for f in folders
                if not f.startswith(".") and os.path.realpath(Path(parent, f)) not in been
            ]
            seen += len(files) + len(folders)
            found += [Path(parent, f) for f in files if _is_spec(f)]
            if len(found) > MAX_FILES or seen > MAX_ENTRIES:
                return None
        return sorted(found)

    def _file(self, path: Path, relative: str, depth: int) -> Iterator[RawDocument]:
        text = self._content(path)
        if text is None:
            return
        if path.suffix.lower() == ".json":
            text = text.replace("\t", " ")  # JSON may indent with tabs, YAML may not
        language = path.stem if is_language(path.stem) else ""
        for position, tree in enumerate(read_text(text, str(path), self.findings)):
            yield RawDocument(tree, (depth, self.number, relative, position), language)

    def _content(self, path: Path) -> str | None:
        place = Place(str(path))
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                self.findings.error("this is not a regular file", place)
            elif found.st_size > MAX_BYTES:
                self.findings.error(
                    f"the file has {found.st_size:,} bytes; at most {MAX_BYTES:,} are read", place
                )
            else:
                return path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            self._unreadable(error, place)
        except UnicodeDecodeError as error:
            self.findings.error(
                f"this is not UTF-8 text: byte 0x{error.object[error.start]:02x} at offset "
                f"{error.start}",
                place,
                hint="save it as UTF-8",
            )
        return None

    def _unreadable(self, error: OSError, place: Place | None = None) -> None:
        reason = (error.strerror or "unknown reason").lower()
        self.findings.error(
            f"this cannot be read: {reason}", place or Place(str(error.filename or self.name))
        )


def _is_spec(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and not name.startswith(".")


def _looks_like_text(source: str) -> bool:
    return (
        "\n" in source
        or source.lstrip().startswith(("{", "["))
        or re.search(r":(\s|$)", source) is not None
        or not source.strip()
    )


def _nearest_path(path: Path) -> str:
    """The existing name nearest to the first part of a path that does not exist."""
    missing = path
    while not missing.parent.exists() and missing.parent != missing:
        missing = missing.parent
    try:
        names = [p.name for p in sorted(missing.parent.iterdir())[:MAX_FILES]]
    except OSError:
        return ""
    hint = did_you_mean(missing.name, names)
    return hint or "a YAML text needs a line break or 'key: value'"


def _subject_of(part: Mapping[str, Any]) -> str:
    named = [part.get("kind"), part.get("name")]
    return " ".join(w for w in named if isinstance(w, str))
