"""The processes of a trial: forked from a warm server, or new interpreters; and how they end."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from redis_server import RedisServer

from sweep.child import Job, main

PATIENCE = 90.0
"""Seconds after which a process is taken to hang."""

KILLED = -signal.SIGKILL

_WARM = ["sweep.warm"]
"""What the server imports before it forks."""


class Starter:
    """Starts processes and waits for their ends. May be used by several threads.

    multiprocessing's server has no threads of its own, so a fork of it is as good as a new
    interpreter, at a fiftieth of the price. Starting a process also collects others that have
    ended, which must not meet somebody who waits for them.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_WARM)
        self._lock = threading.Lock()

    def fork(self, job: Job, meanwhile: Callable[[], None], kill_after: float | None) -> int:
        """Run a job in a process forked from the server; its exit status.

        Args:
            job: the job.
            meanwhile: is called again and again while the process lives.
            kill_after: seconds after which it is killed.

        Raises:
            TimeoutError: it hangs; it is killed.
        """
        process = self._context.Process(target=main, args=(job,))
        with self._lock:
            process.start()

        def ended(seconds: float) -> bool:
            return bool(multiprocessing.connection.wait([process.sentinel], seconds))

        _watch(ended, process.kill, meanwhile, kill_after)
        with self._lock:
            process.join()
            status = process.exitcode
            process.close()
        assert status is not None, "the process was waited for"
        return status

    def spawn(self, job: Job, meanwhile: Callable[[], None], kill_after: float | None) -> int:
        """The same in a new interpreter."""
        command = [sys.executable, "-W", "error", "-m", "sweep.child", job.to_json()]
        process = subprocess.Popen(command)

        def ended(seconds: float) -> bool:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            return True

        _watch(ended, process.kill, meanwhile, kill_after)
        return process.wait()


def _watch(
    ended: Callable[[float], bool],
    kill: Callable[[], None],
    meanwhile: Callable[[], None],
    kill_after: float | None,
) -> None:
    """Wait for the end of a process."""
    began = time.monotonic()
    if kill_after is not None and not ended(kill_after):
        kill()
    while not ended(0.02):
        meanwhile()
        if time.monotonic() - began > PATIENCE:
            kill()
            raise TimeoutError(f"a process did not end within {PATIENCE:g} s")


def brought_back(server: RedisServer | None, wait: float) -> bool:
    """Starts a server again that was killed; whether it was.

    Args:
        server: the server, if there is one.
        wait: for how many seconds it may still be dying.
    """
    if server is None:
        return False
    try:
        server.process.wait(wait)
    except subprocess.TimeoutExpired:
        return False
    server.start()
    return True
