"""How far a judge can be trusted: his answers beside those of people."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import anyio

from outcomebox.reward.errors import JudgeError
from outcomebox.reward.judge import AsyncJudge, Judgement
from outcomebox.sandbox.errors import InputError

_AT_A_TIME = 64
_ANSWERS = {"yes": True, "no": False, True: True, False: False}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question about a text, answered by a person.

    Attributes:
        question: The question.
        text: The text.
        answer: The person's answer.
        line: Where it stands, from 1.
    """

    question: str
    text: str
    answer: bool
    line: int


@dataclass(frozen=True, slots=True)
class Audited:
    """A labelled example that the judge has answered.

    Attributes:
        example: The example.
        said: The judge's answer; None where there was none.
        error: Why there was none.
    """

    example: Labelled
    said: Judgement | None
    error: str | None = None

    @property
    def right(self) -> bool | None:
        """Whether judge and person agree; None without an answer."""
        return None if self.said is None else self.said.yes == self.example.answer


@dataclass(frozen=True, slots=True)
class Audit:
    """A judge's answers to labelled examples.

    Attributes:
        judge: What the judge tells of itself.
        rows: The examples in their order.
    """

    judge: Mapping[str, Any]
    rows: tuple[Audited, ...]

    def to_json(self) -> dict[str, Any]:
        """Counts, rates with 95 % Wilson intervals, and the examples where the two differ.

        ``self_consistency`` is about single votes: the mean share of votes that agree with the
        majority, and the share of questions on which all did; None where each had one vote.
        Examples without an answer are counted and in no rate.
        """
        answered = [row for row in self.rows if row.said is not None]
        right = sum(row.right is True for row in answered)
        return {
            "judge": dict(self.judge),
            "examples": len(self.rows),
            "answered": len(answered),
            "errors": len(self.rows) - len(answered),
            "accuracy": _rate(right, len(answered)),
            "confusion": {
                f"{_word(person)}_said_{_word(judge)}": sum(
                    row.example.answer == person and row.said is not None and row.said.yes == judge
                    for row in answered
                )
                for person in (True, False)
                for judge in (True, False)
            },
            "right_where_yes": self._right_where(True),
            "right_where_no": self._right_where(False),
            "self_consistency": _consistency(answered),
            "wrong": [
                {
                    "line": row.example.line,
                    "question": row.example.question,
                    "text": row.example.text,
                    "answer": _word(row.example.answer),
                    "said": _word(not row.example.answer),
                    "split": None if row.said is None else row.said.record.get("split"),
                }
                for row in answered
                if row.right is False
            ],
            "unanswered": [
                {"line": row.example.line, "error": row.error}
                for row in self.rows
                if row.said is None
            ],
        }

    def _right_where(self, person: bool) -> dict[str, Any]:
        """How often the judge is right where a person says so: no answer for all can hide there."""
        rows = [row for row in self.rows if row.example.answer == person and row.said is not None]
        return _rate(sum(row.right is True for row in rows), len(rows))


def read_labelled(path: Path) -> tuple[Labelled, ...]:
    """Labelled examples: a JSON object a line, ``{question, text, answer}``, answer yes or no.

    Raises:
        InputError: The file cannot be read, holds none, or a line is no such object.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=path) from error
    found = [_labelled(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise InputError("holds no example; write a JSON object a line", file=path)
    return tuple(found)


async def audit(
    judge: AsyncJudge,
    examples: Sequence[Labelled],
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Audit:
    """Ask a judge labelled examples.

    Args:
        judge: Who is asked.
        examples: What is asked.
        tell: Told how many of how many are done.
    """
    rows: dict[int, Audited] = {}
    limit = anyio.CapacityLimiter(_AT_A_TIME)

    async def one(index: int, example: Labelled) -> None:
        async with limit:
            try:
                rows[index] = Audited(example, await judge.answer(example.question, example.text))
            except JudgeError as error:
                rows[index] = Audited(example, None, str(error))
        tell(len(rows), len(examples))

    async with anyio.create_task_group() as group:
        for index, example in enumerate(examples):
            group.start_soon(one, index, example)
    return Audit(judge.describe(), tuple(rows[index] for index in range(len(examples))))


def wilson(hits: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share (E. B. Wilson, 1927), without continuity correction."""
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = hits / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # Rounding must not move the ends that are known.
    return (0.0 if hits == 0 else low), (1.0 if hits == total else high)


def _rate(hits: int, total: int) -> dict[str, Any]:
    low, high = wilson(hits, total)
    value = hits / total if total else None
    return {"hits": hits, "of": total, "value": value, "low": low, "high": high}


def _consistency(rows: Sequence[Audited]) -> dict[str, float] | None:
    splits = [
        (max(split.values()), sum(split.values()))
        for row in rows
        if row.said is not None and (split := row.said.record.get("split"))
    ]
    if not splits or all(total == 1 for _, total in splits):
        return None
    return {
        "agreement": sum(most / total for most, total in splits) / len(splits),
        "unanimous": sum(most == total for most, total in splits) / len(splits),
    }


def _word(answer: bool) -> str:
    return "yes" if answer else "no"


def _labelled(path: Path, number: int, line: str) -> Labelled:
    where = f"line {number}"
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InputError(f"is no JSON ({error})", file=path, field=where) from error
    if not isinstance(found, dict):
        raise InputError("is no object; write {question, text, answer}", file=path, field=where)
    for name in ("question", "text"):
        if not isinstance(found.get(name), str):
            raise InputError(f"`{name}` must be text", file=path, field=where)
    answer = found.get("answer")
    if not isinstance(answer, (str, bool)) or answer not in _ANSWERS:
        raise InputError("`answer` must be yes or no", file=path, field=where, value=answer)
    return Labelled(found["question"], found["text"], _ANSWERS[answer], number)
