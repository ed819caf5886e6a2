"""The questions that wait for a person: who asks, what an answer must be, and how to give it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from markupsafe import Markup

from liman_nb.engine.pending import Question
from liman_nb.state.rows import QuestionKind
from liman_nb.views.answer_forms import FILL_IN, Field, Form, answer_form, python_text, text_size
from liman_nb.views.bundles import View
from liman_nb.views.elements import (
    MONO,
    WRAPPED,
    card,
    code,
    count,
    folded,
    header,
    join,
    more,
    part,
    small,
    status_chip,
    tag,
    text_block,
)
from liman_nb.views.escape import json_text, one_line, value_text, visible
from liman_nb.views.moments import stamp
from liman_nb.views.palette import INK, PAPER, STATUSES

LIMIT = 20
"""Questions shown; the rest is counted."""

_TEXT_CAP = 2_000
_LINE_CAP = 600
_VALUE_CAP = 200
_WORDS_CAP = 600
_FIELDS = 30
_SMALL = "font-size:12px"
_ROW = f"{_SMALL};line-height:1.8"
_ASKERS: dict[QuestionKind, str] = {
    "human": "{} asks",
    "approval": "{} waits for approval",
    "function": "{} asks",
    "crash": "{} was interrupted in a call",
}


class PendingView(View, Sequence[Question]):
    """The questions of a session that wait for a person, in the order of asking."""

    def __init__(self, questions: Sequence[Question]) -> None:
        """Take the questions as they are now.

        Args:
            questions: all that are open, so that each is told from the others.
        """
        self._questions = tuple(questions)
        self._nodes = Counter(question.node for question in questions)

    def __len__(self) -> int:
        return len(self._questions)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same questions."""
        return isinstance(other, Sequence) and self._questions == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as for every sequence that equals a list

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, index: int | slice) -> Question | tuple[Question, ...]:
        return self._questions[index]

    def text(self) -> str:
        """A paragraph per question, with the line that answers it."""
        if not self._questions:
            return "No open questions"
        hidden = len(self) - LIMIT
        rest = [f"… {hidden:,} more questions"] if hidden > 0 else []
        return "\n".join([*map(self._paragraph, self._questions[:LIMIT]), *rest])

    def html(self) -> Markup:
        """A card with a box per question."""
        chip = status_chip("needs you") if self._questions else None
        return card(header("Questions", chip, _counted(self)), part(self.body()))

    def body(self) -> Markup:
        """The boxes, to stand in a card."""
        if not self._questions:
            return small("No open questions.")
        boxes = map(self._box, self._questions[:LIMIT])
        return tag("div", *boxes, more(len(self) - LIMIT, "more questions"))

    def example(self, question: Question, *, every_field: bool = False) -> Any:
        """An answer to fill in, as short as it may be given.

        Args:
            question: one of these.
            every_field: whether fields that may be left out are in it.
        """
        form = answer_form(question.form)
        answer = form.example(every_field=every_field)
        single = form.single
        if question.form.get("type") != "object" or single is None or len(answer) != 1:
            return answer
        value = answer.get(single.name)
        return answer if isinstance(value, Mapping) else value

    def line(self, question: Question, *, every_field: bool = False) -> str:
        """The line of Python that answers a question with :meth:`example`."""
        answer = self.example(question, every_field=every_field)
        which = f", question={python_text(self.name(question))}" if len(self) > 1 else ""
        shown = python_text(answer) if text_size(answer) <= _LINE_CAP else FILL_IN
        return f"await agent.resume({shown}{which})"

    def name(self, question: Question) -> str:
        """What tells a question from the other open ones: its node's name, or its id."""
        node = question.node
        is_clear = self._nodes[node] == 1 and one_line(node) == node
        return node if is_clear else question.id

    def lines(self, question: Question) -> Iterator[str]:
        """The line with what must be there, and that with everything, if there is more."""
        shortest = self.line(question)
        yield shortest
        fullest = self.line(question, every_field=True)
        if fullest != shortest:
            yield fullest

    # ── text ─────────────────────────────────────────────────────────────────────────────────────

    def asked(self, question: Question) -> str:
        """Who asks what, as text."""
        text = visible(question.text, _TEXT_CAP).replace("\n", "\n  ")
        return f"{STATUSES['needs you'].icon} {asker(question)}: {text}"

    def _paragraph(self, question: Question) -> str:
        wanted = (f"  {line}" for line in wanted_lines(question))
        ways = (f"  → {way}" for way in self.lines(question))
        return "\n".join([self.asked(question), *wanted, *ways])

    # ── HTML ─────────────────────────────────────────────────────────────────────────────────────

    def _box(self, question: Question) -> Markup:
        colours = STATUSES["needs you"].light
        icon = STATUSES["needs you"].icon
        head = tag("div", asker(question), style="font-size:12px;margin:0 0 6px")
        asked = tag(
            "div",
            text_block(f"{icon} {visible(question.text, _TEXT_CAP)}"),
            style=f"font-size:14px;font-weight:600;color:{colours.text};padding:0 0 2px",
        )
        ways = self._ways(question)
        body = [asked, head, _wanted(answer_form(question.form)), _until_html(question), *ways]
        look = f"color:{INK};background:{colours.ground};border:1px solid {colours.border}"
        edge = f"border-left:4px solid {colours.border};border-radius:8px;padding:10px 16px"
        return tag("div", *body, _given(question), style=f"{look};{edge};margin:0 0 8px")

    def _ways(self, question: Question) -> Iterator[Markup]:
        look = f"{MONO};{WRAPPED};background:{PAPER};border-radius:6px;padding:4px 8px"
        for line in self.lines(question):
            yield tag("div", line, style=f"{look};margin:6px 0 0")


