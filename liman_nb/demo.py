"""The examples that come with the package: where they are, the demonstration, the notebooks."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

from liman_nb.cli.terminal import say
from liman_nb.errors import SetupError

PACKAGE = Path(__file__).parent


def examples() -> Path:
    """The folder that holds `specs/` and `notebooks/`: the installed copy, or the checkout's."""
    installed = PACKAGE / "examples"
    return installed if installed.is_dir() else PACKAGE.parent


def run_demo() -> int:
    """Run the main job on this machine: fetch, talk, restart, remember; then open the notebooks.

    Returns:
        The exit status.

    Raises:
        SetupError: the model's runtime is missing, or it cannot be fetched.
    """
    from liman_nb.models.fetch import fetch_model, progress_bar
    from liman_nb.models.local import local_runtime_installed

    if not local_runtime_installed():
        raise SetupError('the local model needs its runtime: run `pip install "liman_nb[local]"`')
    with progress_bar() as on_progress:
        fetch_model(on_progress=on_progress)
    session = f"demo-{uuid4().hex[:8]}"
    for text in ("My name is Alice.", "What is my name?"):
        say(f"\n── a new process, session {session!r} ──\nyou: {text}")
        command = ["ask", str(examples() / "specs" / "hello"), text, "--session", session]
        status = _run("liman_nb", *command, "--model", "local")
        if status:
            return status
    say(f"\nwhat was stored, read by this third process:\n{_remembered(session)}")
    if has_screen() and find_spec("jupyterlab"):
        return open_lab(Path("liman_nb_notebooks"))
    return 0


def _remembered(session: str) -> str:
    """The message history that the two processes left behind."""
    from liman_nb.agent import Agent

    return str(Agent(examples() / "specs" / "hello", session_id=session).messages("chat"))


def open_lab(folder: Path) -> int:
    """Open JupyterLab on the notebooks; in an installed package on a copy in `folder`.

    Returns:
        JupyterLab's exit status.

    Raises:
        SetupError: JupyterLab is not installed, or the folder cannot be written.
    """
    if find_spec("jupyterlab") is None:
        raise SetupError('JupyterLab is not installed: run `pip install "liman_nb[lab]"`')
    return _run("jupyterlab", str(writable_notebooks(folder)))


def writable_notebooks(folder: Path) -> Path:
    """The checkout's notebooks, or those copied with the specs into `folder`.

    What is in the folder already is never overwritten.

    Raises:
        SetupError: the folder cannot be written.
    """
    source = examples()
    if source == PACKAGE.parent:
        return source / "notebooks"
    try:
        for name in ("notebooks", "specs"):
            _copy_missing(source / name, folder / name)
    except OSError as error:
        raise SetupError(
            f"the notebooks cannot be copied to {folder} ({error.strerror}); --folder names "
            f"another place"
        ) from error
    return folder / "notebooks"


def _copy_missing(source: Path, target: Path) -> None:
    """Copy the files that are not there yet, without what Python compiled of them."""
    for file in source.rglob("*"):
        copy = target / file.relative_to(source)
        if file.is_file() and "__pycache__" not in file.parts and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def has_screen() -> bool:
    """Whether a browser window can be expected to show here."""
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return sys.stdout.isatty()


def _run(module: str, *arguments: str) -> int:
    """Run a module in a Python of its own; Ctrl-C is that one's affair. Returns its exit status."""
    command = [sys.executable, "-m", module, *arguments]
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(command)  # noqa: S603 - our own interpreter, our own arguments
    finally:
        signal.signal(signal.SIGINT, before)
