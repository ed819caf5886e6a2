"""The command in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    status: int
    out: str
    err: str


COMMAND = """
import signal
from liman_nb.cli import main

# A test run in the background ignores SIGINT, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def start(*arguments: object, **environment: str) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own, where every warning is an error."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def run_in_process(*arguments: object, **environment: str) -> Done:
    """Run a command in a process of its own to its end."""
    with start(*arguments, **environment) as process:
        out, err = process.communicate(timeout=60)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return Done(process.returncode, out.decode(encoding), err.decode(encoding))
