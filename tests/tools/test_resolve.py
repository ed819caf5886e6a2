"""Which function a name in a spec means, and which code a spec cannot reach."""

from __future__ import annotations

import functools
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from liman_nb.errors import Place, SpecError, UsageError
from liman_nb.tools.resolve import Resolver


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


class Station:
    """Measures."""

    def measure(self) -> int:
        """Measure."""
        return 21


MODULES = {
    "my_tools/__init__.py": """
        import functools
        import os
        from os import system
        from my_tools.deep import dig

        imported = True

        def weather(city):
            return f"rain in {city}"

        def noisy(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs).upper()
            return wrapper

        def unnamed(function):
            return functools.partial(function)

        @noisy
        def shout(text):
            return text

        @functools.cache
        def cached():
            return "once"

        bound = unnamed(weather)

        class Machine:
            def __call__(self):
                return "whirr"

            def method(self):
                return "clank"

        machine = Machine()
        print = print
    """,
    "my_tools/deep.py": """
        def dig():
            return "deep"
    """,
    "broken_tools.py": """
        raise RuntimeError("no database")
    """,
    "exiting_tools.py": """
        raise SystemExit(3)
    """,
    "untouched_tools.py": """
        raise AssertionError("imported without need")
    """,
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of the user's that can be imported."""
    for name, text in MODULES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [n for n in sys.modules if n.partition(".")[0].endswith("_tools")]:
        del sys.modules[name]


def refused(resolver: Resolver, name: str) -> str:
    """Why a name is no function."""
    with pytest.raises(SpecError) as caught:
        resolver.resolve(name)
    return str(caught.value)


# ── functions that were passed ───────────────────────────────────────────────────────────────────


def test_a_passed_function_goes_by_its_name_and_its_path() -> None:
    """`weather` and `module.weather`, without any import allowed."""
    resolver = Resolver([weather, Station().measure])
    assert resolver.resolve("weather") is weather
    assert resolver.resolve(f"{__name__}.weather") is weather
    assert resolver.resolve("measure")() == 21
    assert set(resolver.names) >= {"weather", f"{__name__}.weather", "measure"}


def test_a_passed_function_goes_by_its_key_too() -> None:
    """The key of a mapping is a name as good as any, with dots or without."""
    resolver = Resolver({"forecast": weather, "any.path": functools.partial(round, 4.2)})
    assert resolver.resolve("forecast") is weather
    assert resolver.resolve("any.path")() == 4
    assert resolver.resolve("weather")("Bonn") == "sunny in Bonn"


def test_a_key_wins_over_a_name() -> None:
    """What the caller called `weather` is `weather`."""

    def other() -> None:
        """Do something else."""

    assert Resolver({"a": weather, "weather": other}).resolve("weather") is other


def test_two_functions_of_one_name_need_their_paths() -> None:
    """No silent choice; the whole path tells them apart."""
    first = weather

    def make() -> object:
        def weather() -> None:
            """Be another one."""

        return weather

    resolver = Resolver([first, make()])  # type: ignore[list-item]  # an object to mypy
    assert "'weather' may be any of" in refused(resolver, "weather")
    assert "write the whole path" in refused(resolver, "weather")
    assert resolver.resolve(f"{__name__}.weather") is first


def test_only_functions_can_be_passed() -> None:
    """A class or a value is a mistake, found at once."""
    for wrong in (Station, "weather", 3):
        with pytest.raises(UsageError, match="take functions, not"):
            Resolver([wrong])  # type: ignore[list-item]  # what is tested


# ── functions that are imported ──────────────────────────────────────────────────────────────────


def test_a_function_of_an_allowed_module_is_imported_when_it_is_needed() -> None:
    """Not when the resolver is made, and not when a name is merely checked."""
    resolver = Resolver((), ["my_tools", "untouched_tools"])
    assert resolver.refusal("my_tools.weather") == ""
    assert resolver.refusal("untouched_tools.run") == ""
    assert "my_tools" not in sys.modules
    assert resolver.resolve("my_tools.weather")("Rome") == "rain in Rome"
    assert "untouched_tools" not in sys.modules


def test_decorated_functions_and_callable_objects_are_the_modules_own() -> None:
    """`functools.wraps` keeps a function's module; an object belongs to its class's."""
    resolver = Resolver((), ["my_tools"])
    assert resolver.resolve("my_tools.shout")("hi") == "HI"
    assert resolver.resolve("my_tools.cached")() == "once"
    assert resolver.resolve("my_tools.machine")() == "whirr"


def test_one_module_may_be_allowed_as_a_text() -> None:
    """`allow_imports="my_tools"` is that module, not eight letters."""
    assert Resolver((), "my_tools").resolve("my_tools.weather")("Rome") == "rain in Rome"


def test_a_passed_function_wins_over_an_import() -> None:
    """A test can put a fake in a module's place."""
    resolver = Resolver({"my_tools.weather": weather}, ["my_tools"])
    assert resolver.resolve("my_tools.weather") is weather
    assert "my_tools" not in sys.modules


REFUSED = [
    ("my_tools.os.system",
     "'my_tools.os.system' was not passed in functions=, and 'my_tools.os' is not in allow_"),
    ("my_tools.Machine.method", "'my_tools.Machine' is not in allow_imports"),
    ("my_tools.system", "'my_tools.system' is not my_tools's own: it is defined in 'posix'"),
    ("my_tools.print", "'my_tools.print' is not my_tools's own: it is defined in 'builtins'"),
    ("my_tools.dig", "'my_tools.dig' is not my_tools's own: it is defined in 'my_tools.deep'; "
     "name it there"),
    ("my_tools.bound", "'my_tools.bound' is not my_tools's own: it is defined in 'functools'; "
     "name it there, or define a function that calls it (a decorator needs wraps)"),
    ("my_tools.Machine", "'my_tools.Machine' is a type, not a function"),
    ("my_tools.os", "'my_tools.os' is a module, not a function"),
    ("my_tools.imported", "'my_tools.imported' is a bool, not a function"),
    ("my_tools.__builtins__", "'my_tools.__builtins__' is a dict, not a function"),
    ("my_tools.wether", "the module 'my_tools' has no 'wether'; did you mean 'weather'?"),
    ("my_tools.deep.dig", "'my_tools.deep' is not in allow_imports"),
    ("os.system", "'os' is not in allow_imports"),
    ("__main__.get_ipython", "'__main__' is not in allow_imports"),
    ("builtins.eval", "'builtins' is not in allow_imports"),
    ("weather", "no function 'weather' was passed in tools= or functions=; pass the function, or "
     "the module's name, to the Agent"),
    ("my_tools.", "no function 'my_tools.' was passed"),
    ("my tools.weather", "no function 'my tools.weather' was passed"),
    ("", "no function '' was passed"),
    ("broken_tools.run", "importing 'broken_tools' failed: RuntimeError: no database"),
    ("exiting_tools.run", "importing 'exiting_tools' failed: SystemExit: 3"),
    ("missing_tools.run", "importing 'missing_tools' failed: ModuleNotFoundError: No module named"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reason"), REFUSED, ids=[name for name, _ in REFUSED])
def test_what_a_spec_cannot_reach(name: str, reason: str) -> None:
    """No attribute hops, no re-exports, no classes, no module that is not allowed."""
    allowed = ["my_tools", "broken_tools", "exiting_tools", "missing_tools"]
    assert reason in refused(Resolver((), allowed), name)


def test_what_a_notebook_imported_is_not_the_notebooks_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even with `__main__` allowed, only what a cell defines is reached."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "get_ipython", Station().measure, raising=False)
    assert "is not __main__'s own" in refused(Resolver((), ["__main__"]), "__main__.get_ipython")


def test_a_name_that_is_not_allowed_imports_nothing() -> None:
    """Refused before the module is touched."""
    refused(Resolver((), ["my_tools"]), "untouched_tools.run")
    assert "untouched_tools" not in sys.modules


def test_the_error_says_where_the_name_stands_and_what_is_near() -> None:
    """The place in the spec, and the nearest name that was passed."""
    with pytest.raises(SpecError) as caught:
        Resolver([weather]).resolve("waether", Place("specs/tool.yaml", 3, 7))
    assert str(caught.value) == (
        "specs/tool.yaml:3:7: no function 'waether' was passed in tools= or functions=; "
        "did you mean 'weather'?"
    )


def test_a_failing_import_keeps_its_exception() -> None:
    """The traceback of the user's module is the cause."""
    with pytest.raises(SpecError) as caught:
        Resolver((), ["broken_tools"]).resolve("broken_tools.run")
    assert isinstance(caught.value.__cause__, RuntimeError)
