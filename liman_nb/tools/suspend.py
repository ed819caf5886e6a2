"""What a tool or a function raises to ask a person before it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from liman_nb.errors import UsageError
from liman_nb.state.json_values import check_json
from liman_nb.tools.answers import answer_problems, schema_problem


class _NoFallback:
    def __repr__(self) -> str:
        return "no fallback"


NO_FALLBACK = _NoFallback()


class Suspend(BaseException):  # no Exception: a tool that catches those must not swallow it
    """Raised by a tool or a function: a person has to answer before it can go on.

    The turn goes on where it can and ends with status ``suspended``; `StepResult.pending` has the
    question. After ``await agent.resume(answer)``, in this process or another one, the function is
    called again with the same arguments and gets the answer as its parameter ``answer``, which is
    ``None`` in the first call. What it did before it raised this happens again, so ask first. What
    it noted in ``state`` is kept.

    Args:
        question: what the person is asked.
        schema: what an answer must be: a JSON schema, or a type such as ``bool``,
            ``Literal["yes", "no"]`` or a pydantic model; ``None`` for any JSON value.
        timeout: seconds until the fallback is the answer; ``None`` to wait for ever.
        fallback: the answer then. Without one, the node run fails with
            :class:`liman_nb.errors.QuestionExpired`.

    Raises:
        UsageError: an argument that cannot be used.
    """

    def __init__(
        self,
        question: str,
        *,
        schema: Any = None,
        timeout: float | None = None,
        fallback: Any = NO_FALLBACK,
    ) -> None:
        if not isinstance(question, str) or not question.strip():
            raise UsageError(f"Suspend takes the question as a text, not {question!r:.80}")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"Suspend: timeout is a number of seconds above 0, not {timeout!r}")
        self.question, self.timeout = question, timeout
        self.form = _form(schema)
        self.fallback: tuple[Any, ...] = () if fallback is NO_FALLBACK else (fallback,)
        check_json(list(self.fallback), "fallback")
        for problem in [p for value in self.fallback for p in answer_problems(self.form, value)]:
            raise UsageError(f"Suspend: the fallback does not fit the schema: {problem}")
        super().__init__(question)


def _form(schema: Any) -> dict[str, Any]:
    form: dict[str, Any] = {}
    if isinstance(schema, Mapping):
        check_json(dict(schema), "schema")
        form = json.loads(json.dumps(dict(schema)))
    elif schema is not None:
        try:
            form = TypeAdapter(schema).json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise UsageError(
                f"Suspend: schema={schema!r:.80} is neither a JSON schema nor a type that has one"
            ) from error
    if problem := schema_problem(form):
        raise UsageError(f"Suspend: the schema is no JSON schema: {problem}")
    return form
