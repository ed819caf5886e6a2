"""What a command does as a process: streaming, Ctrl-C, a kill, pipes, and poor terminals."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from chat_server import Held
from commands_run import run_in_process, start


def test_the_answer_is_printed_while_the_model_still_speaks(server, examples):
    """The first words are read before the model says the rest."""
    reply = Held("One moment … ", "here it is.")
    server.answer = lambda body: reply
    with start("ask", examples / "hello", "hi") as process:
        assert process.stdout is not None
        first = "chat: One moment … "
        assert process.stdout.read(len(first.encode())).decode() == first
        reply.go_on.set()
        rest, _ = process.communicate(timeout=30)
    assert rest.decode().startswith("here it is.\n\nRoot Executor")


def test_ctrl_c_stores_the_turn_as_cancelled(server, examples):
    """No traceback; the tree says it, and the session goes on afterwards."""
    reply = Held("One moment … ", "here it is.")
    server.answer = lambda body: reply
    with start("ask", examples / "hello", "hi", "--session", "s") as process:
        assert process.stdout is not None
        process.stdout.read(len("chat: One"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    reply.go_on.set()
    assert (process.returncode, err) == (130, b"")
    assert " - CANCELLED\n  └── Child Executor 1: chat" in out.decode()
    assert out.decode().endswith("session: s\n")

    server.answer = lambda body: "Hello again."
    done = run_in_process("ask", examples / "hello", "hi", "--session", "s")
    assert (done.status, done.err) == (0, "")
    assert "chat: Hello again.\n" in done.out
    assert "Child Executor 2: chat" in done.out


@pytest.fixture
def interrupted(server, examples):
    """The session `s`, whose process was killed in the middle of a turn."""
    reply = Held("One moment … ", "here it is.")
    server.answer = lambda body: reply
    with start("ask", examples / "hello", "first", "--session", "s") as process:
        assert process.stdout is not None
        process.stdout.read(len("chat: One"))
        process.kill()
    reply.go_on.set()
    server.answer = lambda body: f"You said {body['messages'][-1]['content']}."
    return ("ask", examples / "hello", "second", "--session", "s")


def test_a_killed_turn_is_not_passed_over(run, interrupted):
    """The user decides what becomes of it."""
    done = run(*interrupted)
    assert done.status == 1
    assert done.err == (
        "error: session 's' has a turn that was interrupted; add --open-turn resume to finish it"
        " first, or --open-turn abandon to give it up\n"
    )
    assert "Child Executor 1: chat" in done.out


def test_a_killed_turn_is_finished_first(run, interrupted):
    """Its answer comes first, then the new one."""
    done = run(*interrupted, "--open-turn", "resume")
    assert done.status == 0
    assert done.out.startswith("chat: You said first.\nchat: You said second.\n\n")


def test_a_killed_turn_is_given_up(run, interrupted):
    """Only the new text is answered."""
    done = run(*interrupted, "--open-turn", "abandon")
    assert done.status == 0
    assert done.out.startswith("chat: You said second.\n\n")


@pytest.mark.parametrize("command", ["check", "ask"])
def test_a_reader_that_went_away(server, examples, tmp_path, command):
    """`| head -1`: no traceback."""
    documents = [f"kind: LLMNode\nname: n{number}\nwrong: 1\n" for number in range(400)]
    (tmp_path / "many.yaml").write_text("---\n".join(documents))
    server.answer = lambda body: "word " * 50_000
    arguments = ["many.yaml"] if command == "check" else [examples / "hello", "hi"]
    with start(command, *arguments) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", '"Hello" ... ??'), ("latin-1", '"Hello" ... ??'), ("cp1252", "“Hello” … ??")],
)
def test_a_terminal_without_the_tree_s_characters(server, examples, encoding, shown):
    """They become the nearest ASCII; what has none becomes a question mark."""
    server.answer = lambda body: "“Hello” … 世界"
    done = run_in_process("ask", examples / "hello", "hi", PYTHONIOENCODING=encoding)
    assert (done.status, done.err) == (0, "")
    assert "\n  `-- Child Executor 1: chat (" in done.out
    assert done.out.startswith(f"chat: {shown}\n")


def test_the_c_locale(server, examples):
    """As in a bare container."""
    server.answer = lambda body: "Grüß Gott"
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = run_in_process("ask", examples / "hello", "hi", **plain)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("chat: Gr?? Gott\n")
    assert "`-- Child" in done.out


HELP = """
import sys
from liman_nb.cli import main
try:
    main(["ask", "--help"])
except SystemExit:
    print(*[name for name in sys.modules if name.startswith("liman_nb.")])
"""


def test_help_loads_nothing_but_the_command_line():
    """It comes at once."""
    done = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    loaded = done.stdout.splitlines()[-1].split()
    others = [name for name in loaded if not name.startswith("liman_nb.cli")]
    assert others == ["liman_nb.errors"]
