"""Whether a row or state would come back equal: its own fields do, the values in it may not.

The models of this package say what type each of their fields has; what a user's code put into a
field that takes anything is looked at here.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from liman_nb.state.json_values import check_json


def check_storable(model: BaseModel, path: str) -> None:
    """Refuses a row or state that JSON would not give back equal.

    Args:
        model: a row, or a state.
        path: its name in the error, such as ``row 3``.

    Raises:
        NotStorable: with the path of the first value that would come back changed.
    """
    fields = type(model).model_fields
    for name, value in model:
        _check(value, fields[name].annotation, f"{path}.{name}")


def _check(value: Any, annotation: Any, path: str) -> None:
    if isinstance(value, dict) and (item := _typed_item(annotation)) is not None:
        check_json(list(value), f"the keys of {path}")
        for key, each in value.items():
            _check(each, item, f"{path}.{key}")
    elif annotation is Any or isinstance(value, str | dict):
        check_json(value, path)
    elif isinstance(value, BaseModel):
        check_storable(value, path)
    elif isinstance(value, tuple):
        (item, *_) = get_args(annotation)
        for index, each in enumerate(value):
            _check(each, item, f"{path}[{index}]")


def _typed_item(annotation: Any) -> Any:
    """The type of the values of a ``dict[str, T]``; ``None`` where they may be anything."""
    if get_origin(annotation) is not dict:
        return None
    _, item = get_args(annotation)
    return None if item is Any else item
