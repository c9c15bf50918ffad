"""How a request to a model's endpoint can fail."""

from __future__ import annotations

import re
from typing import Any


class ChatError(Exception):
    """No usable answer after retries.

    Attributes:
        status: The HTTP status that settled it; None where there was none.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ContextTooLong(ChatError):
    """The conversation does not fit the model's context: its end, and nobody's failure."""


class Transient(Exception):
    """An answer worth another try: the endpoint is busy or down, or its answer was cut off.

    Attributes:
        status: The HTTP status; None where the connection or the answer broke.
        after_s: Seconds after which the endpoint wants to be asked again, where it says so.
    """

    def __init__(self, message: str, status: int | None, after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.after_s = after_s


_TOO_LONG = re.compile(
    r"context[ _-]?(length|window)|max_model_len|maximum model length|(prompt|input) is too long"
    r"|maximum (prompt|input) length|longer than the model|exceeds? the (model|maximum|context)",
    re.IGNORECASE,
)
_TOO_LONG_STATUSES = frozenset({400, 413, 422})


def says_too_long(status: int, text: str) -> bool:
    """Whether an endpoint refuses a request because the model's context cannot hold it.

    There is no common code for it: OpenAI says ``context_length_exceeded``, vLLM "maximum context
    length", sglang "longer than the model's context length".

    Args:
        status: The HTTP status.
        text: The answer's body.
    """
    return status in _TOO_LONG_STATUSES and _TOO_LONG.search(text[:4000]) is not None


def error_in(body: Any) -> tuple[str, int | None] | None:
    """Message and status of an error that came with status 200, or inside a stream."""
    if not isinstance(body, dict) or not body.get("error"):
        return None
    error = body["error"]
    if not isinstance(error, dict):
        return str(error), None
    code = error.get("code")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    return str(error.get("message") or error), status
