"""Errors of the official OpenAI client, and of servers' error objects, become errors of ours.

Importing this module does not import the client. `tests/models/test_openai_errors.py` walks the
client's exception classes and fails when one has no counterpart here.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from liman_nb.errors import (
    LimanError,
    ModelContentFiltered,
    ModelError,
    ModelFormatRefused,
    ModelRateLimited,
    ModelRejected,
    ModelReplyInvalid,
    ModelReplyTruncated,
    ModelServerError,
    ModelUnavailable,
    SetupError,
)
from liman_nb.models.json_ways import refuses_way
from liman_nb.models.openai_replies import quote

_TIMEOUT, _TOO_MANY, _SERVER_FAULT = 408, 429, 500

_HINTS: Mapping[int, str] = {
    401: "; check the API key",
    403: "; check what the API key may do",
    404: "; check the model's name and base_url",
}

BY_CLASS: Mapping[str, type[LimanError]] = {
    "APITimeoutError": ModelUnavailable,
    "APIConnectionError": ModelUnavailable,
    "APIResponseValidationError": ModelReplyInvalid,
    "LengthFinishReasonError": ModelReplyTruncated,
    "ContentFilterFinishReasonError": ModelContentFiltered,
    "StreamAlreadyConsumed": ModelUnavailable,
    "WebSocketConnectionClosedError": ModelUnavailable,
    "WebSocketQueueFullError": ModelUnavailable,
    "SubjectTokenProviderError": SetupError,
    "MissingDependencyError": SetupError,
    "MutuallyExclusiveAuthError": SetupError,
    "APIRemovedInV1": SetupError,
    "_AmbiguousModuleClientUsageError": SetupError,
    "APIStatusError": ModelRejected,  # and its subclasses: by status, see `from_status`
    "APIError": ModelServerError,  # an error object in the middle of a stream: see `from_object`
    "OpenAIError": SetupError,  # the client itself: no key, or settings that exclude each other
}
"""Name of a class of the client's, in any of its versions, to a class of ours; the most derived
class counts."""


def from_client(error: Exception, who: str) -> LimanError:
    """What an exception of the client means.

    Args:
        error: an ``openai.OpenAIError`` or an exception of the HTTP library below it.
        who: the model and server, for the message.
    """
    name = next((c.__name__ for c in type(error).__mro__ if c.__name__ in BY_CLASS), "")
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and name == "APIStatusError":
        return from_status(status, _said(error), getattr(error, "response", None), who)
    if name == "APIError":
        return from_object(getattr(error, "body", None) or str(error), who)
    if name == "APITimeoutError":
        return ModelUnavailable(f"{who} did not answer in time; ask again or raise timeout")
    kind = BY_CLASS.get(name, ModelUnavailable)
    if kind is ModelUnavailable:
        return kind(
            f"no connection to {who}, or it broke ({_cause(error)}); is the server running, and "
            "is base_url right?"
        )
    if kind is SetupError:
        return kind(f"the client for {who} cannot be used: {quote(str(error))}")
    return kind(f"{who}: {quote(str(error))}")


def from_status(status: int, said: str, response: Any, who: str) -> ModelError:
    """What an HTTP status of 400 or more means.

    Args:
        status: the HTTP status.
        said: the server's own words.
        response: the HTTP response, for its headers, or ``None``.
        who: the model and server, for the message.
    """
    message = f"{who} answered HTTP {status}: {quote(said)}{_HINTS.get(status, '')}"
    if status == _TOO_MANY:
        wait = retry_after(response.headers if response is not None else {})
        after = "" if wait is None else f"; it asks to wait {wait:g} seconds"
        return ModelRateLimited(message + after, wait)
    if status == _TIMEOUT:
        return ModelUnavailable(message)
    if refuses_way(status, said):
        return ModelFormatRefused(message)
    return (ModelServerError if status >= _SERVER_FAULT else ModelRejected)(message)


def from_object(error: Any, who: str) -> ModelError:
    """What an error object means that came in place of a reply, or in the middle of one."""
    code = error.get("code") if isinstance(error, Mapping) else None
    said = error.get("message") if isinstance(error, Mapping) else error
    if re.fullmatch("[45][0-9][0-9]", str(code)):
        return from_status(int(str(code)), _text(said or error), None, who)
    return ModelServerError(f"{who} sent an error in place of a reply: {quote(said or error)}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the headers of a reply, or ``None``.

    ``Retry-After`` holds seconds or a date (RFC 9110, section 10.2.3); OpenAI also sends
    ``retry-after-ms``.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None or not value:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _said(error: Exception) -> str:
    """The server's message, without the client's own wording around it."""
    body = getattr(error, "body", None)
    said = body.get("message") or body if isinstance(body, Mapping) else body
    return _text(said or str(error))


def _text(said: Any) -> str:
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)


def _cause(error: Exception) -> str:
    """The innermost reason, such as a refused connection."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return quote(str(error) or type(error).__name__)
