"""A policy for these tests that writes what a test tells it to, one raw text a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.interpret import render
from outcomebox.rollout import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.sandbox import Task

SHELF = Path(__file__).parents[2] / "sandbox" / "tests" / "domains" / "shelf"


class Says:
    """Writes some completions in order, in every episode."""

    name = "says"
    simulated = True
    format = "qwen3_xml"

    def __init__(self, *turns: Completion | str | BaseException) -> None:
        self.turns = turns
        self.seen: list[list[Message]] = []

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": self.name, "simulated": True}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """From the first turn on."""
        return _Saying(self)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Saying:
    def __init__(self, policy: Says) -> None:
        self._policy = policy
        self._next = 0

    async def complete(self, messages: Sequence[Message]) -> Completion:
        self._policy.seen.append([dict(message) for message in messages])
        turn = self._policy.turns[self._next]
        self._next += 1
        if isinstance(turn, BaseException):
            raise turn
        return turn if isinstance(turn, Completion) else Completion(turn)


def call(tool: str, **arguments: object) -> str:
    """A turn that calls one tool."""
    return render(reasoning=None, content=None, tool_calls=[(tool, arguments)])


def shelf_task(**changes: Any) -> Task:
    """A task of the shelf domain: move B-008 to S-2."""
    plain = {
        "uid": "shelf/test/1",
        "domain": "shelf",
        "family": "test",
        "query": "Please move box B-008 to the right shelf.",
        "expect": {"boxes": {"update": [{"key": {"box_id": "B-008"}, "set": {"shelf_id": "S-2"}}]}},
        "limits": {"tool_deadline_s": 2.0},
        **changes,
    }
    return Task.model_validate(plain)


MOVE = call("move_box", box_id="B-008", shelf_id="S-2")
END = "Done. <DONE>"
