"""From a name in a spec to a function, by a rule that lets a spec name no code it should not.

A name is a function that was passed in Python, or a dotted path to a function that a module of
``allow_imports`` itself defines. Modules are imported here, when a function is first needed, and
nowhere else.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from liman_nb.errors import Place, Problem, SpecError, UsageError
from liman_nb.specs.findings import did_you_mean
from liman_nb.tools.calling import function_name

Function = Callable[..., Any]

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


class Resolver:
    """Finds the functions that specs name.

    Args:
        functions: those passed in Python. A mapping's key is a name of its own; in either form a
            function is also known by its ``__name__`` and as ``module.qualname``.
        allow_imports: modules (``my_tools``, ``my_tools.weather``) whose own functions specs may
            name. A package does not stand for its submodules.

    Raises:
        UsageError: something passed is not a function.
    """

    def __init__(
        self,
        functions: Mapping[str, Function] | Iterable[Function] = (),
        allow_imports: Iterable[str] = (),
    ) -> None:
        if isinstance(allow_imports, str):
            allow_imports = (allow_imports,)
        self._allowed = tuple(allow_imports)
        self._supplied = _by_name(functions)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that needs no import."""
        return tuple(self._supplied)

    def refusal(self, name: str) -> str:
        """Why a name can be no function, as far as that is known without importing anything.

        Returns:
            Empty when it may be one.
        """
        if name in self._supplied:
            return ""
        module = name.rpartition(".")[0]
        if _PATH.fullmatch(name) and module in self._allowed:
            return ""
        if not _PATH.fullmatch(name):
            return f"no function {name!r} was passed in tools= or functions="
        return f"{name!r} was not passed in functions=, and {module!r} is not in allow_imports"

    def resolve(self, name: str, place: Place | None = None) -> Function:
        """The function of a name; its module is imported when it is not one that was passed.

        Args:
            name: as the spec says it.
            place: where it says it, for the error.

        Raises:
            SpecError: no such function, a module that is not allowed or fails on import, or
                something else than a function that the module itself defines.
        """
        if functions := self._supplied.get(name):
            if len(functions) > 1:
                homes = ", ".join(_home(f) or repr(f) for f in functions)
                raise _problem(f"{name!r} may be any of {homes}", place, "write the whole path")
            return functions[0]
        if reason := self.refusal(name):
            raise _problem(reason, place, self._hint(name))
        return _imported(name, place)

    def _hint(self, name: str) -> str:
        hint = did_you_mean(name, self._supplied)
        return hint or "pass the function, or the module's name, to the Agent"


def _by_name(functions: Mapping[str, Function] | Iterable[Function]) -> dict[str, list[Function]]:
    """Functions by each of their names; a mapping's key belongs to its function alone."""
    keyed = functions if isinstance(functions, Mapping) else {}
    found: dict[str, list[Function]] = {}
    for function in keyed.values() if keyed else functions:
        if not callable(function) or inspect.isclass(function):
            raise UsageError(f"functions= and tools= take functions, not {function!r:.80}")
        for name in {function_name(function), _home(function)} - {""}:
            if function not in found.setdefault(name, []):
                found[name].append(function)
    return {**found, **{key: [function] for key, function in keyed.items()}}


def _home(function: Function) -> str:
    """Where a function is defined, as ``module.qualname``; empty for a partial or an object."""
    qualname = getattr(function, "__qualname__", "")
    return f"{getattr(function, '__module__', None)}.{qualname}" if qualname else ""


def _imported(name: str, place: Place | None) -> Function:
    module_name, _, attribute = name.rpartition(".")
    members = vars(_module(module_name, place))
    if attribute not in members:
        functions = [n for n, value in members.items() if inspect.isroutine(value)]
        hint = did_you_mean(attribute, functions)
        raise _problem(f"the module {module_name!r} has no {attribute!r}", place, hint)
    function = members[attribute]
    if not callable(function) or isinstance(function, type | ModuleType):
        kind = type(function).__name__
        raise _problem(f"{name!r} is a {kind}, not a function", place)
    home = getattr(function, "__module__", None)
    if home != module_name:
        what = f"{name!r} is not {module_name}'s own: it is defined in {home!r}"
        hint = "name it there, or define a function that calls it (a decorator needs wraps)"
        raise _problem(what, place, hint)
    return function  # type: ignore[no-any-return]  # callable, as was checked


def _module(name: str, place: Place | None) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as exc:
        what = f"importing {name!r} failed: {type(exc).__name__}: {exc}"
        raise _problem(what, place) from exc


def _problem(message: str, place: Place | None, hint: str = "") -> SpecError:
    return SpecError([Problem(message, place, hint=hint)])
