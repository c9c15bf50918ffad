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

from outcomebox.reward.errors import JudgeError
from outcomebox.reward.secrets import redact
from outcomebox.sandbox import SandboxFault


class PolicyError(Exception):
    """The policy gave no usable answer after retries (down, 429, 5xx, unreadable, filtered)."""

    phase = "policy"


class GoldenError(PolicyError):
    """A golden call was answered with an error: the task is at fault, and proves nothing."""

    phase = "golden"


class UserError(Exception):
    """The user model gave no usable answer after retries."""

    phase = "user"


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
