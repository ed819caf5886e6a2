"""The examples that come with the package: where they are, the demonstration, the notebooks."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import typer

from liman_nb.errors import SetupError

PACKAGE = Path(__file__).parent


def examples() -> Path:
    """The folder that holds `specs/` and `notebooks/`: the checkout's, or the installed copy."""
    checkout = PACKAGE.parent
    return checkout if (checkout / "notebooks").is_dir() else PACKAGE / "examples"


def run_demo() -> int:
    """Run the main job on this machine: fetch, talk, restart, remember; then open the notebooks.

    Returns:
        The exit status.
    """
    from liman_nb.models.fetch import fetch_model

    fetch_model()
    session = f"demo-{os.getpid()}"
    for text in ("My name is Alice.", "What is my name?"):
        typer.echo(f"\n── a new process, session {session!r} ──\nyou: {text}")
        command = ["ask", str(examples() / "specs" / "hello"), text, "--session", session]
        status = _run([*command, "--model", "local"])
        if status:
            return status
    if has_screen() and find_spec("jupyterlab"):
        return open_lab(Path("liman_nb_notebooks"))
    return 0


def open_lab(folder: Path) -> int:
    """Open JupyterLab on the notebooks; in an installed package on a copy in `folder`.

    Returns:
        JupyterLab's exit status.

    Raises:
        SetupError: JupyterLab is not installed.
    """
    if find_spec("jupyterlab") is None:
        raise SetupError('JupyterLab is not installed: pip install "liman_nb[lab]"')
    return subprocess.call(  # noqa: S603 - our own interpreter, our own arguments
        [sys.executable, "-m", "jupyterlab", str(writable_notebooks(folder))]
    )


def writable_notebooks(folder: Path) -> Path:
    """The checkout's notebooks, or those copied with the specs into `folder`.

    What is in the folder already is never overwritten.
    """
    source = examples()
    if source == PACKAGE.parent:
        return source / "notebooks"
    for name in ("notebooks", "specs"):
        for file in (source / name).rglob("*"):
            target = folder / name / file.relative_to(source / name)
            if file.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    return folder / "notebooks"


def has_screen() -> bool:
    """Whether a browser window can be expected to show here."""
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return sys.stdout.isatty()


def _run(arguments: list[str]) -> int:
    return subprocess.call(  # noqa: S603 - our own interpreter, our own arguments
        [sys.executable, "-m", "liman_nb", *arguments]
    )
