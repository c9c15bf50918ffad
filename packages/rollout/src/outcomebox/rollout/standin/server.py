"""The stand-in endpoint: an OpenAI-compatible server on loopback with no model behind it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

from outcomebox.rollout.policies.simulated import SimulatedPolicy
from outcomebox.rollout.standin import bodies, roles
from outcomebox.rollout.standin.agent import Model
from outcomebox.rollout.standin.breaking import Answered, break_answer, break_before
from outcomebox.rollout.standin.chaos import Chaos, Luck
from outcomebox.rollout.standin.known import Known, known_tasks
from outcomebox.rollout.standin.said import Refused, Said
from outcomebox.rollout.standin.wire import Hung, Wire
from outcomebox.sandbox import InputError, TaskSet
from outcomebox.sandbox.ungrouped import ungrouped

AGENT, RAW, USER, JUDGE = "stand-in", "stand-in-raw", "stand-in-user", "stand-in-judge"
MODELS = (AGENT, RAW, USER, JUDGE)
"""An agent whose calls come read, one whose output comes raw, a user, a judge."""
COUNTS = "/v1/stand-in"
"""Where what has happened can be read."""
_JSON, _EVENTS = "application/json", "text/event-stream"
_NATURE = (("x-stand-in", bodies.NATURE),)
_LISTED = {
    "object": "list",
    "data": [{"id": name, "object": "model", "owned_by": "stand-in"} for name in MODELS],
}


@dataclass
class StandIn:
    """The endpoint.

    Attributes:
        model: What stands for the model.
        chaos: What goes wrong; None: nothing.
        delay_s: Seconds that each answer takes.
        yes: Share of a judge's questions answered with yes.
        address: What a client takes as ``base_url``.
        asked: Requests for a completion that came.
        answered: Those that were answered whole.
        inside: Those that are being answered now.
        most_inside: The most there ever were at a time.
    """

    model: Model
    chaos: Chaos | None = None
    delay_s: float = 0.0
    yes: float = 1.0
    address: str = ""
    asked: int = 0
    answered: int = 0
    inside: int = 0
    most_inside: int = 0
    luck: Luck = field(init=False)

    def __post_init__(self) -> None:
        self.luck = Luck(self.chaos)

    def counts(self) -> dict[str, Any]:
        """What has happened so far, as the address :data:`COUNTS` tells it."""
        return {
            "nature": bodies.NATURE,
            "pid": os.getpid(),
            "model": dict(self.model.describe()),
            "chaos": None if self.chaos is None else self.chaos.describe(),
            "asked": self.asked,
            "answered": self.answered,
            "most_inside": self.most_inside,
            "injected": dict(sorted(self.luck.injected.items())),
        }

    async def serve(self, stream: SocketStream) -> None:
        """Answer the requests of one connection."""
        async with stream:
            wire = Wire(stream)
            try:
                while True:
                    method, path, body = await wire.request()
                    await self._one(wire, method, path, body)
            except Hung:
                return

    async def _one(self, wire: Wire, method: str, path: str, body: bytes) -> None:
        try:
            if method == "POST" and path == "/v1/chat/completions":
                await self._complete(wire, _request(body))
            elif method == "GET" and path == "/v1/models":
                await _tell(wire, _LISTED)
            elif method == "GET" and path == COUNTS:
                await _tell(wire, self.counts())
            else:
                told = bodies.error(f"the stand-in has no {method} {path}", 404)
                await wire.whole(404, told, _JSON, _NATURE)
        except Refused as refusal:
            told = bodies.error(str(refusal), refusal.status)
            await wire.whole(refusal.status, told, _JSON, _NATURE)

    async def _complete(self, wire: Wire, request: Mapping[str, Any]) -> None:
        self.asked += 1
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        streamed = bool(request.get("stream"))
        try:
            digest = bodies.digest_of(request)
            kind = self.luck.draw(digest, stream=streamed)
            if kind is not None and self.chaos is not None:
                await break_before(wire, kind, self.chaos)
            if self.delay_s:
                await anyio.sleep(self.delay_s)
            said = await self._say(request)
            if kind is not None and self.chaos is not None:
                await break_answer(wire, kind, self.chaos, request, said)
            elif streamed:
                await wire.head(200, _EVENTS, _NATURE)
                for chunk in bodies.events(request, said, digest):
                    await wire.piece(bodies.event(chunk))
                await wire.piece(bodies.DONE)
                await wire.end()
            else:
                await _tell(wire, bodies.completion(request, said, digest))
            self.answered += 1
        except Answered:
            return
        finally:
            self.inside -= 1

    async def _say(self, request: Mapping[str, Any]) -> Said:
        name, messages = request.get("model"), request["messages"]
        try:
            if name in {AGENT, RAW}:
                return await self.model.answer(request, raw=name == RAW)
            if name == USER:
                return roles.play_user(self.model.known, messages)
            if name == JUDGE:
                return roles.judge(self.model.known, messages, yes=self.yes)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise Refused(f"the request is not as the protocol has it: {error!r}") from error
        raise Refused(f"there is no model {name!r}; there are {', '.join(MODELS)}", 404)


@asynccontextmanager
async def standin(
    tasks: Known | TaskSet | Sequence[str] = (),
    chaos: Chaos | None = None,
    *,
    port: int = 0,
    policy: SimulatedPolicy | None = None,
    malformed: float = 0.05,
    parallel: float = 0.2,
    delay_s: float = 0.0,
    yes: float = 1.0,
) -> AsyncIterator[StandIn]:
    """The endpoint on a port of loopback, as long as the context is open.

    Args:
        tasks: What it knows; by default the bundled tasks.
        chaos: What goes wrong; by default nothing.
        port: The port; any that is free by default.
        policy: The simulated policy behind it.
        malformed: Share of turns with calls whose first call is first sent malformed.
        parallel: Share of turns with a call that come with the next call beside it.
        delay_s: Seconds that each answer takes.
        yes: Share of a judge's questions answered with yes.

    Yields:
        The endpoint; its address ends in ``/v1``.

    Raises:
        InputError: The port is taken, or a task cannot be used.
    """
    known = tasks if isinstance(tasks, Known) else await known_tasks(tasks)
    endpoint = StandIn(
        Model(known, policy or SimulatedPolicy(), malformed, parallel), chaos, delay_s, yes
    )
    try:
        listener = await anyio.create_tcp_listener(
            local_host="127.0.0.1", local_port=port, backlog=4096
        )
    except OSError as error:
        raise InputError(
            f"cannot be used ({error.strerror}); choose another, or 0 for a free one",
            field="port",
            value=port,
        ) from error
    bound = listener.extra(SocketAttribute.local_port)  # noqa: S610 -- a socket's, no query's
    endpoint.address = f"http://127.0.0.1:{bound}/v1"
    with ungrouped():
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, endpoint.serve)
            try:
                yield endpoint
            finally:
                group.cancel_scope.cancel()


def _request(body: bytes) -> Mapping[str, Any]:
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused(f"the request is not JSON: {error}") from error
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise Refused("the request has no list of messages")
    found: Mapping[str, Any] = request
    return found


async def _tell(wire: Wire, body: Mapping[str, Any]) -> None:
    await wire.whole(200, json.dumps(body, ensure_ascii=False).encode(), _JSON, _NATURE)
