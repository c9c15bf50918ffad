"""The judge of checks in the ThinkingBox form: the same model, cache and majority.

Such a check asks in its own words and reads the reply itself, by one of two protocols in which a
reply that cannot be read is a no. That is the rule of that data; an endpoint that gives no reply is
an error here as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.reward.judging.cache import FileCache, VoteCache
from outcomebox.reward.judging.majority import Split
from outcomebox.reward.judging.model import Inquiry, JudgeModel
from outcomebox.reward.judging.prompt import plain
from outcomebox.reward.judging.settings import JudgeSettings
from outcomebox.reward.thinkingbox.judging import (
    JUDGE_TYPES,
    JudgeException,
    read_motivation,
    read_yesno,
)
from outcomebox.reward.thinkingbox.questions import JudgeQuestion, Reply


class CheckJudge:
    """Answers the questions of checks in the ThinkingBox form by asking a model.

    Args:
        model: Who is asked; its settings' protocol is ``legacy`` or ``motivation``.
    """

    def __init__(self, model: JudgeModel) -> None:
        self.model = model

    @property
    def protocol(self) -> str:
        """How a check asks by default."""
        return self.model.settings.protocol

    def describe(self) -> Mapping[str, Any]:
        """Model and settings; neither the host nor the key. The prompts are the check's."""
        return self.model.describe()

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self.model.check()

    async def aclose(self) -> None:
        """Close the connections and the cache."""
        await self.model.aclose()

    async def answer(self, question: JudgeQuestion) -> Reply:
        """A reply that the check will read as most votes are read.

        A reply to a prompt of the check's own has no reading here, so there is one vote on it.

        Raises:
            JudgeError: The endpoint gives no reply: it is down, filters, refuses or cuts off.
        """
        reads = question.reads
        inquiry = Inquiry(
            messages=[
                {"role": "system", "content": plain(question.system)},
                {"role": "user", "content": plain(question.user)},
            ],
            reading=reads or "own",
            read=str,
        )
        votes = await self.model.votes(inquiry, None if reads else 1)
        record: dict[str, Any] = {"cached": sum(vote.cached for vote in votes), "votes": len(votes)}
        if reads is None:
            return Reply(votes[0].said, record)
        readings = [_reading(vote.said, reads) for vote in votes]
        if None in readings:  # the check raises on such a reply, and there is no verdict
            return Reply(votes[readings.index(None)].said, record)
        split = Split.of(bool(each) for each in readings)
        record["split"] = split.to_json()
        return Reply(votes[readings.index(split.answer)].said, record)


def check_judge(settings: JudgeSettings, cache: Path | VoteCache | None = None) -> CheckJudge:
    """The judge of a run of checks in the ThinkingBox form.

    Args:
        settings: The model and how it is asked (``protocols=JUDGE_TYPES``).
        cache: Where votes are kept: a file, or a cache; in memory by default.

    Raises:
        InputError: The cache cannot be used.
    """
    kept = FileCache(cache) if isinstance(cache, Path) else cache
    return CheckJudge(JudgeModel(settings, kept))


def _reading(said: str, reads: str) -> bool | None:
    """A reply as the check will read it; None where it will raise."""
    if reads == JUDGE_TYPES[0]:
        return read_yesno(said)
    try:
        return bool(read_motivation(said)["answer"])
    except JudgeException:
        return None
