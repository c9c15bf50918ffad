"""An episode's backend: a session that can be brought to the same point again.

When a call hangs or its server dies, only a second try can tell who is to blame. The calls so far
are repeated in a fresh session, then the call itself: if it breaks that session too, the call is
what breaks the server (:class:`ToolCrash`, the agent's episode ends as failed); if it does not, the
first session was at fault, and the original error stands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from outcomebox.sandbox import Session, TerminalState, ToolFault, ToolResult, ToolSpec

OpenSession = Callable[[], AbstractAsyncContextManager[Session]]


class ToolCrash(Exception):
    """A call that breaks its server each time: the agent's doing, and the server's weakness."""

    def __init__(self, fault: ToolFault) -> None:
        super().__init__(f"{fault} (again in a fresh session brought to the same point)")
        self.tool = fault.tool


@dataclass
class Backend:
    """A live session and the calls it has answered."""

    session: Session
    _open: OpenSession
    _deadline_s: float
    _answered: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The session's tools."""
        return self.session.tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolCrash: The call breaks the server, as a repetition in a fresh session showed.
            SandboxFault: The first session broke and the fresh one did not (or not at this call):
                infrastructure failed.
        """
        try:
            result = await self.session.call(tool, arguments, deadline_s=self._deadline_s)
        except ToolFault as fault:
            if await self._breaks_again(tool, arguments):
                raise ToolCrash(fault) from fault
            raise
        self._answered.append((tool, arguments))
        return result

    async def close(self) -> TerminalState:
        """The terminal state.

        Raises:
            StateUnreadable: It cannot be read.
        """
        return await self.session.close()

    async def _breaks_again(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        async with self._open() as fresh:
            for earlier, its_arguments in self._answered:
                await fresh.call(earlier, its_arguments, deadline_s=self._deadline_s)
            try:
                await fresh.call(tool, arguments, deadline_s=self._deadline_s)
            except ToolFault:
                return True
        return False


@asynccontextmanager
async def open_backend(open_session: OpenSession, *, deadline_s: float) -> AsyncIterator[Backend]:
    """A backend over a fresh session.

    Args:
        open_session: Opens a session at the task's initial state; called again for a repetition.
        deadline_s: Seconds a tool call may take.

    Raises:
        SessionOpenError: No session could be brought up.
    """
    async with open_session() as session:
        yield Backend(session, open_session, deadline_s)
