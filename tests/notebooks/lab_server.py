"""A real JupyterLab on a folder, with settings of its own, on a port that the system gives it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from notebook_runs import environment

_PATIENCE = 120  # seconds in which a server has to start, or to end
_OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--port=0",
    "--expose-app-in-browser",
    "--LabApp.extension_manager=readonly",
)
_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are there too
}


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        host: name and port.
        token: what opens it.
    """

    host: str
    token: str

    def lab(self, path: str) -> str:
        """JupyterLab with a file of the folder opened in it."""
        return f"http://{self.host}/lab/tree/{path}?reset&token={self.token}"


class LabServer:
    """JupyterLab as a process; a context manager.

    Args:
        root: the folder that it shows.
        work: an empty folder for all that it writes itself.
    """

    def __init__(self, root: Path, work: Path) -> None:
        self._work = work
        self._log = work / "server.log"
        self._command = [sys.executable, "-m", "jupyterlab", *_OPTIONS]
        self._command.append(f"--ServerApp.root_dir={root}")

    def __enter__(self) -> Address:
        settings = self._work / "settings"
        for name, values in _SETTINGS.items():
            file = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(values))
        places = {"SETTINGS": str(settings), "WORKSPACES": str(self._work / "workspaces")}
        more = {f"JUPYTERLAB_{name}_DIR": place for name, place in places.items()}
        with self._log.open("w") as log:
            self._process = self._started(environment(self._work, **more), log)
        try:
            return self._address()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _started(self, variables: dict[str, str], log: IO[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    def _address(self) -> Address:
        """Wait until it says where it is, and answers there."""
        late = time.monotonic() + _PATIENCE
        while self._process.poll() is None and time.monotonic() < late:
            for file in (self._work / "RUNTIME").glob("jpserver-*.json"):
                said = json.loads(file.read_text() or "{}")
                if said and _answers(said["url"]):
                    return Address(f"{said['hostname']}:{said['port']}", said["token"])
            time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read_text()}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}api", timeout=5):  # noqa: S310 - our own server
            return True
    except OSError:
        return False
