"""Questions to a person on the command line: asked at a terminal, printed and answered without."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from commands_run import COMMAND, Done, run_in_process
from terminal_session import TerminalSession

DESK = """
kind: FunctionNode
name: intake
func: intake
nodes: [refund, letters]
---
kind: HumanNode
name: refund
question: Refund {amount} EUR?
yields:
  approved: boolean
  tone: {type: string, enum: [friendly, formal], description: how it should sound}
  note?: {type: string, description: for the customer}
nodes: [{target: send, when: approved}]
---
kind: HumanNode
name: letters
question: How many letters?
yields: {count: integer}
---
kind: FunctionNode
name: send
func: send
"""

FUNCTIONS = """
def intake(text):
    return {"amount": 148}

def send(reply):
    return f"Sent, {reply['tone']}, {reply.get('note', 'no note')}."
"""

OPEN = 3


@pytest.fixture
def desk(tmp_path: Path) -> tuple[str, ...]:
    """The words that name the desk and its session in a command."""
    (tmp_path / "desk.yaml").write_text(DESK)
    (tmp_path / "desk_functions.py").write_text(FUNCTIONS)
    return ("desk.yaml", "--functions", "desk_functions.py", "--session", "s")


def at_terminal(*arguments: str) -> TerminalSession:
    """A command at a terminal, where every warning is an error."""
    return TerminalSession([sys.executable, "-W", "error", "-c", COMMAND, *arguments])


def asked(*desk: str) -> Done:
    """A turn that waits for two answers."""
    specs, *options = desk
    return run_in_process("ask", specs, "My jar broke.", *options)


def resumed(*desk: str, **environment: str) -> Done:
    """The `resume` command in a process of its own."""
    return run_in_process("resume", *desk, **environment)


# ── at a terminal ────────────────────────────────────────────────────────────────────────────────


def test_a_person_answers_at_the_terminal(desk):
    """Question after question, field by field; what does not fit is told and asked again."""
    specs, *options = desk
    with at_terminal("ask", specs, "My jar broke.", *options) as person:
        shown = person.answer("approved [y/n]: ", "perhaps")
        assert "◆ refund asks: Refund 148 EUR?\n" in shown
        assert "Answer y or n." in person.answer("approved [y/n]: ", "")
        assert "An answer is needed." in person.answer("approved [y/n]: ", "y")
        choices = person.answer("tone (how it should sound) [1-2]: ", "3")
        assert "  1 friendly\n  2 formal\n" in choices
        assert "Choose one of the list." in person.answer("[1-2]: ", "2")
        person.answer("note (for the customer), or Enter to leave it out: ", "")
        shown = person.answer("count [a whole number]: ", "many")
        assert "send: Sent, formal, no note.\n" in shown
        assert "◆ letters asks: How many letters?\n" in shown
        assert "This must be a whole number." in person.answer("count [a whole number]: ", "2")
        status, shown, err = person.end()
    assert (status, err) == (0, "")
    assert 'letters: {"count": 2}\n' in shown
    assert shown.count("Sent, formal") == 0
    assert "Root Executor" in shown
    assert " - COMPLETED\n" in shown
    assert shown.endswith("session: s\n")


def test_a_choice_is_told_by_its_word_and_a_field_may_be_filled(desk):
    """As an alternative to numbers and Enter."""
    specs, *options = desk
    with at_terminal("ask", specs, "My jar broke.", *options) as person:
        person.answer("approved [y/n]: ", "yes")
        person.answer("[1-2]: ", "friendly")
        person.answer("leave it out: ", "sorry")
        assert "send: Sent, friendly, sorry.\n" in person.answer("[a whole number]: ", "1")
        assert person.end()[0] == 0


def test_ctrl_d_leaves_the_question_open(desk):
    """What was answered stays; the rest can be answered later, in another process."""
    specs, *options = desk
    with at_terminal("ask", specs, "My jar broke.", *options) as person:
        for prompt, line in (("[y/n]: ", "n"), ("[1-2]: ", "1"), ("leave it out: ", "")):
            person.answer(prompt, line)
        person.answer("count [a whole number]: ", "^D")
        status, shown, err = person.end()
    assert (status, err) == (OPEN, "")
    assert "- SUSPENDED, asks: How many letters?" in shown
    way = "liman-nb resume desk.yaml --functions desk_functions.py --session s --answer 1"
    assert shown.endswith(f"  count: a whole number\n  → {way}\n")

    with at_terminal("resume", *desk) as person:
        person.answer("count [a whole number]: ", "4")
        status, shown, _ = person.end()
    assert status == 0
    assert 'letters: {"count": 4}' in shown


def test_ctrl_c_leaves_the_question_open(desk):
    """As everywhere: status 130, no traceback."""
    specs, *options = desk
    with at_terminal("ask", specs, "My jar broke.", *options) as person:
        person.answer("[y/n]: ", "^C")
        status, shown, err = person.end()
    assert (status, err) == (130, "")
    assert "- SUSPENDED, asks: Refund 148 EUR?" in shown


EVERY_KIND = """
import typing
from pydantic import BaseModel, Field
from liman_nb import Suspend

class Place(BaseModel):
    city: str
    zip: str | None = None

class Form(BaseModel):
    place: Place
    level: typing.Literal[1, 3, 2]
    share: float = Field(gt=0)
    tags: list[str]
    other: Place
    extra: typing.Any
    gone: str | None

