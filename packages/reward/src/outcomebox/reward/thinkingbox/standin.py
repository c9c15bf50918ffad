"""Who answers the questions of checks in a replay: a protocol, and a stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Reply


class ReplayJudge(Protocol):
    """Answers a check's questions to a judge."""

    @property
    def protocol(self) -> str:
        """How it is asked and answers: ``legacy`` or ``motivation``."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        ...

    async def check(self) -> None:
        """See before a run that it can answer at all.

        Raises:
            InputError: It cannot, with what to mend.
        """
        ...

    async def answer(self, question: JudgeQuestion) -> Reply:
        """Its reply.

        Raises:
            Exception: There is none; the check then has no verdict.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class StandIn:
    """Says the same to every question. No model: a replay has no answer that one could judge."""

    protocol = "legacy"

    def __init__(self, says: Literal["yes", "no", "none"]) -> None:
        self._says = says

    def describe(self) -> Mapping[str, Any]:
        """Its name, which says that it is a stand-in."""
        return {"name": f"stand-in ({self._says})"}

    async def check(self) -> None:
        """Nothing to see."""

    async def answer(self, question: JudgeQuestion) -> Reply:
        """The one answer.

        Raises:
            RuntimeError: It is ``none``.
        """
        if self._says == "none":
            raise RuntimeError(f"no judge is configured for: {question.user[-200:]}")
        return Reply(self._says)

    async def aclose(self) -> None:
        """Nothing to release."""
