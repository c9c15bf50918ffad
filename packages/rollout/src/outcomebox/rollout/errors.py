"""What can go wrong in an episode, by the boundary that a failure crossed, and who is to blame.

The agent's own doings (bad calls, wrong writes, running out of turns) raise nothing: it sees an
error text or the episode ends with a finish reason, and the terminal state decides. What raises is
infrastructure:

============  =========================================================  ==================
phase         boundary                                                   raised as
============  =========================================================  ==================
``open``      a session could not be brought up                          ``SessionOpenError``
``tool``      a tool server died or hung, and not for what was asked     ``ToolFault``
``policy``    the policy's endpoint gave no usable answer                ``PolicyError``
``golden``    a golden call was answered with an error                   ``GoldenError``
``user``      the user model's endpoint gave no usable answer            ``UserError``
``read``      the terminal state could not be read                       ``StateUnreadable``
``check``     the check itself raised                                    (from the grader)
``judge``     the judge gave no readable answer                          (from the grader)
``worker``    workers ended with the job in their hands, again and again ``WorkerLost``
``run``       anything else                                              any exception
============  =========================================================  ==================

:func:`classify` is the one place that turns an exception into an :class:`ErrorRecord`, and the
worker is the one place that records it: as a ``system_error`` row, never as a failure. No message
holds a secret that this process was given.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from outcomebox.reward.chat import ChatError, ContextTooLong
from outcomebox.reward.errors import JudgeError
from outcomebox.reward.secrets import redact
from outcomebox.sandbox import SandboxFault


class PolicyError(Exception):
    """The policy gave no usable answer after retries (down, 429, 5xx, unreadable, filtered)."""

    phase = "policy"


class PolicyRefused(PolicyError):
    """The policy's endpoint answers, and refuses what it is asked: asking again changes nothing."""


class GoldenError(PolicyError):
    """A golden call was answered with an error: the task is at fault, and proves nothing."""

    phase = "golden"


class UserError(Exception):
    """The user model gave no usable answer after retries."""

    phase = "user"


class UserRefused(UserError):
    """The user model's endpoint answers, and refuses what it is asked."""


_REFUSING = frozenset({400, 401, 403, 405, 413, 415, 422})
"""No 404: a router says that of a model whose server is just starting again."""


def policy_error(error: ChatError) -> PolicyError:
    """What a request of the policy's that failed is raised as."""
    return (PolicyRefused if _refuses(error) else PolicyError)(str(error))


def user_error(error: ChatError) -> UserError:
    """What a request of the user model's that failed is raised as."""
    return (UserRefused if _refuses(error) else UserError)(str(error))


def _refuses(error: ChatError) -> bool:
    # What is too long is this conversation's trouble, and not the next one's.
    return error.status in _REFUSING and not isinstance(error, ContextTooLong)


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """An infrastructure failure as a row holds it.

    Attributes:
        type: Name of the error's class.
        message: What it said.
        phase: The boundary, from the table above.
    """

    type: str
    message: str
    phase: str

    @property
    def refused(self) -> bool:
        """Whether an endpoint was up, and refused the request itself."""
        return self.type in {PolicyRefused.__name__, UserRefused.__name__}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def classify(error: BaseException) -> ErrorRecord:
    """The record of a failure, without secrets; groups of one are looked into."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, SandboxFault | PolicyError | UserError):
        phase = error.phase
    else:
        phase = "judge" if isinstance(error, JudgeError) else "run"
    return ErrorRecord(type(error).__name__, redact(str(error) or repr(error)), phase)
