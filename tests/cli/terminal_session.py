"""A command at a pseudo-terminal: what it shows is awaited, and a person's lines are typed."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time

_PATIENCE = 60.0  # seconds


class TerminalSession:
    """A command in a process of its own, as a person sees and answers it.

    Args:
        command: the words that start it.
    """

    def __init__(self, command: list[str]) -> None:
        self._master, terminal = pty.openpty()
        self._process = subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, close_fds=True
        )
        os.close(terminal)
        self._seen = ""

    def __enter__(self) -> TerminalSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        os.close(self._master)

    def until(self, text: str) -> str:
        """What is shown from the last time until a text is; that text included.

        Raises:
            AssertionError: it is not shown within a minute, or the command ended before.
        """
        deadline = time.monotonic() + _PATIENCE
        while text not in self._seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self._seen!r}"
            assert self._more(), f"ended without {text!r}: {self._seen!r}"
        shown, _, self._seen = self._seen.partition(text)
        return shown + text

    def type(self, line: str) -> None:
        """Type a line; ``^D`` is the key, ``^C`` the signal that the key sends."""
        if line == "^C":
            self._process.send_signal(signal.SIGINT)
        else:
            os.write(self._master, b"\x04" if line == "^D" else line.encode() + b"\n")

    def answer(self, prompt: str, line: str) -> str:
        """Await a prompt and type a line; what was shown up to the prompt."""
        shown = self.until(prompt)
        self.type(line)
        return shown

    def end(self) -> tuple[int, str, str]:
        """The exit status, and what was shown since and said on standard error."""
        while self._more():
            pass
        _, err = self._process.communicate(timeout=_PATIENCE)
        return self._process.returncode, self._seen, err.decode()

    def _more(self) -> bool:
        """Read a little more; whether there may be any."""
        if not select.select([self._master], [], [], _PATIENCE)[0]:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # Linux: nobody holds the terminal any more
            return False
        self._seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
