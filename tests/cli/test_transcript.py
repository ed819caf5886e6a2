"""What is printed of a turn, event by event."""

from __future__ import annotations

from liman_nb.cli.transcript import Transcript
from liman_nb.engine.events import Event


def heard(capsys, *events: Event) -> tuple[str, str]:
    """What a transcript of these events prints."""
    transcript = Transcript()
    for event in events:
        transcript.hear(event)
    transcript.end(None)
    return tuple(capsys.readouterr())


def token(executor: str, text: str) -> Event:
    """A piece of text of an executor; its node has the executor's first letter."""
    return Event("token", "s", 1, node=executor[0], executor=executor, text=text)


def attempt(executor: str) -> Event:
    """An executor's run is tried again."""
    return Event("attempt", "s", 1, node=executor[0], executor=executor, text="Busy: wait")


def ended(executor: str) -> Event:
    """An executor's run has ended."""
    return Event("node_ended", "s", 1, node=executor[0], executor=executor)


def test_one_voice(capsys):
    """Its name once, its words as they come."""
    assert heard(capsys, token("a1", "Hel"), token("a1", "lo"), ended("a1")) == ("a: Hello\n", "")


def test_two_voices_at_once_are_not_mixed(capsys):
    """The one that began first is heard to its end, the other after it."""
    events = [token("a1", "A"), token("b1", "x"), token("a1", "B"), token("b1", "y")]
    out, _ = heard(capsys, *events, ended("a1"), token("b1", "z"), ended("b1"))
    assert out == "a: AB\nb: xyz\n"


def test_a_voice_that_ends_while_another_speaks(capsys):
    """It is heard when the other has ended."""
    events = [token("a1", "A"), token("b1", "x"), ended("b1"), token("c1", "1"), token("a1", "B")]
    assert heard(capsys, *events, ended("a1"), ended("c1"))[0] == "a: AB\nb: x\nc: 1\n"


def test_the_same_node_twice(capsys):
    """Two executors of a node are two voices."""
    events = [token("a1", "A"), token("a2", "B"), ended("a1"), ended("a2")]
    assert heard(capsys, *events)[0] == "a: A\na: B\n"


def test_an_attempt_begins_a_new_line(capsys):
    """What was said before it does not count, and the reason goes to standard error."""
    events = [token("a1", "Hel"), attempt("a1"), token("a1", "Hello"), ended("a1")]
    assert heard(capsys, *events) == ("a: Hel\na: Hello\n", "[a tries again after Busy: wait]\n")


def test_an_attempt_of_a_voice_that_was_not_heard_yet(capsys):
    """Nothing of its first words is printed; the one that speaks goes on in a new line."""
    events = [token("a1", "A"), token("b1", "x"), attempt("b1"), token("b1", "y")]
    out, err = heard(capsys, *events, token("a1", "B"), ended("a1"), ended("b1"))
    assert (out, err) == ("a: A\na: B\nb: y\n", "[b tries again after Busy: wait]\n")


def test_voices_that_never_end(capsys):
    """After an interruption, what was said by then is printed."""
    assert heard(capsys, token("a1", "A"), token("b1", "x"))[0] == "a: A\nb: x\n"


def test_runs_that_say_nothing(capsys):
    """A tool or function has no voice."""
    assert heard(capsys, ended("a1")) == ("", "")
