"""What a person sees and does of a notebook in a browser, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Page

_LEGIBILITY = Path(__file__).with_name("legibility.js").read_text(encoding="utf-8")
_MINUTE = 60_000  # milliseconds


@dataclass(frozen=True)
class Legibility:
    """What the outputs on a page look like.

    Attributes:
        problems: what could not be read, and why.
        images: how many images are in sight.
        texts: the text in sight, of each output.
    """

    problems: list[str]
    images: int
    texts: list[str]


class WatchedPage:
    """A page of a browser, with what it complained about and which hosts it asked.

    Attributes:
        page: Playwright's page.
        complaints: errors on its console, and of its scripts.
        hosts: name and port of every host it asked for something.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))
        page.on("websocket", lambda socket: self._asked(socket.url))

    def legibility(self) -> Legibility:
        """Look at the outputs as they are now."""
        return Legibility(**self.page.evaluate(_LEGIBILITY))

    def unfold(self) -> None:
        """Open every folded part of the outputs, as a reader would, one by one."""
        folded = ".jp-OutputArea-output details:not([open]) > summary"
        while (closed := self.page.locator(folded)).count():
            closed.first.click()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _asked(self, url: str) -> None:
        if host := urlsplit(url).netloc:
            self.hosts.add(host)


class LabPage(WatchedPage):
    """JupyterLab with a notebook opened in it."""

    def open(self, url: str, theme: str) -> None:
        """Open the notebook, without running it.

        Args:
            url: of JupyterLab with the notebook.
            theme: ``Light`` or ``Dark``.
        """
        self.page.goto(url)
        self.page.wait_for_selector(".jp-Notebook .jp-OutputArea-output", timeout=_MINUTE)
        self.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        is_light = str(theme == "Light").lower()
        themed = self.page.locator(f'body[data-jp-theme-light="{is_light}"]')
        themed.wait_for(state="attached", timeout=_MINUTE)
        self.page.wait_for_load_state("networkidle", timeout=_MINUTE)

    def command(self, name: str, **arguments: str) -> Any:
        """Run one of JupyterLab's commands to its end."""
        script = "([name, args]) => window.jupyterapp.commands.execute(name, args)"
        return self.page.evaluate(script, [name, arguments])

    def trusted(self) -> list[bool]:
        """Of each code cell, whether JupyterLab trusts its outputs."""
        return list(self.page.evaluate(_TRUSTED))

    def run_all(self) -> bool:
        """Run all cells; whether all succeeded."""
        self.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        return bool(self.command("notebook:run-all-cells"))


_TRUSTED = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
    .filter(cell => cell.type === "code").map(cell => cell.trusted)"""
