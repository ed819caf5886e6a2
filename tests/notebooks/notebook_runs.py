"""Runs and exports notebooks in processes of their own, away from the checkout and from its user.

Not here: JupyterLab and the browser (`lab_server.py`, `lab_page.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

SANITIZE = Path(__file__).with_name("sanitize.cfg")

_FOREIGN = ("JUPYTER", "OPENAI_", "LIMAN_NB_", "NOTEBOOK_MODEL", "PYTEST_ADDOPTS")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """This process's environment without the user's settings, keys and kernels.

    Args:
        folder: where Jupyter keeps what it writes.
        more: variables to add.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    places = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    return kept | places | more


def copied(notebook: Path, folder: Path) -> Path:
    """A copy in a new folder, where nothing of the checkout is beside it."""
    folder.mkdir()
    return Path(shutil.copy(notebook, folder))


def nbval(notebook: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook cell by cell and compare each output with the one in the file."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "--nbval"]
    options = ["--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE), str(notebook)]
    return subprocess.run(
        [*command, *options],
        cwd=notebook.parent,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


def executed(notebook: Path, folder: Path, **variables: str) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run, errors included."""
    _nbconvert(notebook, folder, "notebook", "--execute", "--allow-errors", **variables)
    return nbformat.read(folder / notebook.name, as_version=4)


def exported(notebook: Path, folder: Path, theme: str = "light") -> Path:
    """The notebook as a page, made from its stored outputs without running it."""
    _nbconvert(notebook, folder, "html", f"--theme={theme}")
    return (folder / notebook.name).with_suffix(".html")


def _nbconvert(notebook: Path, folder: Path, form: str, *options: str, **variables: str) -> None:
    command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", f"--to={form}", *options]
    subprocess.run(
        [*command, f"--output-dir={folder}", str(notebook)],
        env=environment(folder, **variables),
        check=True,
    )
