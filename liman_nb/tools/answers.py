"""What a person answers, held against the JSON schema of the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def schema_problem(form: dict[str, Any], *, patterns: bool = True) -> str:
    """What is wrong with a JSON schema itself; empty when nothing is.

    Args:
        form: the schema.
        patterns: whether a ``pattern`` must be a regular expression of Python's.
    """
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        formats = {} if patterns else {"format_checker": FormatChecker(formats=())}
        validator_for(form).check_schema(form, **formats)
    except SchemaError as error:
        return error.message
    return ""


def answer_problems(form: Mapping[str, Any], answer: Any) -> list[str]:
    """One sentence for each thing in an answer that does not fit; nothing is fetched for it.

    Args:
        form: a JSON schema; references lead nowhere but into itself.
        answer: a JSON value.
    """
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = validator_for(form)(form, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(answer), key=lambda error: error.json_path)
    except Unresolvable as error:
        return [f"the question's schema refers to something outside of it: {error}"]
    return [f"{_place(error.json_path)}{error.message}" for error in errors]


def filled_form(form: Mapping[str, Any], answer: Any) -> Any:
    """The answer as a mapping, where a form of one field is answered by that field's value alone.

    So ``True`` answers a question for approval, whose form is ``{approved: true, comment: …}``.
    """
    if isinstance(answer, Mapping) or form.get("type") != "object":
        return answer
    fields = list(form.get("properties", {}))
    wanted = list(form.get("required", ())) or fields
    return {wanted[0]: answer} if len(wanted) == 1 else answer


def _place(json_path: str) -> str:
    return "" if json_path == "$" else f"{json_path.removeprefix('$').removeprefix('.')}: "
