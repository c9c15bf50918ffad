"""Grading by checks in the ThinkingBox form: each in a process of its own, with a deadline.

::

    async with sandbox() as box, check_grader(box) as grader:
        verdict = await grader.grade(order, ask=ask)
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from outcomebox.reward.thinkingbox.ahead import opened_ahead
from outcomebox.reward.thinkingbox.conversation import Conversation
from outcomebox.reward.thinkingbox.orders import CheckOrder, encode_order
from outcomebox.reward.thinkingbox.processes import Opener, command, search_path
from outcomebox.reward.thinkingbox.questions import Ask
from outcomebox.reward.verdict import Verdict, system_error
from outcomebox.sandbox import Sandbox
from outcomebox.sandbox.errors import SandboxFault
from outcomebox.sandbox.servers import ServerLimits, ServerSpec

DEFAULT_DEADLINE_S = 60.0
DEFAULT_MEMORY_MB = 1024
DEFAULT_AHEAD = 2


class CheckGrader:
    """Grades by checks. Made by :func:`check_grader`; serves any number of checks at a time.

    Args:
        opener: Where grader processes come from.
        deadline_s: Seconds a check may take, its questions' answers not counted.
        memory_mb: Private memory a check may take, in MiB; None where the opener sees to it.
    """

    def __init__(
        self,
        opener: Opener,
        *,
        deadline_s: float = DEFAULT_DEADLINE_S,
        memory_mb: int | None = DEFAULT_MEMORY_MB,
    ) -> None:
        self._opener = opener
        self._deadline_s = deadline_s
        self._memory_mb = memory_mb

    async def grade(self, order: CheckOrder, *, ask: Ask | None = None) -> Verdict:
        """The verdict of a check.

        Args:
            order: The check and what it looks at.
            ask: Answers its questions. Without it, a question means that there is no verdict.

        Returns:
            ``passed`` or ``failed`` as the check says; ``system_error`` if anything else happened:
            another exception, a passed deadline, a dead or lying process, an unanswered question.

        Raises:
            TypeError: The order's context is not made of JSON values.
        """
        nonce = secrets.token_hex(16)
        memory = None if self._memory_mb is None else self._memory_mb * 1024 * 1024
        data = encode_order(order, nonce=nonce, memory_bytes=memory)
        try:
            async with self._opener() as process:
                conversation = Conversation(order, ask, nonce, self._deadline_s)
                return await conversation.verdict(process, data)
        except (SandboxFault, OSError) as error:
            return system_error(error, "check")


@asynccontextmanager
async def check_grader(
    box: Sandbox,
    *,
    deadline_s: float = DEFAULT_DEADLINE_S,
    memory_mb: int = DEFAULT_MEMORY_MB,
    ahead: int = DEFAULT_AHEAD,
) -> AsyncIterator[CheckGrader]:
    """A grader whose processes are forks of a warm parent in a sandbox.

    Has to be entered by the task that entered the sandbox.

    Args:
        box: The sandbox.
        deadline_s: Seconds a check may take, its questions' answers not counted.
        memory_mb: Private memory a check may take, in MiB.
        ahead: Processes that wait, forked, for the next checks; more checks than these fork theirs
            when they come.

    Raises:
        SessionOpenError: The warm parent cannot be started.
    """
    spec = ServerSpec(
        name="grader",
        command=command(),
        limits=ServerLimits(memory_mb=memory_mb),
        search_path=search_path(),
    )
    await box.start(spec, rehearse=False)
    async with opened_ahead(
        lambda: box.process(spec, seed=0, what="the check's process"), ahead
    ) as opener:
        # The sandbox limits the processes itself.
        yield CheckGrader(opener, deadline_s=deadline_s, memory_mb=None)
