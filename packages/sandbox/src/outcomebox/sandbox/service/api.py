"""The endpoints of the session-proxy API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from outcomebox.sandbox.connection import ToolResult, ToolSpec
from outcomebox.sandbox.service import requests
from outcomebox.sandbox.service.envelope import answered, refused
from outcomebox.sandbox.service.held import SERVER_TOOL, first_text
from outcomebox.sandbox.service.mcpanswers import Served
from outcomebox.sandbox.service.mcphttp import mcp_endpoint
from outcomebox.sandbox.service.metrics import CONTENT_TYPE
from outcomebox.sandbox.service.refusals import RefusedRequest
from outcomebox.sandbox.service.sessions import Sessions

SESSION_HEADER = "X-TB-Session-Id"
_BodyT = TypeVar("_BodyT", bound=BaseModel)
_Value = str | Mapping[str, Any]


class Api:
    """Answers requests about sessions.

    Args:
        sessions: The sessions.
        server_tool: Whether ``call_tool`` takes the tool that calls any tool of a server.
    """

    def __init__(self, sessions: Sessions, *, server_tool: bool) -> None:
        self._sessions = sessions
        self._server_tool = server_tool

    async def create(self, order: requests.SessionCreate) -> _Value:
        """Open a session; gives what the start of each server told."""
        return await self._sessions.create(order)

    async def info(self, asked: requests.SessionInfo) -> _Value:
        """What the client has noted with a session."""
        return self._sessions.get(asked.session_id).note(asked.update)

    async def destroy(self, asked: requests.OfSession) -> _Value:
        """End a session."""
        await self._sessions.destroy(asked.session_id)
        return "Ok"

    async def destroy_all(self, _: requests.Everything) -> _Value:
        """End all sessions."""
        await self._sessions.destroy_all()
        return "Ok"

    async def list_tools(self, asked: requests.OfSession) -> _Value:
        """The tools that the agent may call."""
        tools = self._sessions.get(asked.session_id).tools
        return {"tools": {tool.name: _shown(tool) for tool in tools}}

    async def call_tool(self, asked: requests.CallTool) -> _Value:
        """The text of a tool's answer."""
        held = self._sessions.get(asked.session_id)
        if asked.tool_name != SERVER_TOOL:
            return first_text(await held.call(asked.tool_name, asked.arguments))
        if not self._server_tool:
            raise RefusedRequest(
                f"{SERVER_TOOL} would let an agent reach what is the harness's; the service "
                "takes it when it was started with --server-tool"
            )
        given = requests.parsed(requests.ServerTool, asked.arguments)
        result = await held.call_server(given.server_name, given.tool_name, given.arguments)
        return first_text(result)

    async def get_effects(self, asked: requests.OfSession) -> _Value:
        """What is the case, by server."""
        return await self._sessions.get(asked.session_id).effects()

    async def garbage_collect(self, asked: requests.GarbageCollect) -> _Value:
        """End the sessions that have been idle for so long."""
        ended = await self._sessions.expire(asked.inactivity_minutes * 60)
        return {"count": len(ended), "session_ids": ended}

    def served(self, request: Request) -> Served:
        """Whose tools a request for MCP is about: the header says."""
        name = request.headers.get(SESSION_HEADER)

        def get() -> str:
            if not name:
                raise RefusedRequest(f"Missing {SESSION_HEADER} header")
            return name

        async def call(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
            return await self._sessions.get(get()).call(tool, arguments)

        return Served("SessionProxy", lambda: self._sessions.get(get()).tools, call)


def service_app(api: Api, figures: Callable[[], str]) -> Starlette:
    """The application.

    Args:
        api: Answers.
        figures: The metrics' text.
    """

    async def health(_: Request) -> Response:
        return PlainTextResponse("OK")

    async def metrics(_: Request) -> Response:
        return Response(figures(), media_type=CONTENT_TYPE)

    mcp = mcp_endpoint(api.served)
    routes = [
        Route("/session_create", _post(requests.SessionCreate, api.create), methods=["POST"]),
        Route("/session_info", _post(requests.SessionInfo, api.info), methods=["POST"]),
        Route("/session_destroy", _post(requests.OfSession, api.destroy), methods=["POST"]),
        Route(
            "/session_destroy_all", _post(requests.Everything, api.destroy_all), methods=["POST"]
        ),
        Route("/list_tools", _post(requests.OfSession, api.list_tools), methods=["POST"]),
        Route("/call_tool", _post(requests.CallTool, api.call_tool), methods=["POST"]),
        Route("/get_effects", _post(requests.OfSession, api.get_effects), methods=["POST"]),
        Route(
            "/garbage_collect",
            _post(requests.GarbageCollect, api.garbage_collect),
            methods=["POST"],
        ),
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/mcp", mcp, methods=["POST"]),
        Route("/mcp/", mcp, methods=["POST"]),
    ]
    return guarded_errors(routes)


def guarded_errors(routes: list[Route]) -> Starlette:
    """An application whose errors are all in the API's envelope."""

    async def on_refusal(_: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedRequest)  # noqa: S101 -- for the type
        return refused(error)

    async def on_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 -- for the type
        return refused(RefusedRequest(error.detail, error.status_code))

    async def on_fault(_: Request, error: Exception) -> Response:
        # What it was is logged where it goes on to.
        return refused(RefusedRequest(f"Internal error: {type(error).__name__}", 500))

    handlers = {RefusedRequest: on_refusal, HTTPException: on_http, Exception: on_fault}
    return Starlette(routes=routes, exception_handlers=handlers)


def _post(
    model: type[_BodyT], give: Callable[[_BodyT], Awaitable[_Value]]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return answered(await give(requests.parsed(model, await requests.read_json(request))))

    return endpoint


def _shown(tool: ToolSpec) -> dict[str, Any]:
    return {"description": tool.description, "inputSchema": dict(tool.input_schema)}
