"""The stand-in as an agent: the simulated policy, found again from the messages alone.

It keeps nothing between requests. The conversation so far and the seed tell where the simulated
agent is: it is started anew and goes through the turns that were taken, so that any process gives
the same answer to the same request.

Two things are the *model's* doing and so occur whether or not the endpoint misbehaves: some calls
come malformed and are sent again, and some come two at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.interpret import Toolbox, interpret
from outcomebox.rollout.policies.simulated import SimulatedPolicy
from outcomebox.rollout.policy import EpisodeContext, Message, PolicyEpisode
from outcomebox.rollout.standin.known import Known
from outcomebox.rollout.standin.said import Refused, Said, SaidCall, text_of

MALFORMED = ("cut_arguments", "no_object", "unknown_tool", "no_name")
"""Ways in which a call of the model is malformed."""
_RESPONSE = ("<tool_response>\n", "\n</tool_response>")


@dataclass(frozen=True)
class Model:
    """What stands for the model.

    Attributes:
        known: The tasks.
        policy: The simulated policy behind it.
        malformed: Share of turns with calls whose first call is first sent malformed.
        parallel: Share of turns with a call that are sent together with the call after it.
    """

    known: Known
    policy: SimulatedPolicy
    malformed: float = 0.05
    parallel: float = 0.2

    def describe(self) -> Mapping[str, Any]:
        """Its settings."""
        return {
            **self.policy.describe(),
            "malformed": self.malformed,
            "parallel": self.parallel,
        }

    async def answer(self, request: Mapping[str, Any], *, raw: bool) -> Said:
        """The next turn of a conversation.

        Args:
            request: Of the chat API; its ``seed`` decides what goes wrong.
            raw: Answer with the raw output of the model as content, as a server without parsers.

        Raises:
            Refused: The conversation is about no task that is known.
        """
        messages = request["messages"]
        offered = frozenset(
            str(tool.get("function", {}).get("name")) for tool in request.get("tools") or ()
        )
        found = self.known.of_agent(messages, offered)
        if found is None:
            raise Refused(
                "the stand-in is no model: it only knows the tasks it was started with, and "
                "no user message of this conversation is the query of one"
            )
        task, at = found
        seed = int(request.get("seed") or 0)
        tools = self.known.tools[task.domain]
        context = EpisodeContext(task, tools, seed, 0, golden=task.golden)
        turns = _Turns(self, self.policy.start(context), f"{seed}\0{task.uid}", raw)
        toolbox = Toolbox([tool.openai() for tool in tools])
        heard = _heard(messages)
        for end, message in enumerate(heard):
            if end > at and message["role"] == "assistant":
                await turns.next(heard[:end], toolbox)
        return await turns.next(heard, toolbox)


class _Turns:
    """The turns of one conversation, from its first."""

    def __init__(self, model: Model, agent: PolicyEpisode, luck: str, raw: bool) -> None:
        self._model = model
        self._agent = agent
        self._luck = luck
        self._raw = raw
        self._taken = 0
        self._held: list[Said] = []
        self._mended = False

    async def next(self, messages: Sequence[Message], toolbox: Toolbox) -> Said:
        """The next turn, given what stands before it."""
        said = self._held.pop(0) if self._held else await self._speak(messages, toolbox)
        if not self._raw and said.calls and not self._held and not self._mended:
            if self._drawn("parallel") < self._model.parallel:
                after = await self._speak(messages, toolbox)
                if after.calls:
                    said = Said(said.content, said.reasoning, said.calls + after.calls)
                else:
                    self._held.append(after)
            if self._drawn("malformed") < self._model.malformed:
                # Sent again, whole, in the next turn: nothing of this one is to count.
                self._held.insert(0, said)
                self._mended = True
                said = Said(said.content, said.reasoning, (self._malformed(said.calls[0]),))
        else:
            self._mended = False
        named = tuple(
            SaidCall(f"call_{self._taken}_{index}", call.name, call.arguments)
            for index, call in enumerate(said.calls)
        )
        self._taken += 1
        return Said(said.content, said.reasoning, named)

    async def _speak(self, messages: Sequence[Message], toolbox: Toolbox) -> Said:
        completion = await self._agent.complete(messages)
        if self._raw:
            return Said(completion.text)
        read = interpret(
            completion.text,
            tools=toolbox,
            format=self._model.policy.format,
            profile="strict",
            prompt_state=completion.prompt_state,
            finish_reason=completion.finish_reason,
        )
        calls = []
        for call in read.tool_calls:
            text = json.dumps(call.arguments, ensure_ascii=False)
            # What a server's parser makes of a call that does not come to its end.
            calls.append(SaidCall("", call.name, text if call.executable else text[:-1]))
        return Said(read.content, read.reasoning, tuple(calls))

    def _malformed(self, call: SaidCall) -> SaidCall:
        kind = MALFORMED[int(self._drawn("kind") * len(MALFORMED))]
        if kind == "cut_arguments":
            return SaidCall("", call.name, call.arguments[: len(call.arguments) // 2] or "{")
        if kind == "no_object":
            return SaidCall("", call.name, json.dumps([call.arguments]))
        if kind == "unknown_tool":
            return SaidCall("", f"{call.name}_now", call.arguments)
        return SaidCall("", None, call.arguments)

    def _drawn(self, what: str) -> float:
        """A number of [0, 1) that this turn of this conversation always has."""
        digest = hashlib.sha256(f"{self._luck}\0{self._taken}\0{what}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


def _heard(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages of the chat API as policies take them."""
    heard: list[Message] = []
    for message in messages:
        role, text = message.get("role"), text_of(message)
        if role == "user" and text.startswith(_RESPONSE[0]) and text.endswith(_RESPONSE[1]):
            content = text[len(_RESPONSE[0]) : -len(_RESPONSE[1])]
            heard.append({"role": "tool", "content": content})
        elif role == "assistant":
            calls = [_call(call) for call in message.get("tool_calls") or ()]
            heard.append({"role": role, "content": text, "tool_calls": calls})
        else:
            heard.append({"role": role, "content": text})
    return heard


def _call(told: Mapping[str, Any]) -> dict[str, Any]:
    function = told.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError:
        arguments = {}  # its own malformed call, given back as it was
    return {
        "name": function.get("name") or "",
        "arguments": arguments if isinstance(arguments, dict) else {},
    }
