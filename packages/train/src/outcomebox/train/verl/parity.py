"""Parity inside training: what was carried out is what evaluation reads from the same ids.

Each turn of a finished episode is read once more, from the ids of its row alone: their text, where
the prompt's ids left the model, and what the evaluation profile reads from it. That is compared
with what the episode loop had read and with the calls whose answers stand in the conversation.
Every difference counts, and each is kept in the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.interpret import Toolbox
from outcomebox.interpret.tokens import Tokenizer, prompt_state_of, read_ids
from outcomebox.rollout import Completion
from outcomebox.rollout.turns import AgentTurn, read_turn

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that training carried out and evaluation would not have, or the other way round.

    Attributes:
        turn: Index of the model's turn.
        field: What differs: ``raw``, ``prompt_state``, ``content``, ``reasoning``, ``calls`` or
            ``carried_out``.
        trained: What the row has, shortened.
        read: What its ids are read as, shortened.
    """

    turn: int
    field: str
    trained: str
    read: str

    def to_json(self) -> dict[str, Any]:
        """As a row holds it."""
        return {
            "turn": self.turn,
            "field": self.field,
            "trained": self.trained,
            "read": self.read,
        }


@dataclass(frozen=True, slots=True)
class Parity:
    """What was found in an episode.

    Attributes:
        turns: Turns that were read again.
        differences: All that differs.
    """

    turns: int
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """As a row holds it."""
        return {
            "turns": self.turns,
            "differences": [each.to_json() for each in self.differences],
        }


def parity_of(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    tokenizer: Tokenizer,
    *,
    format: str,  # noqa: A002 -- the interpreter's word
    profile: str,
) -> Parity:
    """Read the turns of an episode once more.

    Args:
        messages: The messages of its row.
        tools: The tools of its session, as OpenAI tool objects.
        tokenizer: The model's tokenizer.
        format: How the model writes calls.
        profile: What evaluation reads with.
    """
    toolbox = Toolbox(tools)
    found: list[Difference] = []
    standing: list[int] = []
    turns = 0
    for at, message in enumerate(messages):
        if message.get("role") != "assistant" or not message.get("ids"):
            continue  # of the task's own history, or said by a tool in the agent's place
        context = message.get("context_ids") or ()
        standing = [*context] if message.get("restarts") else [*standing, *context]
        completion = Completion(
            read_ids(message["ids"], tokenizer)[0],
            finish_reason=message["finish_reason"],
            prompt_state=prompt_state_of(standing, tokenizer, format),
        )
        standing += message["ids"]
        read = read_turn(completion, toolbox, turn=turns, format=format, profile=profile)
        found += _differences(turns, message, completion, read, messages[at + 1 :])
        turns += 1
    return Parity(turns, tuple(found))


def _answered(behind: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Id and name of the calls that were answered before the model spoke again."""
    answered = []
    for message in behind:
        if message.get("role") != "tool":
            break
        answered.append((message["tool_call_id"], message["name"]))
    return answered


def _differences(
    turn: int,
    message: Mapping[str, Any],
    completion: Completion,
    read: AgentTurn,
    behind: Sequence[Mapping[str, Any]],
) -> list[Difference]:
    calls = [call.to_json() for call in read.calls]
    due, carried_out = [(call["id"], call["name"]) for call in calls], _answered(behind)
    if not any(each.get("ids") for each in behind):
        # The last turn: a limit or a tool that ends it may keep calls from being made, none added.
        due = due[: len(carried_out)]
    pairs = (
        ("raw", message.get("raw"), completion.text),
        ("prompt_state", message.get("prompt_state"), completion.prompt_state),
        ("content", message.get("content"), read.content),
        ("reasoning", message.get("reasoning"), read.reasoning),
        ("calls", message.get("tool_calls", []), calls),
        ("carried_out", carried_out, due),
    )
    return [
        Difference(turn, name, _short(trained), _short(again))
        for name, trained, again in pairs
        if trained != again
    ]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
