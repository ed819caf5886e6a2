"""The committed notebooks in a real browser: as a stranger's saved file, after a run, exported."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from lab_page import LabPage, WatchedPage
from lab_server import Address, LabServer
from notebook_runs import copied, exported

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
VIEWPORT = {"width": 1200, "height": 1000}

DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="
"""A picture of one pixel."""

themes = pytest.mark.parametrize("theme", ["Light", "Dark"])


def needed(is_there: object, what: str, command: str) -> None:
    """Fail, with the command to run, where something is missing."""
    if not is_there:
        pytest.fail(f"{what} is not installed: {command}", pytrace=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    needed(program, "Chromium", "apt-get install chromium")
    needed(find_spec("playwright"), "Playwright", "pip install -e '.[dev]'")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that JupyterLab shows."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture(scope="module")
def lab(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A JupyterLab that has never seen a notebook, and so trusts none."""
    needed(find_spec("jupyterlab"), "JupyterLab", "pip install -e '.[lab]'")
    with LabServer(shelf, tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.fixture
def opened(
    browser: Browser, lab: Address, shelf: Path, notebook: Path, tmp_path: Path, theme: str
) -> Iterator[LabPage]:
    """A copy of the notebook, opened and not run."""
    copy = copied(notebook, shelf / tmp_path.name)
    page = LabPage(browser.new_page(viewport=VIEWPORT))
    page.open(lab.lab(copy.relative_to(shelf).as_posix()), theme)
    yield page
    page.page.close()


class _Text(HTMLParser):
    """The text of HTML, with or without what is folded away."""

    def __init__(self, html: str, *, is_unfolded: bool) -> None:
        super().__init__()
        self.text = ""
        self._is_unfolded = is_unfolded
        self._open: list[bool] = []  # whether each part around the text is open
        self._is_title = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self._open.append("open" in dict(attrs))
        self._is_title = tag == "summary" or (self._is_title and tag != "details")

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self._open.pop()
        self._is_title = self._is_title and tag != "summary"

    def handle_data(self, data: str) -> None:
        around = self._open[:-1] if self._is_title else self._open
        if self._is_unfolded or all(around):
            self.text += data


def written(notebook: Path, *, is_unfolded: bool = True) -> list[str]:
    """The text of each output as the file has it, with or without what is folded away."""
    cells = nbformat.read(notebook, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [_written(output, is_unfolded=is_unfolded) for output in outputs]


def _written(output: nbformat.NotebookNode, *, is_unfolded: bool) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return _Text(data["text/html"], is_unfolded=is_unfolded).text
    return output.get("text") or data["text/plain"]


def unbroken(texts: list[str]) -> list[str]:
    """Texts without the white space in which a page and a file may differ."""
    return ["".join(text.split()) for text in texts]


# ── in JupyterLab ────────────────────────────────────────────────────────────────────────────────


@themes
def test_a_strangers_notebook_can_be_read_without_running_it(opened, notebook, lab):
    """Titles and statuses at a glance, then everything; with contrast, and nothing is fetched."""
    assert not any(opened.trusted())
    folded = opened.legibility()
    opened.unfold()
    unfolded = opened.legibility()

    assert folded.problems + unfolded.problems == []
    assert unbroken(folded.texts) == unbroken(written(notebook, is_unfolded=False))
    assert unbroken(unfolded.texts) == unbroken(written(notebook))
    assert unfolded.images > folded.images > 0
    assert opened.complaints == []
    assert opened.hosts == {lab.host}


@themes
def test_the_whole_notebook_runs_and_can_be_read(opened, notebook, lab):
    """As many outputs as the file has, each as legible as the saved one."""
    assert opened.run_all()
    opened.unfold()
    seen = opened.legibility()

    assert seen.problems == []
    assert len(seen.texts) == len(written(notebook))
    assert all(opened.trusted())
    assert opened.complaints == []
    assert opened.hosts == {lab.host}


# ── exported ─────────────────────────────────────────────────────────────────────────────────────


@themes
def test_an_exported_page_can_be_read_offline(browser, notebook, tmp_path, theme):
    """The page's frame asks for MathJax and finds none; our outputs ask for nothing."""
    page = WatchedPage(browser.new_page(viewport=VIEWPORT))
    page.page.context.set_offline(offline=True)
    page.page.goto(exported(notebook, tmp_path, theme.lower()).as_uri())
    page.unfold()
    seen = page.legibility()
    page.page.close()

    assert seen.problems == []
    assert unbroken(seen.texts) == unbroken(written(notebook))
    assert seen.images > 0


# ── the check itself ─────────────────────────────────────────────────────────────────────────────


SEEN = {
    "pale": ('<b style="color:#999">pale</b>', '"pale" has a contrast of 2.85'),
    "faint": ('<b style="opacity:.5">faint</b>', '"faint" has a contrast of 3.98'),
    "dim": ('<b style="background:rgb(0,0,0,.6)">dim</b>', '"dim" has a contrast of 3.66'),
    "broken": ('<img alt="a graph" src="data:,">', "an image did not load: a graph"),
    "undescribed": (f'<img src="{DOT}">', "an image has no description"),
    "wide": ('<div style="width:2000px">wide</div>', "HTML scrolls sideways: 2000 px"),
    "cut": ('<div style="position:relative;left:-9px">cut</div>', '"cut" is cut at the side'),
    "gone": ('<b style="font-size:0">gone</b>', '"gone" takes no room'),
    "refused": ("Error displaying widget", "Error displaying widget"),
    "hidden": ('<b style="color:#999;display:none">hidden</b>', None),
    "legible": ('<b style="color:#757575">legible</b>', None),
}
"""An output, and the problem with it."""


@pytest.mark.parametrize(("output", "problem"), SEEN.values(), ids=SEEN)
def test_what_cannot_be_read_is_noticed(browser, output, problem):
    """The rule that the tests above hold the outputs to."""
    page = WatchedPage(browser.new_page(viewport=VIEWPORT))
    page.page.set_content(
        f'<body style="margin:0"><div class="jp-OutputArea-output">{output}</div></body>'
    )
    seen = page.legibility()
    page.page.close()

    assert (problem in seen.problems) if problem else seen.problems == []
