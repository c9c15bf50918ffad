"""One output as a reading gets it: its text, its tokens where they are known, its surroundings."""

from typing import Literal, NamedTuple

from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.scanner import Scanner
from outcomebox.interpret.tokens.text import TokenText
from outcomebox.interpret.tools import Toolbox

PromptState = Literal["assistant_start", "think_open", "think_closed"]
"""Where the prompt left the model: before any reasoning, inside it, or after it."""

CUT_REASONS = frozenset({"length", "abort", "content_filter"})
"""Finish reasons of an output that did not end by itself."""


class Output(NamedTuple):
    """All that a reading may look at.

    Attributes:
        text: The raw output, special tokens kept.
        tokens: The token ids and where each stands in `text`; None where only text is known.
        tools: The offered tools.
        format: How the model writes calls.
        prompt_state: Where the prompt left the model.
        finish_reason: Why generation ended.
        scanner: The format's markers in `text`; None for a profile that does not ask for them.
    """

    text: str
    tokens: TokenText | None
    tools: Toolbox
    format: Format
    prompt_state: PromptState
    finish_reason: str
    scanner: Scanner | None

    @property
    def cut(self) -> bool:
        """Whether the output was cut by a limit."""
        return self.finish_reason in CUT_REASONS
