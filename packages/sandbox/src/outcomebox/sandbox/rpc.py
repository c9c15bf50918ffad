"""JSON-RPC with a tool server, as MCP has it: requests by number, answers in any order.

A session makes about ten calls and lives for tenths of a second. The SDK's client spends more on
those than the servers do, so the few messages that are needed are spoken here, over the same lines.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import anyio.abc
import orjson

from outcomebox.sandbox.ungrouped import ungrouped

# Longest answer that is read; a server that never ends a line must not eat the memory.
MAX_LINE_BYTES = 64 * 1024 * 1024
PROTOCOL_VERSION = "2025-06-18"
"""What is asked for; every server since has it. What it answers with changes nothing used here."""
_METHOD_NOT_FOUND = -32601

Message = dict[str, Any]


class HungUp(Exception):
    """The server closed its side, or said something without end."""


class Refused(Exception):
    """The server answered with a protocol error."""


class Messages(Protocol):
    """Where messages go and come from."""

    async def send(self, message: Message) -> None:
        """Send one.

        Raises:
            HungUp: Nobody is there to take it.
        """
        ...

    def received(self) -> AsyncIterator[Message]:
        """Messages as they come, until the other side hangs up."""
        ...


class LineMessages:
    """Messages over a byte stream, one JSON object a line."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._sending = anyio.Lock(fast_acquire=True)

    async def send(self, message: Message) -> None:
        """Send one.

        Raises:
            HungUp: The server has closed its standard input.
        """
        # Not orjson: a model may write whole numbers of any size, and half a character.
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            async with self._sending:
                await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise HungUp from error

    async def received(self) -> AsyncIterator[Message]:
        """Messages as they come; what is none is passed over, since servers do print."""
        pending = bytearray()
        while True:
            try:
                data = await self._stream.receive(1 << 18)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            pending += data
            if b"\n" not in data:
                if len(pending) > MAX_LINE_BYTES:
                    return
                continue
            *lines, rest = bytes(pending).split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                message = _parsed(line)
                if message is not None:
                    yield message


def _parsed(line: bytes) -> Message | None:
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            message = json.loads(line)  # takes half a character too
        except ValueError:
            return None
    return message if isinstance(message, dict) else None


@dataclass
class _Waiting:
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Message | None = None


class Peer:
    """The client's end. Made by :func:`peer`."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0
        self._gone = False

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            Refused: The server answered with a protocol error, or with no object.
            HungUp: The server is gone.
        """
        self._number += 1
        number = self._number
        waiting = self._waiting[number] = _Waiting()
        try:
            if self._gone:
                raise HungUp
            await self._messages.send(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            )
            await waiting.done.wait()
        finally:
            del self._waiting[number]
        answer = waiting.answer
        if answer is None:
            raise HungUp
        result = answer.get("result")
        if isinstance(result, dict):
            return result
        error = answer.get("error")
        raise Refused(str(error.get("message")) if isinstance(error, dict) else f"{answer}")

    async def notify(self, method: str) -> None:
        """Tell.

        Raises:
            HungUp: The server is gone.
        """
        await self._messages.send({"jsonrpc": "2.0", "method": method})

    async def listen(self) -> None:
        """Take what the server says, until it hangs up or nobody listens any more."""
        try:
            async for message in self._messages.received():
                if "method" in message:
                    await self._asked(message)
                    continue
                waiting = self._waiting.get(message.get("id"))  # type: ignore[arg-type]
                if waiting is not None:
                    waiting.answer = message
                    waiting.done.set()
        finally:
            # Who waits in another task than the session's is told when the session ends.
            self._gone = True
            for waiting in self._waiting.values():
                waiting.done.set()

    async def _asked(self, message: Message) -> None:
        """Answer a server's request: it may see that we live, and we offer it nothing."""
        number = message.get("id")
        if number is None:
            return  # a notification: progress, a log line, a changed list
        answer: Message = {"jsonrpc": "2.0", "id": number}
        if message["method"] == "ping":
            answer["result"] = {}
        else:
            words = f"this client has no {message['method']}"
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": words}
        try:
            await self._messages.send(answer)
        except HungUp:
            return  # the end of what is received says so too


@asynccontextmanager
async def peer(messages: Messages) -> AsyncIterator[Peer]:
    """A client's end that listens until the block is left."""
    end = Peer(messages)
    with ungrouped():
        async with anyio.create_task_group() as group:
            group.start_soon(end.listen)
            try:
                yield end
            finally:
                group.cancel_scope.cancel()
