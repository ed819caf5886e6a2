"""The package is built in layers, and importing it stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import liman_nb

PACKAGE = Path(liman_nb.__file__).parent

LAYERS = [
    {"errors", "per_loop"},
    {"specs"},
    {"state"},
    {"models"},
    {"tools"},
    {"engine"},
    {"views"},
    {"result", "settings", "variables", "parts", "workshop", "portal", "reception"},
    {"inspection", "readers", "copies", "agent"},
    {"demo", "cli", "__main__"},
]
"""From the lowest to the highest. `testing` stands beside them, for users' own test suites."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

HEAVY = {
    "openai": {"models"},
    "diskcache": {"state"},
    "redis": {"state"},
    "matplotlib": {"views"},
    "pygraphviz": {"views"},
    "networkx": {"specs", "views"},
    "lark": {"specs"},
    "xllamacpp": {"models"},
    "pandas": {"views"},
    "httpx": {"tools"},
    "httpx2": {"tools"},
    "langchain_core": set(),
    "mcp": {"tools"},
    "IPython": set(),
    "ipywidgets": set(),
    "pydantic_settings": {"variables"},
}
"""Libraries that have one home each."""


def files():
    """Every module of the package."""
    return [p for p in sorted(PACKAGE.rglob("*.py")) if "examples" not in p.parts]


def layer(path: Path) -> str:
    """The layer that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_every_file_belongs_to_a_layer():
    """A new file must find its place in the order."""
    assert {layer(p) for p in files()} - {"__init__", "testing"} == set(RANK)


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_imports_only_what_stands_below_it(path):
    """One direction of imports: low layers know nothing of high ones."""
    own = layer(path)
    if own in ("__init__", "testing"):
        return
    above = {
        name
        for name in imports(path)
        if name.startswith("liman_nb.") and RANK[name.split(".")[1]] > RANK[own]
    }
    assert not above


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_has_one_home(library):
    """It can be replaced by changing one layer."""
    users = {layer(p) for p in files() if any(n.split(".")[0] == library for n in imports(p))}
    assert users <= HEAVY[library]


def loaded_after(code: str) -> set[str]:
    """Which of the heavy libraries a new process has loaded after running code."""
    names = sorted(HEAVY)
    ask = f"import sys; print(*[n for n in {names} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ask}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_package_and_the_agent_loads_no_heavy_library():
    """Widgets, drawing, model clients and databases load when they are first used."""
    assert loaded_after("import liman_nb; liman_nb.Agent; liman_nb.ScriptedLLM") == set()


def test_the_public_names_are_those_that_exist():
    """`__all__` and `dir()` agree with what can be imported."""
    for name in liman_nb.__all__:
        assert getattr(liman_nb, name) is not None
    assert set(liman_nb.__all__) <= set(dir(liman_nb))
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        _ = liman_nb.Agnet


def test_the_map_in_the_readme_names_files_that_exist():
    """Every file that the README's map lists can be opened."""
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.partition("## Map")[2].splitlines() if line.startswith("| ")]
    listed = 0
    for row in rows:
        folder, _, names = row.strip("| ").partition("|")
        for name in names.split("`")[1::2]:
            base = PACKAGE / folder.strip(" `/") if folder.strip().startswith("`") else PACKAGE
            target = base / name.removesuffix(".py").rstrip("/")
            assert target.is_dir() or target.with_suffix(".py").is_file(), target
            listed += 1
    assert listed > 50
