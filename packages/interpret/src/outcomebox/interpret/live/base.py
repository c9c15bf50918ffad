"""What live parsers read and what they answer."""

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, Protocol

from outcomebox.interpret.output import CUT_REASONS, PromptState
from outcomebox.interpret.tokens.text import Tokenizer
from outcomebox.interpret.turn import Tool


class Recorded(NamedTuple):
    """One recorded output with its surroundings.

    Attributes:
        text: The raw output, special tokens kept.
        pieces: The text of each token, in order; joined they are `text`.
        ids: The id of each token.
        tokenizer: Whose ids they are.
        tools: The offered tools as OpenAI tool objects; None or empty where none are offered.
        format: How the model writes calls.
        prompt_state: Where the prompt left the model.
        finish_reason: Why generation ended.
    """

    text: str
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    tokenizer: Tokenizer
    tools: Sequence[Tool] | None = None
    format: str = "qwen3_xml"
    prompt_state: PromptState = "think_closed"
    finish_reason: str = "stop"

    @property
    def cut(self) -> bool:
        """Whether the output was cut by a limit."""
        return self.finish_reason in CUT_REASONS

    def openai_tools(self) -> list[dict[str, Any]]:
        """Return the tools as a server is sent them: with their `function` wrapper."""
        return [
            dict(tool) if "function" in tool else {"type": "function", "function": dict(tool)}
            for tool in self.tools or ()
        ]


class Answer(NamedTuple):
    """What a client of the parser's server receives.

    Attributes:
        reasoning: The reasoning; None where the server sends none.
        content: The visible text; None where the server sends none.
        calls: The name of each call and its arguments, exactly as sent.
        error: The exception that the parser raised, `Type: message`; None as a rule.
    """

    reasoning: str | None
    content: str | None
    calls: tuple[tuple[str, str], ...] = ()
    error: str | None = None


class LiveParser(Protocol):
    """One mode of one release's parsers."""

    @property
    def name(self) -> str:
        """Return the name and release, `vllm 0.32.0`, with `stream` behind it in that mode."""
        ...

    def parse(self, output: Recorded) -> Answer:
        """Read one output as the release's server does.

        An exception of the parser is part of the answer: what a client gets then is an error.
        """
        ...


class Maker(Protocol):
    """Makes a live parser; entry points name these."""

    def __call__(self, *, stream: bool, where: str) -> LiveParser:
        """Make the parser; see `live_parser`."""
        ...


def failed(error: Exception) -> str:
    """Return what an exception is called in an answer: its type and its first line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def parser_for(parsers: Mapping[str, str], format_name: str) -> str:
    """Return what a release calls its parser of a format.

    Raises:
        ValueError: It has none; the message lists the formats it reads.
    """
    if format_name not in parsers:
        raise ValueError(
            f"this live parser does not read format {format_name!r}; it reads: {', '.join(parsers)}"
        )
    return parsers[format_name]


def installed(*distributions: str) -> str:
    """Return the release of the first of these distributions that is installed.

    Raises:
        ImportError: None is.
    """
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    raise ImportError(f"none of these distributions is installed: {', '.join(distributions)}")
