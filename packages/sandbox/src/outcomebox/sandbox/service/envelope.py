"""Answers in the API's envelope: ``{success, content: {type: string|object, value}}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from outcomebox.sandbox.service.refusals import RefusedRequest

RETRY_AFTER_S = 1
"""What a client is told that finds all places taken."""


class Json(Response):
    """A JSON answer, in ASCII: half a character of a tool's answer becomes its own escape."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, separators=(",", ":")).encode()


def answered(value: str | Mapping[str, Any]) -> Json:
    """A success: a text or an object."""
    kind = "string" if isinstance(value, str) else "object"
    return Json({"success": True, "content": {"type": kind, "value": value}})


def refused(error: RefusedRequest) -> Json:
    """An error; the API has another form for a missing token."""
    if error.status == 401:
        return Json({"success": False, "error": str(error)}, status_code=401)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if error.status == 429 else None
    content = {"type": "string", "value": str(error)}
    return Json({"success": False, "content": content}, error.status, headers)