# ── the parts of both ────────────────────────────────────────────────────────────────────────────


def asker(question: Question) -> str:
    """Who asks, in words."""
    return _ASKERS[question.kind].format(one_line(question.node))


def wanted_lines(question: Question) -> Iterator[str]:
    """What an answer must be, and until when, in lines."""
    form = answer_form(question.form)
    if not form.fields:
        yield f"answer: {_explained(form)}"
    for field in form.fields[:_FIELDS]:
        yield f"{one_line(field.name)}{_if_wanted(field)}: {_explained(field.form)}"
    if len(form.fields) > _FIELDS:
        yield f"… {len(form.fields) - _FIELDS:,} more fields"
    if until := _until(question):
        yield until


def _explained(form: Form) -> str:
    about = f" ({one_line(form.description, _VALUE_CAP)})" if form.description else ""
    return f"{one_line(form.words, _WORDS_CAP)}{about}"


def _if_wanted(field: Field) -> str:
    return "" if field.required else " (may be left out)"


def _until(question: Question) -> str:
    """Until when it may be answered, and what comes then; empty for ever."""
    if question.deadline is None:
        return ""
    if not question.fallback:
        return f"Until {stamp(question.deadline)}; then {one_line(question.node)} fails."
    answer = json_text(question.fallback[0], _VALUE_CAP)
    return f"Until {stamp(question.deadline)}; then the answer is {one_line(answer, _VALUE_CAP)}"


def _until_html(question: Question) -> Markup:
    until = _until(question)
    return tag("div", until, style=_SMALL) if until else Markup("")


def _wanted(form: Form) -> Markup:
    """What an answer must be: a row per field."""
    if not form.fields:
        return tag("div", f"Answer: {_explained(form)}", style=_SMALL)
    rows = (
        tag("div", code(one_line(f.name)), f"{_if_wanted(f)}: {_explained(f.form)}", style=_ROW)
        for f in form.fields[:_FIELDS]
    )
    return join(*rows, more(len(form.fields) - _FIELDS, "more fields"))


def _given(question: Question) -> Markup:
    """What the node was given, folded; nothing when that was nothing."""
    if question.input is None:
        return Markup("")
    given = text_block(value_text(question.input, _TEXT_CAP), mono=True)
    return folded("What it was given", given, style=f"{_SMALL};padding:6px 0 0")


def _counted(view: Sequence[Question]) -> str:
    return count(len(view), "open question")
