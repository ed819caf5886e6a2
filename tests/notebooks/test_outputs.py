"""The committed outputs are those of a fresh run; what may differ stands in `sanitize.cfg`."""

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import get_sanitize_patterns
from notebook_runs import SANITIZE, copied, executed, exported, nbval

from liman_nb import LocalLLM
from liman_nb.errors import SetupError


def first_agent() -> Path:
    """The notebook that a newcomer reads first."""
    return Path(__file__).parents[2] / "notebooks" / "01_first_agent.ipynb"


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """All outputs, in reading order."""
    return [o for cell in notebook.cells for o in cell.get("outputs", ())]


# ── compared ─────────────────────────────────────────────────────────────────────────────────────


def test_every_output_is_that_of_a_fresh_run(notebook, tmp_path):
    """In a folder of its own, so nothing is read from the checkout."""
    run = nbval(copied(notebook, tmp_path / "elsewhere"), tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_word_and_a_drawing_that_differ_are_noticed(tmp_path):
    """The comparison leaves out times, and is strict about the rest."""
    copy = copied(first_agent(), tmp_path / "elsewhere")
    notebook = nbformat.read(copy, as_version=4)
    drawing, why = [o.data for o in outputs(notebook) if "undecided" in str(o.get("data"))][:2]
    drawing["text/html"] = drawing["text/html"].replace("base64,", "base64,AAAA", 1)
    why["text/plain"] = why["text/plain"].replace("✕ not fired", "✓ fired    ", 1)
    nbformat.write(notebook, copy)

    assert "2 failed" in nbval(copy, tmp_path).stdout


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("(2 turns · recorded 2026-11-30 16:53:37 UTC)", "(2 turns · recorded DATE AND TIME)"),
        ("recorded 2026-11-30 17:53:37 +0130</span>", "recorded DATE AND TIME</span>"),
        ("you · 16:53:37 UTC</div>", "you · TIME</div>"),
        ("DONE (2026-11-30 16:53:37 UTC · 2 node runs", "DONE (DATE AND TIME · 2 node runs"),
        ("Until 2026-12-07 16:53:37 UTC; then", "Until DATE AND TIME; then"),
        ("'timestamp': '2026-11-30T16:53:37.120Z'", "'timestamp': 'TIMESTAMP'"),
        ("claimed 2026-11-30 16:53:37 UTC", "claimed 2026-11-30 16:53:37 UTC"),
        ("<div>16:53:37 UTC</div>", "<div>TIME</div>"),
        ('style="text-align:right">12.3</span>', 'style="text-align:right">SECONDS</span>'),
        ('style="text-align:right">1,554</span>', 'style="text-align:right">1,554</span>'),
        ("light snow, -3.5 °C at 16:53:37", "light snow, -3.5 °C at 16:53:37"),
        ("execution id ef358e57-f329-5925-aa78", "execution id ef358e57-f329-5925-aa78"),
        ("urgency = 5 is at least 4", "urgency = 5 is at least 4"),
    ],
)
def test_only_times_are_left_out_of_the_comparison(written, compared):
    """Stamps, times of day and seconds; ids, values and counts are compared."""
    for pattern, replacement in get_sanitize_patterns(SANITIZE.read_text(encoding="utf-8")):
        written = re.sub(pattern, replacement, written)
    assert written == compared


# ── kept ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_file_says_nothing_of_the_machine_it_was_made_on(notebook):
    """No path, no user; every cell was run, once, from top to bottom."""
    text = notebook.read_text(encoding="utf-8")
    assert not re.search(r"/(home|tmp|root|work|Users)/|C:\\", text)
    cells = [c for c in nbformat.reads(text, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


class _Page(HTMLParser):
    """What a reader of an exported page finds: pictures with their descriptions, and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pictures: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_exported_page_has_the_graph_and_the_tree(tmp_path):
    """`nbconvert --to html` keeps what the notebook shows."""
    page = _Page(exported(first_agent(), tmp_path).read_text(encoding="utf-8"))
    edge = "triage to loyal_customers when context.tier in ['gold', 'platinum']: undecided"
    graph = next(p for p in page.pictures if edge in (p["alt"] or ""))

    assert (graph["src"] or "").startswith("data:image/svg+xml;base64,")
    assert "Executors" in page.text
    assert "├─ get_weather" in page.text


# ── with the real local model ────────────────────────────────────────────────────────────────────


@pytest.mark.model
def test_with_the_real_local_model_it_runs_and_remembers_the_name(tmp_path):
    """No cell fails, and the name outlives the agent that was told it."""
    try:
        LocalLLM().close()
    except SetupError as error:
        pytest.fail(str(error), pytrace=False)
    notebook = executed(first_agent(), tmp_path, NOTEBOOK_MODEL="local")
    asked = next(c for c in notebook.cells if 'step("What is my name?")' in c.source)

    assert [o for o in outputs(notebook) if o.output_type == "error"] == []
    assert "Alice" in asked.outputs[0].data["text/plain"]
