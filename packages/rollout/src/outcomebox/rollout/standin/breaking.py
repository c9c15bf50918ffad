"""How each kind of chaos looks on the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import anyio

from outcomebox.rollout.standin import bodies
from outcomebox.rollout.standin.chaos import Chaos, Kind
from outcomebox.rollout.standin.said import Said
from outcomebox.rollout.standin.wire import Hung, Wire

_JSON, _EVENTS, _HTML = "application/json", "text/event-stream", "text/html"
_PAGE = b"<html><body><h1>%d</h1>A stand-in broke this on purpose.</body></html>"
_STATUS: Mapping[Kind, Literal[429, 500, 502, 503]] = {
    "rate_limited": 429,
    "rate_limited_bare": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "unavailable": 503,
}


async def break_before(wire: Wire, kind: Kind, chaos: Chaos) -> None:
    """Break a request that has come; kinds that break the answer are left to :func:`break_answer`.

    Raises:
        Hung: The connection or the answer is broken, and has ended.
    """
    status = _STATUS.get(kind)
    if status is not None:
        told = bodies.error("broken on purpose", status)
        page = kind == "bad_gateway"
        headers = []
        if kind == "rate_limited":
            headers = [("retry-after", f"{chaos.retry_after_s:g}")]
        await wire.whole(
            status, _PAGE % status if page else told, _HTML if page else _JSON, headers
        )
        raise Answered
    if kind == "stalled":
        await anyio.sleep(chaos.stall_s)
        raise Hung
    if kind == "reset_before":
        wire.reset()


async def break_answer(
    wire: Wire, kind: Kind, chaos: Chaos, request: Mapping[str, Any], said: Said
) -> None:
    """Give an answer that is broken; a slow one is only slow.

    Raises:
        Hung: The connection has ended.
    """
    digest = bodies.digest_of(request)
    if request.get("stream"):
        chunks = [bodies.event(chunk) for chunk in bodies.events(request, said, digest)]
        await _break_stream(wire, kind, chaos, chunks)
        return
    body = json.dumps(bodies.completion(request, said, digest)).encode()
    if kind == "garbage_body":
        await wire.whole(200, _PAGE % 200, _JSON)
    elif kind == "error_body":
        await wire.whole(200, bodies.error("broken on purpose", 500), _JSON)
    else:
        await wire.head(200, _JSON, [("content-length", str(len(body)))])
        half = len(body) // 2
        if kind == "slow_body":
            await wire.piece(body[:half])
            await anyio.sleep(chaos.slow_s)
            await wire.piece(body[half:])
            await wire.end()
            return
        await wire.piece(body[:half])
        if kind == "reset_after":
            wire.reset()
        raise Hung
    raise Answered


async def _break_stream(wire: Wire, kind: Kind, chaos: Chaos, chunks: list[bytes]) -> None:
    await wire.head(200, _EVENTS)
    half = max(1, len(chunks) // 2)
    if kind == "slow_stream":
        for chunk in (*chunks, bodies.DONE):
            await wire.piece(chunk)
            await anyio.sleep(chaos.slow_s / len(chunks))
        await wire.end()
        return
    if kind == "stream_without_done":
        kept = chunks
    elif kind == "stream_without_finish":
        kept = [*(chunk for chunk in chunks if b'"finish_reason":null' in chunk), bodies.DONE]
    elif kind == "stream_error":
        told = bodies.error("broken on purpose", 500)
        kept = [*chunks[:half], b"data: " + told + b"\n\n"]
    elif kind == "garbage_stream":
        kept = [*chunks[:half], b'data: {"choices": [{"ind\n\n', bodies.DONE]
    else:
        kept = chunks[:half]
    for chunk in kept:
        await wire.piece(chunk)
    if kind == "reset_stream":
        wire.reset()
    if kind == "truncated_stream":
        raise Hung
    await wire.end()
    raise Answered


class Answered(Exception):
    """A broken answer has been given whole; the connection goes on."""
