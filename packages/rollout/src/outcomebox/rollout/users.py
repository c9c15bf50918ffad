"""The simulated user: scripted from the task, or an OpenAI-compatible model when configured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from outcomebox.reward.chat import ChatEndpoint, ChatError, Usage
from outcomebox.rollout.errors import UserError
from outcomebox.rollout.policy import Message
from outcomebox.rollout.turns import DONE
from outcomebox.sandbox import InputError, Task

_NOTHING_TO_ADD = (
    "I have nothing to add to what I told you. Please do what your policy allows, and finish."
)


class UserEpisode(Protocol):
    """The user of one episode."""

    async def reply(self, messages: Sequence[Message]) -> str | None:
        """What the user says next, or None when the user ends the conversation.

        Raises:
            UserError: The user model gave no usable answer.
        """
        ...

    @property
    def usage(self) -> Usage:
        """Tokens the user has spent in this episode."""
        ...


class User(Protocol):
    """Makes the user of each episode."""

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        ...

    async def check(self) -> None:
        """See before a run that it can answer at all.

        Raises:
            InputError: It cannot, with what to mend.
        """
        ...

    def start(self, task: Task) -> UserEpisode:
        """The user of one episode of ``task``."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


class ScriptedUser:
    """Says the replies that the task lists."""

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        return {"name": "scripted"}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, task: Task) -> UserEpisode:
        """The scripted user of one episode."""
        return _Scripted(task)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Scripted:
    def __init__(self, task: Task) -> None:
        self._left = list(task.user_context.replies)
        self._asked_in_vain = 0
        self.usage = Usage()

    async def reply(self, messages: Sequence[Message]) -> str | None:
        said = str(messages[-1].get("content") or "")
        for index, reply in enumerate(self._left):
            if reply.when is None or re.search(reply.when, said):
                del self._left[index]
                self._asked_in_vain = 0
                return reply.say
        self._asked_in_vain += 1
        return _NOTHING_TO_ADD if self._asked_in_vain == 1 else None


_PLAYS = """\
You play a customer who writes to a support agent. Stay in character, write one short message at a
time, and never say more than you were asked for. You know only what USER_CONTEXT says; do not
invent facts, ids or dates. When your request has been dealt with, or refused for good, answer with
{done}.
"""


class ModelUser:
    """A user played by a model behind an OpenAI-compatible endpoint."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self._endpoint = endpoint

    def describe(self) -> Mapping[str, Any]:
        """What a row records of it."""
        return {"name": "model", **self._endpoint.describe()}

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self._endpoint.check()

    def start(self, task: Task) -> UserEpisode:
        """The played user of one episode."""
        return _Played(self._endpoint, task)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()


class _Played:
    def __init__(self, endpoint: ChatEndpoint, task: Task) -> None:
        self._endpoint = endpoint
        self._task = task
        self.usage = Usage(0, 0)

    async def reply(self, messages: Sequence[Message]) -> str | None:
        lines = []
        for message in messages:
            # The user sees what was said to them: no tools, no reasoning.
            if message["role"] in {"user", "assistant"} and message.get("content"):
                who = "CUSTOMER" if message["role"] == "user" else "AGENT"
                lines.append(f"{who}: {_escape(str(message['content']))}")
        prompt = (
            f"<USER_CONTEXT>\n{self._task.user_context.background}\n</USER_CONTEXT>\n"
            f"<TRANSCRIPT>\n{chr(10).join(lines)}\n</TRANSCRIPT>\n"
            "Write the customer's next message, and nothing else."
        )
        try:
            answer = await self._endpoint.chat(
                [
                    {"role": "system", "content": _PLAYS.format(done=DONE)},
                    {"role": "user", "content": prompt},
                ]
            )
        except ChatError as error:
            raise UserError(str(error)) from error
        self.usage = Usage(
            (self.usage.prompt_tokens or 0) + (answer.usage.prompt_tokens or 0),
            (self.usage.completion_tokens or 0) + (answer.usage.completion_tokens or 0),
        )
        text = re.sub(r"\A\s*(CUSTOMER|USER)\s*:\s*", "", answer.content or "", flags=re.IGNORECASE)
        text = text.strip().strip('"').strip()
        if not text:
            raise UserError("the user model answered with nothing")
        if text.endswith(DONE):
            return None
        return text


def _escape(text: str) -> str:
    """What the agent writes cannot close a section of the prompt or end the conversation."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def make_user(options: Mapping[str, str] | None = None) -> User:
    """The user of a run: scripted without options, else the model they name.

    Args:
        options: ``base_url``, ``model`` and optionally ``key_variable``.

    Raises:
        InputError: An option is missing or unknown.
    """
    if not options:
        return ScriptedUser()
    for name in options:
        if name not in {"base_url", "model", "key_variable"}:
            raise InputError(
                f"the user has no option {name}; its options: base_url, model, key_variable",
                field="user-option",
                value=name,
            )
    for name in ("base_url", "model"):
        if not options.get(name):
            raise InputError(f"needs {name}; give --user-option {name}=...", field="user-option")
    return ModelUser(
        ChatEndpoint(
            base_url=options["base_url"],
            model=options["model"],
            key_variable=options.get("key_variable", "OPENAI_API_KEY"),
        )
    )
