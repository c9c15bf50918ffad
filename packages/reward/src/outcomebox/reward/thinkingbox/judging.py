"""The judge that test code asks, and how its answers are read.

*legacy*: yes if the first or the last word of the answer is "yes". *motivation*: a JSON object with
``motivation`` and ``answer``; text that is no JSON means no. That an unreadable answer means no is
the rule of the data in this form, and of no other judge of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from outcomebox.reward.thinkingbox import prompts
from outcomebox.reward.thinkingbox.chat import Message, Text
from outcomebox.reward.thinkingbox.records import one_of

JUDGE_TYPES = ("legacy", "motivation")
READS = "reads"
"""Metadata of a system text: how the reply will be read."""

_BETWEEN_WORDS = re.compile(r"[.,;:\s]+")
_SINGLE_QUOTED = re.compile(r"'(answer|motivation)'(?=\s*:)")
_BARE = re.compile(r"(\A|(?<=[{,]))(\s*)(answer|motivation)(?=\s*:)")
_UNREADABLE = {"answer": False, "motivation": "the judge's answer is not readable as JSON"}


class JudgeException(Exception):
    """The judge could not be asked, or its answer does not follow its protocol."""


class Completes(Protocol):
    """What answers for the judge."""

    def get_completion_sync(
        self, *, conversation: Sequence[Message], update_conversation: bool
    ) -> Sequence[Message]:
        """The messages that follow a conversation."""


class Judge:
    """Answers yes/no questions, most often about a text.

    Args:
        llm: What is asked. Nothing of it is used before the first question.
        judge_type: ``legacy`` or ``motivation``, the protocol of :meth:`text_yesno`.

    Raises:
        ValueError: There is no such protocol.
    """

    def __init__(self, llm: Completes, judge_type: str = "legacy") -> None:
        one_of(judge_type, JUDGE_TYPES, "judge_type")
        self.llm = llm
        self.judge_type = judge_type
        self.asked: list[dict[str, Any]] = []
        self._decisions: list[dict[str, Any]] = []

    def text_yesno(self, text: str, question: str) -> bool:
        """Whether the answer to a question about a text is yes."""
        if self.judge_type == "legacy":
            return self.text_yesno_legacy(text, question)
        return bool(self.text_yesno_with_motivation(text, question)["answer"])

    def text_yesno_legacy(self, text: str, question: str) -> bool:
        """The same, answered in one word."""
        return self._yes(question, prompts.TEXT_YESNO, prompts.about_message(text, question))

    def text_yesno_with_motivation(self, text: str, question: str) -> dict[str, Any]:
        """The same, as ``{"answer": bool, "motivation": str}``.

        Raises:
            JudgeException: The answer is JSON, but without a word for ``answer``.
        """
        user = prompts.about_message(text, question)
        found = read_motivation(
            self._complete(prompts.TEXT_YESNO_MOTIVATION, user, reads="motivation")
        )
        decision = {
            "question": question,
            "answer": found["answer"],
            "motivation": found.get("motivation", ""),
        }
        self._decisions.append(decision)
        self.asked.append(decision)
        return found

    def compare_yesno(self, first: str, second: str, question: str) -> bool:
        """Whether the answer to a question about two texts is yes."""
        user = prompts.about_two(first, second, question)
        return self._yes(question, prompts.COMPARE_YESNO, user)

    def yesno(self, question: str) -> bool:
        """Whether the answer to a question is yes."""
        return self._yes(question, prompts.YESNO, question)

    def no_repeat(self, first: str, second_list: Sequence[str]) -> bool:
        """Whether a text repeats none of some others."""
        return not any(self.compare_yesno(first, each, prompts.REPEATS) for each in second_list)

    def evaluate_bool(self, system: str, user: str) -> bool:
        """Whether the answer to a prompt of one's own is yes."""
        return self._yes(user, system, user)

    def drain_decisions(self) -> list[dict[str, Any]]:
        """The motivated decisions since the last call."""
        drained, self._decisions = self._decisions, []
        return drained

    def _yes(self, question: str, system: str, user: str) -> bool:
        answer = read_yesno(self._complete(system, user, reads="legacy"))
        self.asked.append({"question": question, "answer": answer})
        return answer

    def _complete(self, system: str, user: str, *, reads: str) -> str:
        # Told to the runner, which takes a majority of replies as they will be read here.
        told = {READS: reads}
        conversation = [
            Text(role="system", content=system, metadata=told),
            Text(role="user", content=user),
        ]
        return self._get_text_completion(messages=conversation).content

    # Test code of the public data calls this one by name, for prompts of its own.
    def _get_text_completion(self, messages: Sequence[Message]) -> Text:
        try:
            out = self.llm.get_completion_sync(conversation=messages, update_conversation=False)
        except Exception as error:
            raise JudgeException(f"the judge gave no answer: {error}") from error
        # What a reasoning model thought comes before what it says.
        if out and isinstance(out[-1], Text):
            return out[-1]
        return Text(role="assistant", content="")


def read_yesno(text: str) -> bool:
    """Whether the first or the last word of an answer is yes."""
    words = _BETWEEN_WORDS.sub(" ", text).lower().split()
    return bool(words) and "yes" in {words[0], words[-1]}


def read_motivation(text: str) -> dict[str, Any]:
    """A motivated answer, with its ``answer`` as true or false.

    Models leave the quotes of the two keys out, or write single ones; both are understood.

    Raises:
        JudgeException: It is JSON, but without a word for ``answer``.
    """
    quoted = _BARE.sub(r'\1\2"\3"', _SINGLE_QUOTED.sub(r'"\1"', text))
    try:
        found = json.loads(quoted)
    except (json.JSONDecodeError, RecursionError):
        return dict(_UNREADABLE)
    if not isinstance(found, dict) or not isinstance(found.get("answer"), str):
        raise JudgeException(f"the judge's answer has no word for `answer`: {text[:500]!r}")
    return {**found, "answer": read_yesno(found["answer"])}
