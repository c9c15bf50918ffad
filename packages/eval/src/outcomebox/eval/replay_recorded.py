"""An agent and a user that say again what a recorded episode holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.rollout import Completion, EpisodeContext, Message, PolicyEpisode, Row, Usage
from outcomebox.rollout.stage import UserBrief
from outcomebox.sandbox import InputError

_END = "The recording ends here. <DONE>"
"""What stands for the agent's next turn where another reading asks for one."""


class RecordedPolicy:
    """Writes the raw outputs of a row again, one a turn, whatever is answered.

    Args:
        row: An episode row.

    Attributes:
        written: Recorded outputs that were asked for.
        recorded: Recorded outputs there are.
        ran_out: Whether the episode went on when there were none left.

    Raises:
        InputError: The row holds a turn without its raw output.
    """

    name = "recorded"
    simulated = True

    def __init__(self, row: Row) -> None:
        self.format = format_of(row)
        self._outputs = [_completion(row, index) for index in _turns(row)]
        self.recorded = len(self._outputs)
        self.written = 0
        self.ran_out = False

    def describe(self) -> Mapping[str, Any]:
        """Its nature."""
        return {"name": self.name, "simulated": True}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:  # noqa: ARG002 -- the protocol's
        """Itself: one policy is made for each episode."""
        return self

    async def complete(self, messages: Sequence[Message]) -> Completion:  # noqa: ARG002 -- the same
        """The next recorded output, or the words that end the conversation."""
        if self.written == self.recorded:
            self.ran_out = True
            return Completion(_END, prompt_state="think_closed")
        self.written += 1
        return self._outputs[self.written - 1]

    async def aclose(self) -> None:
        """Nothing to release."""


class RecordedUser:
    """Says the user's recorded replies again, in order, then ends as the recorded one did.

    Args:
        row: An episode row.
    """

    def __init__(self, row: Row) -> None:
        said = [message for message in row["messages"] if message["role"] == "user"]
        self._replies = [message["content"] for message in said[1:]]
        self.usage = Usage()

    def describe(self) -> Mapping[str, Any]:
        """Its nature."""
        return {"name": "recorded"}

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, brief: UserBrief) -> RecordedUser:  # noqa: ARG002 -- the same
        """Itself: one user is made for each episode."""
        return self

    async def reply(self, messages: Sequence[Message]) -> str | None:  # noqa: ARG002 -- the same
        """The next recorded reply; None where there is none left."""
        return self._replies.pop(0) if self._replies else None

    async def aclose(self) -> None:
        """Nothing to release."""


def format_of(row: Row) -> str:
    """The interpreter format of a row's raw outputs."""
    return str(row["versions"].get("format") or "qwen3_xml")


def _turns(row: Row) -> list[int]:
    return [
        index for index, message in enumerate(row["messages"]) if message["role"] == "assistant"
    ]


def _completion(row: Row, index: int) -> Completion:
    message = row["messages"][index]
    for name in ("raw", "prompt_state", "finish_reason"):
        if not isinstance(message.get(name), str):
            raise InputError(
                "is not recorded, so this episode cannot be read again; leave it out, or record "
                "it anew with a policy that gives raw text",
                task=f"{row['uid']} repetition {row['repetition']}",
                field=f"messages[{index}].{name}",
            )
    return Completion(
        message["raw"],
        finish_reason=message["finish_reason"],
        prompt_state=message["prompt_state"],
    )
