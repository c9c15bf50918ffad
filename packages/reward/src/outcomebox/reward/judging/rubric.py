"""The judge of declared rubrics: a model's strict yes or no, by majority."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.reward.judge import Judgement
from outcomebox.reward.judging import prompt
from outcomebox.reward.judging.cache import FileCache, VoteCache
from outcomebox.reward.judging.majority import Split
from outcomebox.reward.judging.model import Inquiry, JudgeModel, Vote
from outcomebox.reward.judging.settings import JudgeSettings


class ModelJudge:
    """Answers rubrics by asking a model.

    Args:
        model: Who is asked.
    """

    def __init__(self, model: JudgeModel) -> None:
        self.model = model

    def describe(self) -> Mapping[str, Any]:
        """Model, prompt and settings; neither the host nor the key."""
        return {**self.model.describe(), "prompt": prompt.DESCRIPTION}

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self.model.check()

    async def aclose(self) -> None:
        """Close the connections and the cache."""
        await self.model.aclose()

    async def answer(self, question: str, text: str) -> Judgement:
        """What most votes say.

        Raises:
            JudgeError: A vote is not to be had: the endpoint is down, filters, refuses, cuts off
                or is unreadable after retries.
        """
        votes = await self.model.votes(inquiry(question, text))
        told = [prompt.read(vote.said) for vote in votes]
        split = Split.of(answer == "yes" for answer, _ in told)
        settings = self.model.settings
        record = {
            "split": split.to_json(),
            "votes": [
                _vote(vote, answer, reason)
                for vote, (answer, reason) in zip(votes, told, strict=True)
            ],
            "model": settings.model,
            "temperature": settings.temperature,
            "prompt": prompt.DESCRIPTION,
        }
        return Judgement(split.answer, record)


def inquiry(question: str, text: str) -> Inquiry:
    """How a rubric is asked."""
    return Inquiry(
        messages=prompt.messages(question, text),
        reading=f"{prompt.DESCRIPTION['name']}-{prompt.VERSION}",
        read=prompt.read,
        form=prompt.FORM,
    )


def model_judge(settings: JudgeSettings, cache: Path | VoteCache | None = None) -> ModelJudge:
    """The judge of a run.

    Args:
        settings: The model and how it is asked.
        cache: Where votes are kept: a file, or a cache; in memory by default.

    Raises:
        InputError: The cache cannot be used.
    """
    kept = FileCache(cache) if isinstance(cache, Path) else cache
    return ModelJudge(JudgeModel(settings, kept))


def _vote(vote: Vote, answer: str, reason: str) -> dict[str, Any]:
    return {
        "answer": answer,
        "reason": reason,
        "seed": vote.seed,
        "form": vote.form,
        "tries": vote.tries,
        "cached": vote.cached,
        "tokens": [vote.usage.prompt_tokens, vote.usage.completion_tokens],
    }
