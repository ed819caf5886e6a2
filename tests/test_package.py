"""What is installed: the package's metadata, its files and what it needs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import liman_nb

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "liman_nb"

CORE = {
    # the widgets, the drawing and the graphs
    "ipywidgets": "ipywidgets",
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "pygraphviz": "pygraphviz",
    # the specs
    "pydantic": "pydantic",
    "pyyaml": "yaml",
    "lark": "lark",
    "docstring-parser": "docstring_parser",
    # storage, models, views and the command line
    "diskcache": "diskcache",
    "filelock": "filelock",
    "openai": "openai",
    "httpx": "httpx",
    "tenacity": "tenacity",
    "platformdirs": "platformdirs",
    "markupsafe": "markupsafe",
    "jsonschema": "jsonschema",
    "referencing": "referencing",
    "pydantic-settings": "pydantic_settings",
    "typer": "typer",
    "rich": "rich",
}
"""Each dependency, and the name that it is imported by."""

BESIDE_CORE = {
    "xllamacpp": "the extra `local`",
    "redis": "the extra `redis`",
    "pandas": "for who has it: `to_pandas()` says so where it is not",
    "mcp": "the extra `mcp`",
    "httpx2": "the extra `mcp`",
    "IPython": "a notebook's kernel has it",
    "pydantic_core": "a part of pydantic, which has its error classes",
    "pytest": "only in `liman_nb.testing`, for users' own test suites",
}
"""What else is imported, and why it is there."""


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: list[str]) -> list[str]:
    """Names of the packages that are required."""
    return [re.split(r"[^A-Za-z0-9_-]", text, maxsplit=1)[0].lower() for text in requirements]


# ── metadata ─────────────────────────────────────────────────────────────────────────────────────


def test_the_version_is_the_same_everywhere(written):
    """In the code, in pyproject.toml and as installed."""
    assert liman_nb.__version__ == written["project"]["version"] == metadata.version("liman_nb")


def test_what_an_index_shows(written):
    """Licence, supported versions of Python, and that the package is typed."""
    project = written["project"]
    assert project["license"] == "MIT"
    assert [(ROOT / name).is_file() for name in project["license-files"]] == [True]
    assert (ROOT / project["readme"]).is_file()
    assert project["requires-python"] == ">=3.11"
    versions = {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)}
    assert versions | {"Typing :: Typed", "Framework :: Jupyter"} <= set(project["classifiers"])
    assert not [c for c in project["classifiers"] if c.startswith("License ::")]


def test_the_command_is_installed():
    """`liman-nb` calls the command line's entry point."""
    (command,) = metadata.entry_points(group="console_scripts", name="liman-nb")
    assert command.load() is liman_nb.cli.main


# ── what it needs ────────────────────────────────────────────────────────────────────────────────


def test_the_core_dependencies(written):
    """Those and no others, each with the version that it needs at least."""
    requirements = written["project"]["dependencies"]
    assert sorted(names(requirements)) == sorted(CORE)
    assert all(">=" in text for text in requirements)


def test_pygraphviz_is_required_only_where_it_need_not_be_compiled(written):
    """Elsewhere the graph is laid out without it."""
    (text,) = [t for t in written["project"]["dependencies"] if t.startswith("pygraphviz")]
    assert set(re.findall(r"sys_platform == '(\w+)'", text)) == {"linux", "win32", "darwin"}


def test_the_extras(written):
    """Each for one purpose; `dev` is everything that the checks need."""
    extras = written["project"]["optional-dependencies"]
    assert names(extras["lab"]) == ["jupyterlab"]
    assert names(extras["local"]) == ["xllamacpp"]
    assert names(extras["redis"]) == ["redis"]
    assert names(extras["langchain"]) == ["langchain-core"]
    assert names(extras["mcp"]) == ["mcp", "httpx2"]
    assert {"pytest", "pytest-asyncio", "hypothesis", "nbval"} <= set(names(extras["test"]))
    assert extras["dev"][0] == "liman_nb[lab,langchain,local,mcp,redis,test]"
    assert {"ruff", "mypy"} <= set(names(extras["dev"]))


def imported() -> set[str]:
    """Top-level names of what the package imports, anywhere in it."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"liman_nb"}


def test_everything_imported_is_a_dependency():
    """Nothing is imported that came only with another package."""
    assert imported() - set(BESIDE_CORE) <= set(CORE.values())


# ── what is in it ────────────────────────────────────────────────────────────────────────────────


def test_the_package_is_typed():
    """The marker of PEP 561 lies in the package, and is empty."""
    assert (PACKAGE / "py.typed").read_bytes() == b""


def test_a_wheel_has_the_package_and_its_examples_and_no_tests(written):
    """Notebooks and specs lie inside the package, where `demo.examples()` finds them."""
    wheel = written["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["liman_nb", "notebooks", "specs"]
    assert wheel["sources"] == {
        "notebooks": "liman_nb/examples/notebooks",
        "specs": "liman_nb/examples/specs",
    }
    assert "force-include" not in wheel  # it would ship what .gitignore names
    assert all((ROOT / folder).is_dir() for folder in wheel["only-include"])
    assert not (PACKAGE / "examples").exists()


def test_what_a_notebook_leaves_behind_is_shipped_by_nobody():
    """Sessions that were held in the notebooks' folder are their owner's."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {".liman_nb/", ".ipynb_checkpoints/", "__pycache__/"} <= set(ignored)


def test_every_file_of_the_package_is_python_or_the_marker():
    """So that no grammar or template can be left out of a wheel."""
    others = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert others == {"py.typed"}


def test_it_is_imported_without_a_warning():
    """Also where warnings are errors, as in a test suite."""
    code = "import liman_nb\nfor name in liman_nb.__all__: getattr(liman_nb, name)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
