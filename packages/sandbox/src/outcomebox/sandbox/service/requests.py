"""The bodies of requests, as the session-proxy API has them; other fields are passed over."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from outcomebox.sandbox.service.refusals import RefusedRequest

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Longest body that is read: a world state may hold a whole database."""

SessionId = Annotated[str, Field(min_length=1, max_length=256)]
_BodyT = TypeVar("_BodyT", bound=BaseModel)


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class SessionCreate(_Body):
    """``POST /session_create``; ``seed`` is ours."""

    session_id: SessionId
    server_config: dict[str, dict[str, Any]]
    available_tools: list[str]
    timeout: float = Field(default=120.0, gt=0, le=3600, allow_inf_nan=False)
    always_json_output: bool = False
    geteffects_proxy_info: bool = False
    seed: int | None = Field(default=None, ge=0, lt=2**63)


class OfSession(_Body):
    """``POST /session_destroy``, ``/get_effects`` and ``/list_tools``."""

    session_id: SessionId


class Everything(_Body):
    """``POST /session_destroy_all``."""


class SessionInfo(_Body):
    """``POST /session_info``."""

    session_id: SessionId
    update: dict[str, Any] = Field(default_factory=dict)


class CallTool(_Body):
    """``POST /call_tool``."""

    session_id: SessionId
    tool_name: str
    arguments: dict[str, Any]


class ServerTool(_Body):
    """The arguments of the tool that calls any tool of a server by name."""

    server_name: str
    tool_name: str
    arguments: dict[str, Any]


class GarbageCollect(_Body):
    """``POST /garbage_collect``."""

    inactivity_minutes: float = Field(ge=0, allow_inf_nan=False)


async def read_json(request: Request) -> Any:
    """The body of a request as JSON.

    Raises:
        RefusedRequest: It is too long, or no JSON.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise RefusedRequest(f"A body may have {MAX_BODY_BYTES} bytes", 413)
        parts.append(part)
    body = b"".join(parts)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)  # takes whole numbers of any size, and half a character, too
    except (ValueError, RecursionError):
        raise RefusedRequest("Invalid input: the body is no JSON") from None


def parsed(model: type[_BodyT], data: Any) -> _BodyT:
    """What a body says.

    Raises:
        RefusedRequest: A field is missing or wrong.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the body"
        raise RefusedRequest(f"Invalid input: {field}: {problem['msg']}") from None
