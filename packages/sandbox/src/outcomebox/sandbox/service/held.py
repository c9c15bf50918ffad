"""One session that is held for a client between its requests."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from outcomebox.sandbox.connection import ToolResult, ToolSpec
from outcomebox.sandbox.errors import SandboxFault, ToolDeadline
from outcomebox.sandbox.service.live import Live
from outcomebox.sandbox.service.refusals import RefusedRequest, full, no_session
from outcomebox.sandbox.service.requests import SessionCreate

SERVER_TOOL = "__reserved__server_tool"
"""The API's tool that calls any tool of a server by name."""
PROXY_INFO = "__reserved__proxy_info"
_log = logging.getLogger("outcomebox.service")


class Held:
    """A session between requests. It lives in a task of its own, :meth:`hold`.

    Requests that come at the same time are served one after the other: a session is one
    conversation, and its order of calls is what its state depends on.

    Args:
        order: What was asked for.

    Attributes:
        info: What the client has noted with it.
        error: Why it did not come up, or did not end well.
    """

    def __init__(self, order: SessionCreate) -> None:
        self.order = order
        self.info: dict[str, Any] = {}
        self.error: Exception | None = None
        self._live: Live | None = None
        self._made: list[dict[str, Any]] = []
        self._settled = anyio.Event()
        self._leave = anyio.Event()
        self._gone = anyio.Event()
        self._turn = anyio.Lock()
        self._using = 0
        self._used = time.monotonic()
        self._scope = anyio.CancelScope()

    @property
    def idle_s(self) -> float:
        """Seconds since the last request; 0 while one is served or it is coming up."""
        if self._using or not self._settled.is_set():
            return 0.0
        return time.monotonic() - self._used

    async def hold(
        self,
        opening: AbstractAsyncContextManager[Live],
        places: anyio.Semaphore,
        *,
        most: int,
        wait_s: float,
    ) -> None:
        """Take a place, open the session, and keep it until it is to go.

        Args:
            opening: The session.
            places: Where a place is taken, and given back when the session is gone.
            most: How many places there are.
            wait_s: Seconds to wait for one.
        """
        placed = False
        try:
            with self._scope:
                placed = await _place(places, wait_s)
                if placed:
                    async with opening as live:
                        self._live = live
                        self._used = time.monotonic()
                        self._settled.set()
                        await self._leave.wait()
                else:
                    self.error = full(most)
        except (SandboxFault, RefusedRequest) as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 -- one session's fault must not end the others
            _log.error("session %s", self.order.session_id, exc_info=error)
            self.error = error
        finally:
            if placed:
                places.release()
            if self._live is None and self.error is None:
                self.error = no_session()  # destroyed before it was there
            self._settled.set()
            self._gone.set()

    async def opened(self) -> Mapping[str, Any]:
        """What its start told, once it is up.

        Raises:
            RefusedRequest: It did not come up; the message says why.
        """
        await self._settled.wait()
        if self._live is None or self.error is not None:
            raise _as_refusal(self.error or no_session())
        return self._live.init_result

    async def destroy(self) -> None:
        """End it, and wait until all of it is gone."""
        self._leave.set()
        if not self._settled.is_set():
            self._scope.cancel()
        await self._gone.wait()

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """What the agent may call.

        Raises:
            RefusedRequest: It is not up.
        """
        return self._lively().tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool that the agent may call.

        Raises:
            RefusedRequest: There is no such tool, or no answer.
        """
        async with self._used_by() as live:
            if all(tool != each.name for each in live.tools):
                raise RefusedRequest(f"Tool {tool} does not exist")
            timeout = self.order.timeout
            try:
                result = await live.call(tool, arguments, deadline_s=timeout)
            except ToolDeadline as error:
                message = f"Tool call timed out after {timeout} seconds"
                raise RefusedRequest(message, 504) from error
            except SandboxFault as error:
                raise _as_refusal(error) from error
            return self._noted(tool, arguments, result)

    async def call_server(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call any tool of a server, for the harness.

        Raises:
            RefusedRequest: There is no such tool, or no answer.
        """
        async with self._used_by() as live:
            try:
                result = await live.call_server(server, tool, arguments)
            except KeyError:
                raise RefusedRequest(f"Tool {server} > {tool} does not exist") from None
            except SandboxFault as error:
                raise _as_refusal(error) from error
            given = {"server_name": server, "tool_name": tool, "arguments": arguments}
            return self._noted(SERVER_TOOL, given, result)

    async def effects(self) -> dict[str, Any]:
        """What is the case, by server.

        Raises:
            RefusedRequest: It cannot be told.
        """
        async with self._used_by() as live:
            try:
                found = dict(await live.effects())
            except SandboxFault as error:
                raise _as_refusal(error) from error
            if self.order.geteffects_proxy_info:
                found[PROXY_INFO] = {"tool_calls": list(self._made)}
            return found

    def note(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """Add to what the client has noted; gives all of it."""
        self._used = time.monotonic()
        self.info.update(update)
        return self.info

    def _noted(self, tool: str, arguments: Mapping[str, Any], result: ToolResult) -> ToolResult:
        if self.order.always_json_output:
            result = as_json(result)
        if self.order.geteffects_proxy_info:
            made = {"tool_name": tool, "arguments": arguments, "response": first_text(result)}
            self._made.append(made)
        return result

    def _lively(self) -> Live:
        if self._live is None or self._leave.is_set() or self._gone.is_set():
            raise no_session()
        return self._live

    @asynccontextmanager
    async def _used_by(self) -> AsyncIterator[Live]:
        self._using += 1
        try:
            async with self._turn:
                yield self._lively()
        finally:
            self._using -= 1
            self._used = time.monotonic()


async def _place(places: anyio.Semaphore, wait_s: float) -> bool:
    try:
        places.acquire_nowait()
    except anyio.WouldBlock:
        with anyio.move_on_after(wait_s):
            await places.acquire()
            return True
        return False
    return True


def first_text(result: ToolResult) -> str:
    """The text of an answer's first block, which is all that the API passes on."""
    if not result.content:
        return result.text
    first = result.content[0]
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return str(first["text"])
    return json.dumps(first, ensure_ascii=False)


def as_json(result: ToolResult) -> ToolResult:
    """An answer whose first text is JSON: any other becomes ``{"result": text}``."""
    text = first_text(result)
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = {"result": text}
        text = json.dumps(read)
        result = replace(result, text=text, content=[{"type": "text", "text": text}])
    return replace(result, structured=read) if isinstance(read, dict) else result


def _as_refusal(error: Exception) -> RefusedRequest:
    if isinstance(error, RefusedRequest):
        return error
    if isinstance(error, SandboxFault):
        return RefusedRequest(str(error))
    return RefusedRequest(f"{type(error).__name__}: {error}", 500)
