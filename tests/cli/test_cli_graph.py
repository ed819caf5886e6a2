"""`liman-nb graph`: the graph as a picture, as Mermaid text, or listed in the terminal."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest


@pytest.fixture
def triage(examples):
    """A graph with edges and conditions."""
    return examples / "triage", "--functions", examples / "triage" / "desk.py"


def test_an_svg_file(run, triage, tmp_path):
    """A document of its own, with every node's name."""
    done = run("graph", *triage, "-o", "triage.svg")
    assert (done.status, done.out, done.err) == (0, "wrote triage.svg\n", "")
    root = ET.parse(tmp_path / "triage.svg").getroot()  # noqa: S314 - our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "small_talk" in "".join(root.itertext())


def test_a_png_file(run, triage, tmp_path):
    """A picture with some pixels in it."""
    assert run("graph", *triage, "--output", "triage.PNG").out == "wrote triage.PNG\n"
    data = (tmp_path / "triage.PNG").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert min(width, height) > 400


def test_a_mermaid_file(run, triage, tmp_path):
    """Text that Mermaid draws."""
    run("graph", *triage, "-o", "triage.mmd")
    text = (tmp_path / "triage.mmd").read_text()
    assert text.startswith("flowchart")
    assert "small_talk" in text


def test_the_terminal(run, examples):
    """Without a file, the nodes with their edges."""
    done = run("graph", examples / "solver_checker")
    assert done.out.splitlines() == [
        "Graph: 2 nodes, 1 edge",
        "solver (LLM, start)",
        "  → checker when answer >= 0",
        "checker (LLM)",
    ]


@pytest.mark.parametrize("name", ["triage.gif", "triage", ".svg"])
def test_another_suffix(run, triage, tmp_path, name):
    """One sentence, before anything else is done."""
    done = run("graph", *triage, "-o", name)
    sentence = f"error: --output {name}: a graph is drawn into a .svg, .png or .mmd file\n"
    assert (done.status, done.out, done.err) == (1, "", sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["svg", "png", "mmd"])
def test_a_file_that_cannot_be_written(run, examples, suffix):
    """The reason is the system's own."""
    done = run("graph", examples / "hello", "-o", f"nowhere/a.{suffix}")
    assert done.status == 1
    assert done.err == (
        f"error: --output nowhere/a.{suffix} cannot be written: No such file or directory\n"
    )


def test_specs_with_errors_are_not_drawn(run, tmp_path):
    """All of them, as `check` words them."""
    (tmp_path / "a.yaml").write_text("kind: LLMNode\nname: a\npromts: {}\ntool: []\n")
    done = run("graph", "a.yaml", "-o", "a.svg")
    assert (done.status, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error: 2 errors in the specs:",
        "a.yaml:3:1: LLMNode a: unknown field 'promts'; did you mean 'prompts'?",
        "a.yaml:4:1: LLMNode a: unknown field 'tool'; did you mean 'tools'?",
    ]
    assert not (tmp_path / "a.svg").exists()
