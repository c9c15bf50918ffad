"""What a simulated user is: it hears what the agent said, and answers or ends the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from outcomebox.reward.chat import Usage
from outcomebox.rollout.policy import Message
from outcomebox.rollout.stage import UserBrief
from outcomebox.rollout.turns import says_done


class UserEpisode(Protocol):
    """The user of one episode."""

    async def reply(self, messages: Sequence[Message]) -> str | None:
        """What the user says next, or None when the user leaves without a word.

        A user who may end the conversation does so with words that end in ``<DONE>``; see
        :func:`ends`.

        Args:
            messages: The conversation so far; a user looks at what was said to them alone.

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

    def start(self, brief: UserBrief) -> UserEpisode:
        """The user of one episode.

        Args:
            brief: What the user is told.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def ends(reply: str | None, brief: UserBrief) -> bool:
    """Whether a reply ends the conversation.

    Args:
        reply: What :meth:`UserEpisode.reply` gave.
        brief: What the user was told; only a user who may end the conversation ends it.
    """
    return reply is None or (brief.may_end and says_done(reply))
