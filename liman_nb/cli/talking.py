"""A turn on the command line: what is printed of it, and the questions to the person there."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from liman_nb.agent import Agent
from liman_nb.cli.asking import LeftOpen, ask_person
from liman_nb.cli.terminal import say
from liman_nb.cli.transcript import Transcript
from liman_nb.engine.pending import Question
from liman_nb.errors import AnswerInvalid, ContextMissing, OpenTurn, UsageError
from liman_nb.reception import NO_ANSWER
from liman_nb.views.answer_forms import answer_form
from liman_nb.views.pending import PendingView, wanted_lines

INTERRUPTED = 128 + 2
"""Exit status of a program that ended by Ctrl-C, as a shell reports it."""

QUESTIONS_OPEN = 3
"""Exit status while a person's answer is waited for."""


def json_answer(text: str) -> Any:
    """The value of ``--answer``.

    Raises:
        UsageError: it is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        quoted = shlex.quote(json.dumps(text, ensure_ascii=False))
        raise UsageError(
            f"--answer {text}: this is no JSON ({error}); a text is {quoted}"
        ) from error


class Talk:
    """Turns of one session, taken from the command line.

    Args:
        agent: whose session it is.
        context: call-time data.
        again: the words that name the same agent in another command, its specs first.
    """

    def __init__(self, agent: Agent, context: Mapping[str, Any], again: Sequence[str]) -> None:
        self._agent = agent
        self._context = context
        self._again = again
        self._transcript = Transcript()

    def say(self, text: str) -> int:
        """Take a turn; the exit status.

        Raises:
            UsageError: an earlier turn is open.
            LimanError: as for :meth:`~liman_nb.agent.Agent.step`.
        """
        try:
            return self._to_the_end(self._step(text))
        except OpenTurn as error:
            self._show_session()
            self._refuse(error)

    def go_on(self, answer: Any = NO_ANSWER, question: str | None = None) -> int:
        """Go on with the open turn; the exit status.

        Raises:
            UsageError: no turn is open, or the answer does not fit.
            LimanError: as for :meth:`~liman_nb.agent.Agent.resume`.
        """
        try:
            return self._to_the_end(self._resume(answer, question))
        except OpenTurn as error:
            raise UsageError(
                f"session {self._agent.session_id!r} has no open turn; say something in it with "
                f"`liman-nb ask`, or see `liman-nb sessions list` for those that are stored"
            ) from error
        except ContextMissing as error:
            raise UsageError(f"{error}; here: --context FILE") from error

    def _to_the_end(self, work: Coroutine[Any, Any, None]) -> int:
        """Run a turn until nothing is open in it, or a question is left open."""
        try:
            is_answered = self._run(work)
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            if self._transcript.has_begun:
                self._show_session()
        if is_answered:
            return 0
        self._show_questions(self._agent.pending())
        return QUESTIONS_OPEN

    def _run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run a turn and ask what it asks; whether everything was answered."""
        asyncio.run(work)
        while pending := self._agent.pending():
            if not _is_terminal():
                return False
            try:
                self._answer(pending, pending[0])
            except LeftOpen:
                say()
                return False
        return True

    # ── the turn ─────────────────────────────────────────────────────────────────────────────────

    async def _step(self, text: str) -> None:
        try:
            async for event in self._agent.stream(text, context=self._context):
                self._transcript.hear(event)
        finally:
            self._end()

    async def _resume(self, answer: Any = NO_ANSWER, question: str | None = None) -> None:
        silence = self._agent.listen(self._transcript.hear)
        try:
            await self._agent.resume(answer, question=question, context=self._context)
        finally:
            silence()
            self._end()

    def _end(self) -> None:
        self._transcript.end(self._agent.last_result)

    def _show_session(self) -> None:
        say(f"\n{self._agent.tree()}\nsession: {self._agent.session_id}")

    # ── the questions ────────────────────────────────────────────────────────────────────────────

    def _answer(self, pending: PendingView, question: Question) -> None:
        """Ask the person until an answer fits.

        Raises:
            LeftOpen: the person leaves the question open.
        """
        say(f"\n{pending.asked(question)}")
        while True:
            answer = ask_person(answer_form(question.form))
            if question.deadline is not None and question.deadline <= datetime.now(UTC):
                say("The answer came after the deadline and is not used.")
                return asyncio.run(self._resume())
            try:
                return asyncio.run(self._resume(answer, question.id))
            except AnswerInvalid as invalid:
                say(f"  This does not fit: {'; '.join(invalid.errors)}")

    def _show_questions(self, pending: PendingView) -> None:
        """What is asked, what an answer must be, and the command that gives it."""
        for question in pending:
            way = ["liman-nb", "resume", *self._again, "--session", str(self._agent.session_id)]
            way += ["--answer", json.dumps(pending.example(question), ensure_ascii=False)]
            if len(pending) > 1:
                way += ["--question", pending.name(question)]
            wanted = (f"  {line}" for line in wanted_lines(question))
            say("\n".join(["", pending.asked(question), *wanted, f"  → {shlex.join(way)}"]))

    def _refuse(self, error: OpenTurn) -> NoReturn:
        """Say what is open, and the ways on."""
        session = self._agent.session_id
        pending = self._agent.pending()
        if pending:
            self._show_questions(pending)
            raise UsageError(
                f"session {session!r} has a turn that waits for a person; answer it as shown, or "
                f"add --open-turn abandon to give it up"
            ) from error
        raise UsageError(
            f"session {session!r} has a turn that was interrupted; add --open-turn resume "
            f"to finish it first, or --open-turn abandon to give it up"
        ) from error


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
