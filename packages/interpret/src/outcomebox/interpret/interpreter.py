"""The interpreter's face: one output at once, or a stream of pieces; the turn is the same."""

from collections.abc import Sequence
from typing import get_args

from outcomebox.interpret.formats import Format, format_named
from outcomebox.interpret.layout import WHITE_SPACE
from outcomebox.interpret.profiles import profile_named
from outcomebox.interpret.raw import PromptState, Source
from outcomebox.interpret.scanner import Scanner
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Diagnostic, Tool, ToolCall, Turn

CUT_REASONS = frozenset({"length", "abort", "content_filter"})
"""Finish reasons of an output that did not end by itself."""

_PROMPT_STATES: tuple[PromptState, ...] = get_args(PromptState)

_SURE_MARKER = 4
"""Characters that the beginning of a marker needs at a cut to be taken for one, not for HTML."""


def interpret(
    output: str,
    *,
    tools: Sequence[Tool] | Toolbox | None = None,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    profile: str = "strict",
    prompt_state: PromptState = "think_closed",
    finish_reason: str = "stop",
) -> Turn:
    """Read one raw output.

    Args:
        output: The model's text, special tokens of the format kept.
        tools: The offered tools as OpenAI tool objects, or a `Toolbox` made of them once; None
            where they are not known, in which case no call is unknown and every value stays text.
        format: How the model writes calls.
        profile: Whose reading is wanted; `strict` is our own.
        prompt_state: Where the prompt left the model: before any reasoning (`assistant_start`),
            inside it (`think_open`) or after it (`think_closed`).
        finish_reason: Why generation ended; `length` (also `abort`, `content_filter`) says that
            the output was cut.

    Returns:
        The turn: reasoning, content, calls and what else was noticed.

    Raises:
        TypeError: `output` is not a str.
        ValueError: An unknown format, profile or prompt state, or a tool without a name.
    """
    reader = Interpreter(tools=tools, format=format, profile=profile, prompt_state=prompt_state)
    reader.feed(output)
    return reader.finish(finish_reason)


class Interpreter:
    """Reads one output that arrives in pieces; any split gives the turn of the whole."""

    def __init__(
        self,
        *,
        tools: Sequence[Tool] | Toolbox | None = None,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
        profile: str = "strict",
        prompt_state: PromptState = "think_closed",
    ) -> None:
        """Start an output. The arguments are those of `interpret`.

        Raises:
            ValueError: An unknown format, profile or prompt state, or a tool without a name.
        """
        if prompt_state not in _PROMPT_STATES:
            known = ", ".join(_PROMPT_STATES)
            raise ValueError(f"prompt_state {prompt_state!r} is unknown; use one of: {known}")
        self._format = format_named(format)
        self._profile = profile_named(profile)
        self._tools = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        self._prompt_state = prompt_state
        self._scanner = Scanner(self._format)
        self._chunks: list[str] = []
        self._finished = False

    def feed(self, chunk: str) -> None:
        """Read on.

        Raises:
            TypeError: `chunk` is not a str.
            RuntimeError: The output is finished.
        """
        if not isinstance(chunk, str):
            raise TypeError(
                f"output must be a str, not {type(chunk).__name__}; decode token ids with special "
                "tokens kept and pass the text"
            )
        if self._finished:
            raise RuntimeError("this output is finished; start another Interpreter")
        self._chunks.append(chunk)
        self._scanner.feed(chunk)

    def finish(self, finish_reason: str = "stop") -> Turn:
        """End the output and return its turn.

        Raises:
            RuntimeError: The output is finished.
        """
        if self._finished:
            raise RuntimeError("this output is finished; start another Interpreter")
        self._finished = True
        text = "".join(self._chunks)
        cut = finish_reason in CUT_REASONS
        end, cut_opener = _end(text, self._scanner.held_at, self._format, cut=cut)
        raw = self._profile.read(
            Source(
                text=text,
                markers=self._scanner.markers,
                end=end,
                prompt_state=self._prompt_state,
                cut=cut,
                cut_opener=cut_opener,
                offered=self._tools.offered,
                declared=self._tools.declared,
            )
        )
        calls: list[ToolCall] = []
        diagnostics: list[Diagnostic] = list(raw.diagnostics)
        for each in raw.calls:
            call, notes = self._profile.type_call(each, self._tools)
            calls.append(call)
            diagnostics += notes
        reasoning = text[slice(*raw.reasoning)] if raw.reasoning else ""
        content = "".join(text[start:end] for start, end in raw.content)
        return Turn(
            reasoning=reasoning if reasoning.strip(WHITE_SPACE) else None,
            content=content or None,
            tool_calls=tuple(calls),
            diagnostics=tuple(sorted(diagnostics, key=lambda each: each.span)),
        )


def _end(text: str, held_at: int, format: Format, *, cut: bool) -> tuple[int, bool]:  # noqa: A002
    """Return where the turn ends in the text, and whether a call's opener was cut there."""
    if cut and len(text) - held_at >= _SURE_MARKER:
        return held_at, format.write("call_open").startswith(text[held_at:])
    end = len(text)
    while True:
        bare = end
        while bare and text[bare - 1] in WHITE_SPACE:
            bare -= 1
        token = next((each for each in format.end_of_turn if text.endswith(each, 0, bare)), None)
        if token is None:
            return end, False
        end = bare - len(token)
