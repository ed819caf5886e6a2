"""The questions that wait for a person, as they are handed out. Read off a tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from liman_nb.engine.ids import question_id
from liman_nb.engine.tree import Tree
from liman_nb.state.json_values import copied
from liman_nb.state.rows import QuestionKind


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits for a person. ``await agent.resume(answer)`` answers it.

    Attributes:
        id: names it, where several are open: ``agent.resume(answer, question=…)``.
        node: name of the node that asks.
        kind: who asks: a ``human`` node, a tool that needs ``approval``, a ``function`` that raised
            `Suspend`, or a tool whose call a ``crash`` may have cut short.
        text: the question.
        form: JSON schema of the answer; empty for any JSON value.
        input: what the node was given; the arguments of a tool.
        deadline: until when it may be answered, UTC; ``None`` for ever.
        fallback: the answer after that, in a tuple of its own; empty for none.
    """

    id: str
    node: str
    kind: QuestionKind
    text: str
    form: Mapping[str, Any]
    input: Any
    deadline: datetime | None = None
    fallback: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


def open_questions(tree: Tree, running: Collection[str] = ()) -> tuple[Question, ...]:
    """The questions of a session that wait for a person, in the order of asking.

    Args:
        tree: the session.
        running: ids of the executors that run at this moment. One that left a question for the case
            that its process ends (``on_crash: ask``) asks nobody while it runs.
    """
    return tuple(
        Question(
            id=question_id(executor.id, executor.asked),
            node=executor.node,
            kind=asked.kind,
            text=asked.text,
            form=copied(asked.form),
            input=copied(executor.input),
            deadline=datetime.fromisoformat(asked.deadline) if asked.deadline else None,
            fallback=copied(asked.fallback),
        )
        for executor in map(tree.executors.__getitem__, tree.asking)
        if (asked := executor.question) is not None and executor.id not in running
    )
