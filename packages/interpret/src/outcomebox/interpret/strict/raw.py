"""What a profile's reader finds before any value is typed: names, texts and positions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.turn import Coercion, Diagnostic, DiagnosticCode, Span


class Source(NamedTuple):
    """All a reader may look at.

    Attributes:
        text: The raw output.
        format: How the model writes calls.
        markers: Its markers, in order; all before `end`.
        end: Where the turn ends in `text`; what follows is end-of-turn tokens, or the beginning of
            a marker that was cut.
        prompt_state: Where the prompt left the model.
        cut: Whether the output was cut by a limit.
        cut_opener: Whether what was cut at `end` is the beginning of a call's opener.
        offered: Whether a tool of that name is offered; None where the tools are not known.
        declared: Whether that tool has that parameter; None where that is not known.
    """

    text: str
    format: Format
    markers: list[Marker]
    end: int
    prompt_state: PromptState
    cut: bool
    cut_opener: bool
    offered: Callable[[str], bool | None]
    declared: Callable[[str, str], bool | None]


class RawCall:
    """A call being read: its parameters as text, and every reason to trust it less.

    Attributes:
        name: The tool's name; empty where an attempt has none.
        start: Where its markup starts.
        end: Where its markup ends.
        parameters: Parameter -> raw text, the newlines of the markup stripped.
        values: Parameter -> JSON value, where the format writes values; None where it writes text.
        changes: What was converted before any parameter was known.
        misfits: Reasons why a value is not the one that was written.
        repairs: Slips that were mended.
        doubts: Reasons why there is more than one reading.
        faults: Reasons why there is no reading.
        truncated: Whether a limit cut it.
        open_end: Whether a closer is missing at its end.
        bare: Whether it stands outside a call wrapper and no wrapper's closer follows it.
    """

    __slots__ = (
        "bare",
        "changes",
        "doubts",
        "end",
        "faults",
        "misfits",
        "name",
        "open_end",
        "parameters",
        "repairs",
        "start",
        "truncated",
        "values",
    )

    def __init__(self, name: str, start: int, *, bare: bool = False) -> None:
        self.name = name
        self.start = start
        self.end = start
        self.parameters: dict[str, str] = {}
        self.values: dict[str, Any] | None = None
        self.changes: list[Coercion] = []
        self.misfits: list[str] = []
        self.repairs: list[str] = []
        self.doubts: list[str] = []
        self.faults: list[str] = []
        self.truncated = False
        self.open_end = False
        self.bare = bare

    @classmethod
    def attempt(
        cls, start: int, end: int, *, name: str = "", fault: str = "", truncated: bool = False
    ) -> "RawCall":
        """Return an attempt at a call, which has no reading or was cut."""
        call = cls(name, start)
        call.end = end
        call.truncated = truncated
        if fault:
            call.faults.append(fault)
        return call

    @property
    def complete(self) -> bool:
        """Whether the call has exactly one reading."""
        return not (self.truncated or self.faults or self.doubts)


class RawTurn(NamedTuple):
    """A turn as text.

    Attributes:
        reasoning: Where the reasoning stands, without its markers.
        content: Where the pieces of content stand, in order.
        calls: The calls and attempts, in order.
        diagnostics: What else was noticed.
    """

    reasoning: Span | None
    content: list[Span]
    calls: list[RawCall]
    diagnostics: list[Diagnostic]


_MESSAGES: dict[DiagnosticCode, str] = {
    "cut_marker": "the output was cut inside this marker, which was left out",
    "doubled_opener": "a call opener directly before another one was left out",
    "draft_call": "a call between <think> and </think> is a draft and was left in the content",
    "empty_call": "a call with nothing in it was left out",
    "missing_think_open": "reasoning ends here without having been opened",
    "repeated_think_open": "the prompt had opened reasoning already; this opener was left out",
    "stray_marker": "a call closer that closes nothing, or follows text, was left out",
}


def mark(code: DiagnosticCode, start: int, end: int) -> Diagnostic:
    """Return the diagnostic of that code."""
    return Diagnostic(code, _MESSAGES[code], (start, end))
