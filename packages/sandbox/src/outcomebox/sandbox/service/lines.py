"""MCP on this process's own standard streams: a message a line, answered in its turn."""

from __future__ import annotations

import json
import sys

import anyio
import anyio.to_thread

from outcomebox.sandbox.rpc import Message
from outcomebox.sandbox.service.mcpanswers import PARSE_ERROR, Served, answer, failure


async def serve_standard_streams(served: Served) -> None:
    """Answer until standard input ends, or nobody reads any more."""
    while True:
        # A thread that waits for a line that never comes must not keep the program from ending.
        line = await anyio.to_thread.run_sync(sys.stdin.buffer.readline, abandon_on_cancel=True)
        if not line:
            return
        if not line.strip():
            continue
        told: Message | None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            told = failure(None, PARSE_ERROR, str(error))
        else:
            told = await answer(message, served)
        if told is None:
            continue
        try:
            sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            return
