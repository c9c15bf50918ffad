"""What a reader makes of an output, in the form in which two of them are compared."""

from typing import Any, NamedTuple, Protocol

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.interpreter import interpret
from outcomebox.interpret.profiles import profile_named, reading_of
from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.jsonvalues import read_arguments
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.tokens.text import Tokenizer
from outcomebox.interpret.turn import Span

_REFUSED = "tools_refused"
"""The diagnostic of a profile whose server or trainer does not accept the tools."""

LIVE = "live:"
"""What the name of a live parser begins with."""


class Call(NamedTuple):
    """One call, or an attempt that the reader reports.

    Attributes:
        name: The tool's name.
        wire: The arguments as sent.
        arguments: The JSON object of `wire`; None where it is none.
        executable: Whether a client would execute it.
        status: What the reader says of it.
        span: The call's markup in the output; None where the reader does not tell.
    """

    name: str
    wire: str
    arguments: dict[str, Any] | None
    executable: bool
    status: str = "ok"
    span: Span | None = None


class Reading(NamedTuple):
    """One output as one reader takes it.

    Attributes:
        reasoning: The reasoning; None and the empty string mean the same here.
        content: The visible text, likewise.
        calls: All calls, in order.
        error: What the reader raised instead of an answer; empty when it answered.
        refused_tools: Whether that is because it does not accept the tools.
    """

    reasoning: str | None
    content: str | None
    calls: tuple[Call, ...]
    error: str = ""
    refused_tools: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a report holds it."""
        return {
            "reasoning": self.reasoning,
            "content": self.content,
            "calls": [
                {
                    "name": call.name,
                    "arguments": call.wire,
                    "status": call.status,
                    "executable": call.executable,
                }
                for call in self.calls
            ],
            "error": self.error or None,
        }


class Reader(Protocol):
    """Reads recorded turns."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def read(self, turn: RecordedTurn) -> Reading:
        """Return what it makes of a turn."""
        ...


class ProfileReader:
    """A profile of this package.

    Raises:
        ReplayError: There is no such profile, or it does not read the format.
    """

    def __init__(self, name: str, tokenizer: Tokenizer | None = None) -> None:
        try:
            profile_named(name)
        except ValueError as error:
            raise ReplayError(f"{error}; or a live parser, such as {LIVE}vllm") from None
        self.name = name
        self._tokenizer = tokenizer
        self._formats: set[str] = set()

    def check(self, format_name: str) -> None:
        """See that it reads a format.

        Raises:
            ReplayError: It does not.
        """
        try:
            reading_of(profile_named(self.name), format_named(format_name))
        except ValueError as error:
            raise ReplayError(str(error), field="format") from None

    def read(self, turn: RecordedTurn) -> Reading:
        """Return what the profile makes of a turn.

        Raises:
            ReplayError: It does not read the turn's format.
        """
        if turn.format not in self._formats:
            self.check(turn.format)
            self._formats.add(turn.format)
        by_ids = turn.ids is not None and self._tokenizer is not None
        read = interpret(
            turn.ids if by_ids and turn.ids is not None else turn.text,
            tools=turn.toolbox,
            format=turn.format,
            profile=self.name,
            prompt_state=turn.prompt_state,
            finish_reason=turn.finish_reason,
            tokenizer=self._tokenizer if by_ids else None,
        )
        for note in read.diagnostics:
            if note.code == _REFUSED:
                return Reading(None, None, (), note.message, refused_tools=True)
        calls = []
        for call in read.tool_calls:
            wire = call.arguments_json()
            calls.append(
                Call(
                    call.name,
                    wire,
                    read_arguments(wire),
                    call.executable,
                    call.status,
                    call.span,
                )
            )
        return Reading(read.reasoning, read.content, tuple(calls))


def reader_named(name: str, *, tokenizer: Tokenizer | None = None) -> Reader:
    """Return a reader: a profile by its name, or a live parser.

    Args:
        name: Whose reading is wanted: a profile, or `live:NAME`, `live:NAME-stream` for one token
            at a time, `live:NAME=WHERE` where the parser is to be found somewhere.
        tokenizer: The model's tokenizer, for turns whose ids are recorded.

    Raises:
        ReplayError: There is no such reader; the message lists those there are.
    """
    if name.startswith(LIVE):
        from outcomebox.interpret.replay.livereaders import (  # noqa: PLC0415 - rarely wanted
            live_reader,
        )

        return live_reader(name, tokenizer)
    return ProfileReader(name, tokenizer)
