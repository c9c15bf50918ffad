"""The loop of a trial: a line in, what came of it out, until it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio.to_thread

from outcomebox.reward.play.ending import end_session, end_world
from outcomebox.reward.play.lines import HELP, Line, LineError, read_line
from outcomebox.reward.play.talk import Talk
from outcomebox.reward.play.telling import told_change, told_tool, told_tools, told_verdict
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import Change, Sandbox, Session
from outcomebox.sandbox.trial import Choice, NativeChoice, ThinkingBoxChoice, Trial, open_trial


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a person sits.

    Attributes:
        read: Shows a prompt and gives the next line; None at the end of the input. It waits.
        write: Shows some lines.
    """

    read: Callable[[str], str | None]
    write: Callable[[str], None]

    def confirm(self, question: str) -> bool:
        """Put a yes/no question until it is answered; the end of the input is a no."""
        self.write(f"\n{question}")
        while True:
            line = self.read("yes or no? ")
            answer = "no" if line is None else line.strip().lower()
            if answer in ("y", "yes"):
                return True
            if answer in ("n", "no"):
                return False


async def play(
    box: Sandbox, choice: Choice, terminal: Terminal, *, seed: int = 0, as_user: bool = False
) -> Verdict | None:
    """Open a task and let somebody act in it.

    Args:
        box: Where it is opened.
        choice: The task.
        terminal: Whose lines are taken.
        seed: The session's seed.
        as_user: Whether what only the user knows is shown too.

    Returns:
        The verdict; None where they left without one.

    Raises:
        SandboxFault: The session did not come up, or broke.
        InputError: The task cannot be used.
    """
    async with open_trial(box, choice, seed=seed) as trial:
        return await _Game(box, choice, trial, terminal, as_user=as_user).play()


@dataclass
class _Game:
    box: Sandbox
    choice: Choice
    trial: Trial
    terminal: Terminal
    as_user: bool
    talk: Talk = field(init=False)
    _seen: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        choice, trial = self.choice, self.trial
        earlier = choice.task.history if isinstance(choice, ThinkingBoxChoice) else None
        self.talk = Talk(trial.policy, trial.query, list(earlier or ()))

    async def play(self) -> Verdict | None:
        write, tools = self.terminal.write, self.trial.session.tools
        write(self._opening())
        names = frozenset(tool.name for tool in tools)
        while True:
            typed = await anyio.to_thread.run_sync(self.terminal.read, "> ", abandon_on_cancel=True)
            if typed is None:
                write("The input has ended: no verdict.")
                return None
            try:
                line = read_line(typed, names)
            except LineError as error:
                write(f"? {error}")
                continue
            if line is None:
                continue
            if line.word == "quit":
                write("Left without a verdict.")
                return None
            if line.word == "done":
                return await self._done(line.text)
            await self._do(line)

    def _opening(self) -> str:
        trial = self.trial
        parts = [f"Task {trial.uid}", "", trial.policy.strip(), ""]
        if trial.now is not None:
            parts += [f"The time is {trial.now}; it stands still.", ""]
        parts += [*trial.warnings, told_tools(trial.session.tools), ""]
        if self.as_user and trial.context:
            parts += ["What only the user knows:", trial.context.strip(), ""]
        parts += [f"user: {trial.query.strip()}", "", "`help` says what can be typed."]
        return "\n".join(parts)

    async def _do(self, line: Line) -> None:
        write, tools = self.terminal.write, self.trial.session.tools
        if line.word == "call":
            await self._call(line)
        elif line.word == "say":
            self.talk.said("assistant", line.text)
        elif line.word == "user":
            self.talk.said("user", line.text)
        elif line.word == "tools":
            known = {tool.name: tool for tool in tools}
            if line.text and line.text not in known:
                write(f"? there is no tool {line.text}")
            else:
                write(told_tool(known[line.text]) if line.text else told_tools(tools))
        elif line.word == "changes":
            found = await self._changes()
            lines = None if found is None else [told_change(change) for change in found]
            write("\n".join(_OTHERS if lines is None else lines or ["nothing has changed"]))
        else:
            write(HELP.rstrip())

    async def _call(self, line: Line) -> None:
        trial, write = self.trial, self.terminal.write
        result = await trial.session.call(line.text, line.arguments, deadline_s=trial.deadline_s)
        self.talk.called(line.text, line.arguments, result.text)
        write(f"{'error: ' if result.is_error else ''}{result.text}")
        now = await self._changes()
        if now is not None and now != self._seen:
            before = set(map(repr, self._seen))
            new = [told_change(change) for change in now if repr(change) not in before]
            write("\n".join(new or ["an earlier change was undone"]))
            self._seen = now

    async def _changes(self) -> tuple[Change, ...] | None:
        """The changes up to now; None where they cannot be told before the end."""
        session = self.trial.session
        if not isinstance(session, Session):
            return None
        return (await session.so_far()).changes

    async def _done(self, words: str) -> Verdict:
        choice, session, terminal = self.choice, self.trial.session, self.terminal
        if words:
            self.talk.said("assistant", words)
        if isinstance(choice, NativeChoice):
            assert isinstance(session, Session)  # noqa: S101 -- what such a choice opens
            verdict, state = await end_session(session, choice.task, self.talk, terminal.confirm)
            if state is not None:
                changes = [told_change(change) for change in state.changes]
                changes += [f"schema of {name} changed" for name in state.schema_changes]
                terminal.write("\n".join(["", "The terminal state:", *(changes or ["no change"])]))
        else:
            assert not isinstance(session, Session)  # noqa: S101 -- likewise
            verdict = await end_world(self.box, session, choice.task, self.talk, terminal.confirm)
        terminal.write(f"\n{told_verdict(verdict)}")
        return verdict


_OTHERS = ["this task's servers tell nothing before the end"]
