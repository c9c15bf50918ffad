"""One assistant turn, whoever took the model's output apart: our interpreter or the endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.interpret import Toolbox, interpret
from outcomebox.rollout.policy import Completion, Message
from outcomebox.rollout.tokens import recorded_tokens
from outcomebox.sandbox import InputError

DONE = "<DONE>"


def says_done(text: str | None) -> bool:
    """Whether a visible text ends the conversation."""
    return text is not None and text.rstrip().endswith(DONE)


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A tool call of a turn, to be executed or answered with an error.

    Attributes:
        id: Unique in the episode.
        name: Tool name as the model wrote it.
        arguments: Typed arguments; empty where they could not be read.
        status: The interpreter's status, or ``ok`` or ``malformed`` for an endpoint's call.
        executable: Whether it goes to the server.
        message: What is wrong with it, for the model; empty when nothing is.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    status: str
    executable: bool
    message: str

    def to_json(self) -> dict[str, Any]:
        """As a row holds it."""
        return {
            "id": self.id,
            "name": self.name,
            "arguments": dict(self.arguments),
            "status": self.status,
            "executable": self.executable,
        }


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What an assistant turn says and asks for."""

    reasoning: str | None
    content: str | None
    calls: tuple[TurnCall, ...]
    diagnostics: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether the visible text ends the conversation."""
        return says_done(self.content)

    def message(self, completion: Completion) -> Message:
        """The assistant message as a row holds it: what was read, and all that it was read from.

        Args:
            completion: What the policy gave; its raw output is recorded with its surroundings, so
                that another reader can read the same.
        """
        message: Message = {"role": "assistant", "content": self.content}
        if self.reasoning is not None:
            message["reasoning"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [call.to_json() for call in self.calls]
        if self.diagnostics:
            message["diagnostics"] = list(self.diagnostics)
        if completion.structured is None:
            message["raw"] = completion.text
            message["prompt_state"] = completion.prompt_state
        elif completion.raw is not None:
            message["raw"] = completion.raw
        message["finish_reason"] = completion.finish_reason
        return message | recorded_tokens(completion)


def check_profile(profile: str, format: str) -> None:  # noqa: A002 -- the interpreter's word
    """See that the interpreter has a profile and that it reads a format.

    Raises:
        InputError: It has not, or it does not.
    """
    try:
        interpret("", format=format, profile=profile)
    except ValueError as error:
        raise InputError(str(error), field="profile") from None


def read_turn(
    completion: Completion,
    tools: Toolbox,
    *,
    turn: int,
    format: str,  # noqa: A002 -- the interpreter's word
    profile: str,
) -> AgentTurn:
    """Read a completion.

    Args:
        completion: What the policy gave.
        tools: The session's tools, whose schemas type the arguments.
        turn: Index of the turn; makes call ids unique.
        format: Interpreter format of raw text.
        profile: Interpreter profile.
    """
    if completion.structured is not None:
        return _structured(completion, turn)
    read = interpret(
        completion.text,
        tools=tools,
        format=format,
        profile=profile,
        prompt_state=completion.prompt_state,
        finish_reason=completion.finish_reason,
    )
    calls = tuple(
        TurnCall(
            id=f"call_{turn}_{index}",
            name=call.name or "",
            arguments=call.arguments,
            status=call.status,
            executable=call.executable,
            message=call.message or "",
        )
        for index, call in enumerate(read.tool_calls)
    )
    return AgentTurn(
        read.reasoning,
        read.content,
        calls,
        tuple(str(diagnostic) for diagnostic in read.diagnostics),
    )


def _structured(completion: Completion, turn: int) -> AgentTurn:
    calls = []
    for index, call in enumerate(completion.structured or ()):
        problem = ""
        arguments: Any = {}
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError) as error:  # the latter: nested too deep
            problem = f"the arguments are not JSON: {error}"
        if not problem and not isinstance(arguments, dict):
            problem = "the arguments are not a JSON object"
        calls.append(
            TurnCall(
                id=call.id or f"call_{turn}_{index}",
                name=call.name,
                arguments={} if problem else arguments,
                status="malformed" if problem else "ok",
                executable=not problem,
                message=problem,
            )
        )
    return AgentTurn(completion.reasoning, completion.text or None, tuple(calls), ())
