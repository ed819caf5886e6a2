"""Which of an API's operations become tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from liman_nb.errors import UsageError
from liman_nb.specs.findings import did_you_mean
from liman_nb.tools.openapi.operations import METHODS, Raw


class Selection:
    """A list of operations as a caller writes it.

    Args:
        entries: operationIds or tools' names, ``tag:pets``, ``GET``, ``/pets/*`` or
            ``GET /pets/*``; ``*`` stands for any text.
        option: the argument that they come from, for errors.
    """

    def __init__(self, entries: str | Iterable[str], option: str) -> None:
        self._entries = [entries] if isinstance(entries, str) else list(entries)
        self._option = option

    def of(self, operations: Mapping[str, Raw]) -> set[str]:
        """The names of the operations that it lists.

        Args:
            operations: all there are, by the tool's name.

        Raises:
            UsageError: an entry stands for none of them.
        """
        chosen = set[str]()
        for entry in self._entries:
            found = {name for name, raw in operations.items() if _matches(entry, name, raw)}
            if not found:
                ids = [raw.operation_id for raw in operations.values()]
                hint = did_you_mean(entry, [*operations, *filter(None, ids)])
                more = f"; {hint}" if hint else ""
                raise UsageError(f"{self._option}: {entry!r} is no operation of the API{more}")
            chosen |= found
        return chosen


def _matches(entry: str, name: str, raw: Raw) -> bool:
    if entry in (name, raw.operation_id):
        return True
    if entry.startswith("tag:"):
        return entry.removeprefix("tag:").strip() in raw.tags
    method, _, path = entry.partition(" ")
    if method.startswith("/"):
        method, path = "", entry
    if method and method.lower() not in METHODS:
        return False
    fits_method = not method or method.upper() == raw.method
    return fits_method and (not path or fnmatchcase(raw.path, path.strip()))
