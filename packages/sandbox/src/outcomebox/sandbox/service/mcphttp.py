"""MCP's streamable HTTP, without state and without streams: a message in, its answer out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from outcomebox.sandbox.service.envelope import Json
from outcomebox.sandbox.service.mcpanswers import PARSE_ERROR, Served, answer, failure
from outcomebox.sandbox.service.refusals import RefusedRequest
from outcomebox.sandbox.service.requests import read_json


def mcp_endpoint(served: Callable[[Request], Served]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for ``POST``; others are no method of it, which tells clients not to stream.

    Args:
        served: Whose tools a request is about.
    """

    async def endpoint(request: Request) -> Response:
        try:
            data = await read_json(request)
        except RefusedRequest as error:
            if error.status != 400:
                raise
            return Json(failure(None, PARSE_ERROR, str(error)), 400)
        whose = served(request)
        if isinstance(data, list):  # an older version of the protocol has batches
            answers = [await answer(message, whose) for message in data]
            given = [each for each in answers if each is not None]
            return Json(given) if given else Response(status_code=202)
        told = await answer(data, whose)
        return Response(status_code=202) if told is None else Json(told)

    return endpoint
