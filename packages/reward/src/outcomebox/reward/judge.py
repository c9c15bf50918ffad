"""Asking a judge, and reading what was said in the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from outcomebox.reward.errors import JudgeError


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer, with what a verdict records of it.

    Attributes:
        yes: The answer.
        record: How it came about, as JSON: votes, split, model ...
    """

    yes: bool
    record: Mapping[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """Answers yes/no questions about a text, at once."""

    def ask(self, question: str, text: str) -> bool | Judgement:
        """Whether the answer to ``question`` about ``text`` is yes.

        Raises:
            JudgeError: There is no readable answer. Any other exception counts as this one.
        """


class AsyncJudge(Protocol):
    """Answers yes/no questions about a text, most often a language model."""

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it: never a key."""

    async def check(self) -> None:
        """See before a run that it can answer at all.

        Raises:
            InputError: It cannot, with what to mend.
        """

    async def answer(self, question: str, text: str) -> Judgement:
        """Whether the answer to ``question`` about ``text`` is yes.

        Raises:
            JudgeError: There is no readable answer. Any other exception counts as this one.
        """

    async def aclose(self) -> None:
        """Release what it holds."""


class Asking:
    """One grading's questions: each is asked once, and what was answered is kept for the record.

    Attributes:
        said: ``{question, text, answer, ..}`` of every question asked, in order.
    """

    def __init__(self, judge: Judge | None) -> None:
        self.said: list[dict[str, Any]] = []
        self._judge = judge
        self._known: dict[tuple[str, str], bool] = {}

    def yes(self, question: str, text: str) -> bool:
        """Whether the judge answers yes.

        Raises:
            JudgeError: There is no judge, or no readable answer.
        """
        # Bytes that are no text would break the judge's transport, and with it the verdict.
        text = text.encode("utf-8", "backslashreplace").decode()
        if (question, text) not in self._known:
            answer = self._answer(question, text)
            self._known[question, text] = answer.yes
            self.said.append(
                {"question": question, "text": text, "answer": answer.yes, **answer.record}
            )
        return self._known[question, text]

    def _answer(self, question: str, text: str) -> Judgement:
        if self._judge is None:
            raise JudgeError(f'"{question}" needs a judge, and none was given')
        try:
            answer = self._judge.ask(question, text)
        except JudgeError:
            raise
        except Exception as error:
            raise failure(question, error) from error
        if isinstance(answer, bool):
            return Judgement(answer)
        if not isinstance(answer, Judgement) or not isinstance(answer.yes, bool):
            raise JudgeError(f'the judge answered "{question}" with {answer!r}, neither yes nor no')
        return answer


def failure(question: str, error: Exception) -> JudgeError:
    """What a judge's own exception means: there is no answer."""
    return JudgeError(f'the judge failed on "{question}": {type(error).__name__}: {error}')


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a chat message; of content in parts, the text parts joined."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def final_answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last message of the assistant that says something; empty if there is none."""
    said = [message_text(each) for each in messages if each.get("role") == "assistant"]
    return next((text for text in reversed(said) if text.strip()), "")


def conversation_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """What user and assistant said to each other, one paragraph a message."""
    return "\n\n".join(
        f"{each['role']}: {text}"
        for each in messages
        if each.get("role") in ("user", "assistant") and (text := message_text(each)).strip()
    )
