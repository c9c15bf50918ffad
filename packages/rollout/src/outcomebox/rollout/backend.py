"""A session that can be brought to the same point again, and who is to blame when it breaks.

When a call hangs or its server dies, only a second try can tell who is to blame. The calls so far
are repeated in a fresh session, then the call itself: if it breaks that session too, the call is
what breaks the server (:class:`ToolCrash`, the agent's episode ends as failed); if it does not, the
first session was at fault, and the original error stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from outcomebox.rollout.stage import ToolCrash
from outcomebox.sandbox import ToolFault, ToolResult

PATIENCE = 2.0
"""How many times its deadline a call gets in the repetition: a machine that was busy for a moment
must not be taken for a call that hangs."""


class Callee(Protocol):
    """A live session of any form."""

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, deadline_s: float
    ) -> ToolResult:
        """Call a tool.

        Raises:
            ToolFault: No answer. The session is of no further use.
        """
        ...


OpenFresh = Callable[[], AbstractAsyncContextManager[Callee]]


@dataclass
class Backend:
    """A live session and the calls it has answered.

    Attributes:
        session: The session.
        fresh: Opens another, brought to where this one was before the agent's first call.
        deadline_s: Seconds a tool call may take.
        server_of: The server that answers a tool.
    """

    session: Callee
    fresh: OpenFresh
    deadline_s: float
    server_of: Callable[[str], str]
    _answered: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolCrash: The call breaks the server, as a repetition in a fresh session showed.
            SandboxFault: The first session broke and the fresh one did not (or not at this call):
                infrastructure failed.
        """
        try:
            result = await self.session.call(tool, arguments, deadline_s=self.deadline_s)
        except ToolFault as fault:
            if await self._breaks_again(tool, arguments):
                raise ToolCrash(fault, self.server_of(tool)) from fault
            raise
        self._answered.append((tool, arguments))
        return result

    async def _breaks_again(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        deadline_s = self.deadline_s * PATIENCE
        async with self.fresh() as fresh:
            for earlier, its_arguments in self._answered:
                await fresh.call(earlier, its_arguments, deadline_s=deadline_s)
            try:
                await fresh.call(tool, arguments, deadline_s=deadline_s)
            except ToolFault:
                return True
        return False
