"""Answers that a judge gave before, for grading again what was graded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from outcomebox.reward.errors import JudgeError
from outcomebox.reward.judge import Judgement

_OWN = ("question", "text", "answer")


class RecordedJudge:
    """Answers as a verdict's ``details.judge`` says; what was not asked then has no answer.

    Args:
        said: Entries of ``details.judge``; those without an answer are passed over.
    """

    def __init__(self, said: Iterable[Mapping[str, Any]]) -> None:
        self._known = {
            (each["question"], each["text"]): Judgement(
                each["answer"], {name: each[name] for name in each if name not in _OWN}
            )
            for each in said
            if isinstance(each.get("answer"), bool)
        }

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": "recorded"}

    async def check(self) -> None:
        """Nothing to see."""

    def ask(self, question: str, text: str) -> Judgement:
        """The answer that was given then.

        Raises:
            JudgeError: It was not asked then.
        """
        known = self._known.get((question, text))
        if known is None:
            raise JudgeError(
                f'"{question}" was not asked about this text when the episode was graded; run the '
                "task again with a judge"
            )
        return known

    async def answer(self, question: str, text: str) -> Judgement:
        """The same.

        Raises:
            JudgeError: It was not asked then.
        """
        return self.ask(question, text)

    async def aclose(self) -> None:
        """Nothing to release."""
