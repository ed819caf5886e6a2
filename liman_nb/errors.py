"""Every error that liman_nb raises, split by whose turn it is to act.

    LimanError
    ├── SpecError              the author of a spec: every problem found, with file:line:column
    │   ├── NotationError          one text that does not parse, with a caret
    │   │   ├── ConditionSyntaxError   a condition of an edge
    │   │   └── JoinSyntaxError        what a node waits for
    │   └── SpecChanged            an open turn was begun with another graph
    ├── SetupError             whoever set up this machine: a model, key, file or package is missing
    │   └── RealModelForbidden     a test was about to call a real model
    ├── UsageError             the caller of a method: wrong argument, wrong moment
    │   ├── OpenTurn               the session's last turn is not finished
    │   ├── AnswerInvalid          an answer does not fit its question, which stays open
    │   ├── UnknownSession         no such session in this storage
    │   ├── ContextMissing         an open turn needs call-time context again
    │   └── FunctionMissing        an open turn needs a function attached again
    ├── StorageError           the storage: locked, corrupt, unreadable
    │   ├── NotStorable            a value that JSON would not give back equal
    │   └── SessionConflict        another writer has this session
    ├── NodeError              one node run failed; stored with the run and shown in the tree
    │   ├── ModelError             the language model: see its subclasses
    │   ├── ToolError              a tool call that could not be made or failed
    │   │   └── NotApproved            a person did not allow it
    │   ├── QuestionExpired        nobody answered in time, and there is no fallback
    │   ├── YieldsError            a reply that does not fit the declared yields
    │   └── BoundExceeded          a turn reached a bound
    ├── TurnFailed             a turn ended failed: names the node and the cause, carries the result
    └── EngineError            a defect of this package, never of its user

A message says what happened, where, and what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


class LimanError(Exception):
    """Base of every error of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        """As a copy of itself: an error comes back from another process with all it carries."""
        return _remade, (type(self), self.args, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: the message says what to do, and where."""
        return [f"{type(self).__name__}: {self}"]


def _remade(kind: type[LimanError], args: tuple[Any, ...], carried: dict[str, Any]) -> LimanError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(carried)
    return error


# ── specs ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a source something stands.

    Attributes:
        file: path as given by the user, or a name in angle brackets for text (``<specs>``).
        line: 1-based; 0 when unknown.
        column: 1-based; 0 when unknown.
    """

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """``file:line:column``, without the parts that are unknown."""
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding about a spec.

    Attributes:
        message: what is wrong.
        place: where, when known.
        subject: kind and name of the document, such as ``LLMNode chat``; empty when unknown.
        hint: what to do next, such as ``did you mean 'prompts'?``; empty when there is none.
        level: an ``error`` stops loading, a ``warning`` is listed by ``check()``.
    """

    message: str
    place: Place | None = None
    subject: str = ""
    hint: str = ""
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """``file:line:column: LLMNode chat: what is wrong; what to do next``."""
        first, line_break, rest = self.message.partition("\n")
        text = ": ".join(str(p) for p in (self.place, self.subject, first) if p)
        return (
            f"{text}; {self.hint}{line_break}{rest}" if self.hint else f"{text}{line_break}{rest}"
        )


class SpecError(LimanError):
    """Specs that cannot become a graph.

    Attributes:
        problems: every error found, in the order of the sources.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = "" if count == 1 else f"{count} errors in the specs:\n"
        super().__init__(head + "\n".join(str(p) for p in self.problems))


class NotationError(SpecError):
    """A text in one of the notations of specs that does not parse.

    Attributes:
        text: the whole text.
        position: 0-based offset of the first wrong character; ``len(text)`` for an early end.
    """

    def __init__(
        self, message: str, text: str, position: int, place: Place | None = None, hint: str = ""
    ) -> None:
        self.text, self.position = text, position
        shown, at = _window(text, position)
        super().__init__([Problem(f"{message}\n  {shown}\n  {' ' * at}^", place, hint=hint)])


class ConditionSyntaxError(NotationError):
    """A condition that does not parse."""


class JoinSyntaxError(NotationError):
    """What a node waits for does not parse."""


def _window(text: str, position: int, width: int = 76) -> tuple[str, int]:
    """The part of ``text`` around ``position`` as one printable line, and the caret's offset."""
    flat = "".join(c if c.isprintable() else " " for c in text)
    start = max(0, min(position - width // 2, len(flat) - width))
    lead = "…" if start else ""
    tail = "…" if start + width < len(flat) else ""
    return lead + flat[start : start + width] + tail, position - start + len(lead)


class SpecChanged(SpecError):
    """An open turn was begun with another graph than the one that is loaded now."""


# ── the machine, the caller ──────────────────────────────────────────────────────────────────────


class SetupError(LimanError):
    """A model, key, file or package that this machine lacks; the message is the command to run."""


class RealModelForbidden(SetupError):
    """A real model was about to be called where that is forbidden, as in tests."""


class UsageError(LimanError):
    """A call with a wrong argument or at a wrong moment."""


class OpenTurn(UsageError):
    """The session's last turn has not ended: it was interrupted, or waits for a person."""


class AnswerInvalid(UsageError):
    """An answer that does not fit its question. Nothing is stored, and the question stays open.

    Attributes:
        errors: one sentence for each thing that does not fit.
    """

    def __init__(self, message: str, errors: Sequence[str]) -> None:
        self.errors = tuple(errors)
        super().__init__(message)


class UnknownSession(UsageError):
    """No session of that id in this storage."""


class ContextMissing(UsageError):
    """An open turn was begun with context keys that were not supplied again."""


class FunctionMissing(UsageError):
    """An open turn was begun with functions attached to its nodes that are not attached now."""


# ── storage ──────────────────────────────────────────────────────────────────────────────────────


class StorageError(LimanError):
    """The storage cannot be read or written."""


class NotStorable(StorageError):
    """A value that would not come back equal from JSON.

    Attributes:
        path: where in the value, such as ``output.items[3]``.
    """

    def __init__(self, message: str, path: str) -> None:
        self.path = path
        super().__init__(message)


class SessionConflict(StorageError):
    """Another writer changed or holds the session; says whether the input was stored."""


# ── node runs ────────────────────────────────────────────────────────────────────────────────────


class NodeError(LimanError):
    """A node run failed. What is stored of it is its type, its message and where it was raised."""


class ModelError(NodeError):
    """A language model did not give a usable reply.

    Attributes:
        retryable: whether the same request may succeed later.
    """

    retryable = False


class ModelUnavailable(ModelError):
    """No connection, a time-out, or a connection that broke in the middle of a reply."""

    retryable = True


class ModelRateLimited(ModelError):
    """HTTP 429.

    Attributes:
        retry_after: seconds the server asked to wait, or ``None``.
    """

    retryable = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class ModelServerError(ModelError):
    """HTTP 5xx."""

    retryable = True


class ModelRejected(ModelError):
    """HTTP 4xx other than 429: key, model name, or a request the server does not accept."""


class ModelFormatRefused(ModelRejected):
    """The server does not know the way in which it was asked for JSON."""


class ModelReplyTruncated(ModelError):
    """The reply stopped at the token limit (finish reason ``length``)."""


class ModelContentFiltered(ModelError):
    """The provider withheld the reply (finish reason ``content_filter``)."""


class ModelRefused(ModelError):
    """The model refused in the protocol's own refusal field."""


class ModelReplyInvalid(ModelError):
    """A reply that the protocol does not allow, such as one without choices."""


class ScriptExhausted(ModelError):
    """A scripted model was asked once more than its script has replies."""


class NotRecorded(ModelError):
    """A recording has no reply for a request; the message says what differs from the nearest."""


class ToolError(NodeError):
    """A tool call that could not be made (unknown tool, bad arguments) or that failed."""


class NotApproved(ToolError):
    """A call of a tool with ``approval: true`` that a person did not allow."""


class QuestionExpired(NodeError):
    """A question that nobody answered in time, and that has no fallback."""


class YieldsError(NodeError):
    """A reply that does not fit the declared yields.

    Attributes:
        reply: what was returned, as text.
        errors: one sentence per field that does not fit.
    """

    def __init__(self, message: str, reply: str, errors: Sequence[str]) -> None:
        self.reply, self.errors = reply, tuple(errors)
        super().__init__(message)


class BoundExceeded(NodeError):
    """A turn reached one of its bounds.

    Attributes:
        bound: the bound's name, as in :class:`liman_nb.Bounds`.
        limit: its value.
    """

    def __init__(self, message: str, bound: str, limit: float) -> None:
        self.bound, self.limit = bound, limit
        super().__init__(message)


class TurnFailed(LimanError):
    """A turn ended failed. The session stays usable.

    Attributes:
        result: the :class:`liman_nb.StepResult` of the turn, with every error.
    """

    def __init__(self, message: str, result: Any) -> None:
        self.result = result
        super().__init__(message)


class EngineError(LimanError):
    """A defect of this package: the tree is in a state that no rule allows."""

    _render_traceback_ = None  # type: ignore[assignment]  # a defect is shown with its traceback