def ask(text, answer):
    if answer is None:
        raise Suspend("What? \\x1b]0;title\\x07", schema=Form)
    return answer
"""


def test_every_kind_of_field_is_read(tmp_path):
    """Objects within, numbers, choices that are numbers, lists as JSON, null, anything."""
    (tmp_path / "a.yaml").write_text("kind: FunctionNode\nname: form\nfunc: ask\n")
    (tmp_path / "form.py").write_text(EVERY_KIND)
    with at_terminal("ask", "a.yaml", "hi", "--functions", "form.py") as person:
        assert "What? ⟨U+001B⟩]0;title⟨U+0007⟩" in person.answer("place.city: ", "Oslo")
        person.answer("place.zip, or Enter to leave it out: ", "0150")
        assert "  1\n  3\n  2\n" in person.answer("level: ", "3")
        person.answer("share [a number, above 0]: ", "-1")
        assert "less than or equal to" in person.answer("share [a number, above 0]: ", "0.5")
        person.answer("tags [a list, each item text]: ", "a, b")
        assert "written as JSON" in person.answer("tags [a list, each item text]: ", '["a"]')
        person.answer("other.city: ", '""')
        person.answer("leave it out: ", "null")
        person.answer("extra: ", "any text")
        person.answer("gone: ", "")
        status, shown, err = person.end()
    assert (status, err) == (0, "")
    assert json.loads(shown.partition("form: ")[2].splitlines()[0]) == {
        "place": {"city": "Oslo", "zip": "0150"},
        "level": 3,
        "share": 0.5,
        "tags": ["a"],
        "other": {"city": "", "zip": None},
        "extra": "any text",
        "gone": None,
    }


# ── without a terminal ───────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_the_questions_are_printed(desk):
    """With what an answer must be, and the command that gives it; the status says so."""
    done = asked(*desk)

    assert (done.status, done.err) == (OPEN, "")
    refund, letters = done.out.partition("session: s\n")[2].strip().split("\n\n")
    assert refund.splitlines() == [
        "◆ refund asks: Refund 148 EUR?",
        "  approved: true or false",
        '  tone: one of "friendly" or "formal" (how it should sound)',
        "  note (may be left out): text (for the customer)",
        "  → liman-nb resume desk.yaml --functions desk_functions.py --session s"
        """ --answer '{"approved": true, "tone": "friendly"}' --question refund""",
    ]
    assert letters.endswith("--session s --answer 1 --question letters")


def test_the_printed_commands_go_on(desk):
    """One after the other, each in a process of its own."""
    commands = re.findall(r"→ liman-nb (.*)", asked(*desk).out)
    first, second = (run_in_process(*shlex.split(command)) for command in commands)

    assert (first.status, first.err) == (OPEN, "")
    assert "send: Sent, friendly, no note.\n" in first.out
    assert "◆ letters asks" in first.out
    assert (second.status, second.err) == (0, "")
    assert 'letters: {"count": 1}\n' in second.out


def test_resume_without_an_answer_prints_what_is_open(desk):
    """And changes nothing."""
    asked(*desk)
    done = resumed(*desk)

    assert (done.status, done.err) == (OPEN, "")
    assert done.out.count("◆ ") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--answer", "maybe"],
            "error: --answer maybe: this is no JSON .*; a text is",
        ),
        (["--answer", "true"], "error: session 's': several are open"),
        (["--answer", "true", "--question", "x"], "error: .*there is no open question 'x'"),
        (["--answer", '"x"', "--question", "letters"], "error: .*the answer to letters does not"),
        (["--question", "letters"], "error: --question says what --answer answers"),
    ],
)
def test_a_wrong_answer_is_one_clear_error(desk, options, said):
    """And the question stays open."""
    asked(*desk)
    done = resumed(*desk, *options)

    assert done.status == 1
    assert re.match(said, done.err), done.err
    assert done.err.count("\n") == 1
    assert resumed(*desk).out.count("◆ ") == 2


def test_a_new_turn_is_refused_while_a_person_is_asked(desk):
    """With both ways on."""
    asked(*desk)
    done = asked(*desk)

    assert done.status == 1
    assert "◆ refund asks: Refund 148 EUR?" in done.out
    assert done.err == (
        "error: session 's' has a turn that waits for a person; answer it as shown, or add "
        "--open-turn abandon to give it up\n"
    )
    specs, *options = desk
    again = run_in_process("ask", specs, "Again.", *options, "--open-turn", "abandon")
    assert again.status == OPEN


def test_there_is_nothing_to_resume(desk):
    """One sentence."""
    done = resumed(*desk)

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: session 's' has no open turn; say something in it with `liman-nb ask`, or see "
        "`liman-nb sessions list` for those that are stored\n"
    )


def test_an_interrupted_turn_is_resumed(server, examples):
    """Without a question, too."""
    from chat_server import Held
    from commands_run import start

    reply = Held("One moment … ", "here it is.")
    server.answer = lambda body: reply
    hello = (examples / "hello", "--session", "s")
    with start("ask", hello[0], "first", *hello[1:]) as process:
        assert process.stdout is not None
        process.stdout.read(len("chat: One"))
        process.kill()
    reply.go_on.set()
    server.answer = lambda body: "Here it is."
    done = run_in_process("resume", *hello)

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("chat: Here it is.\n\nRoot Executor")
