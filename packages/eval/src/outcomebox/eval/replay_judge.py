"""Who answers the questions of checks in a replay: a stand-in, or a judge model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from outcomebox.reward.thinkingbox import JudgeQuestion
from outcomebox.rollout.chat import ChatEndpoint
from outcomebox.sandbox import InputError

JudgeName = Literal["yes", "no", "none", "model"]
_OPTIONS = ("base_url", "model", "key_variable", "protocol")


class ReplayJudge(Protocol):
    """Answers a check's questions to a judge."""

    @property
    def protocol(self) -> str:
        """How it is asked and answers: ``legacy`` or ``motivation``."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        ...

    async def answer(self, question: JudgeQuestion) -> str:
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

    async def answer(self, question: JudgeQuestion) -> str:
        """The one answer.

        Raises:
            RuntimeError: It is ``none``.
        """
        if self._says == "none":
            raise RuntimeError(f"no judge is configured for: {question.user[-200:]}")
        return self._says

    async def aclose(self) -> None:
        """Nothing to release."""


class ModelJudge:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(self, endpoint: ChatEndpoint, protocol: str) -> None:
        self.protocol = protocol
        self._endpoint = endpoint

    def describe(self) -> Mapping[str, Any]:
        """Its endpoint's settings, never a key."""
        return {"name": "model", "protocol": self.protocol, **self._endpoint.describe()}

    async def answer(self, question: JudgeQuestion) -> str:
        """The model's reply.

        Raises:
            ChatError: The endpoint gave none after retries.
        """
        said = await self._endpoint.chat(
            [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ]
        )
        return said.content or ""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()


def make_judge(name: JudgeName, options: Mapping[str, str]) -> ReplayJudge:
    """The judge of a run.

    Args:
        name: ``model``, or what a stand-in says.
        options: ``base_url``, ``model``, and optionally ``key_variable`` and ``protocol``.

    Raises:
        InputError: An option is missing, unknown or of no use.
    """
    for option in options:
        if option not in _OPTIONS:
            raise InputError(
                f"the judge has no such option; its options: {', '.join(_OPTIONS)}",
                field="judge-option",
                value=option,
            )
    if name != "model":
        if options:
            raise InputError("only --judge model has options", field="judge-option", value=options)
        return StandIn(name)
    for option in ("base_url", "model"):
        if not options.get(option):
            raise InputError(f"needs {option}; give --judge-option {option}=...", field="judge")
    endpoint = ChatEndpoint(
        base_url=options["base_url"],
        model=options["model"],
        key_variable=options.get("key_variable", "OPENAI_API_KEY"),
    )
    return ModelJudge(endpoint, options.get("protocol", "legacy"))
