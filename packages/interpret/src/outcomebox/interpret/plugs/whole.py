"""What a server or trainer is told of a whole turn beyond its calls."""

from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.turn import Turn


def ended_by_itself(text: str, format: Format) -> bool:  # noqa: A002 - the word users know it by
    """Say whether an end-of-turn token of the format stands at the end of the text."""
    return text.rstrip(WHITE_SPACE).endswith(format.end_of_turn)


def raw_calls(text: str, turn: Turn, *, executable: bool) -> str:
    """Return the markup of the turn's calls that are, or are not, executable, in order."""
    spans = (call.span for call in turn.tool_calls if call.executable is executable)
    return "".join(text[start:end] for start, end in spans)


def reasoning_markup(text: str, turn: Turn, format: Format) -> str:  # noqa: A002 - the users' word
    """Return the output up to the end of its reasoning, markers included."""
    if turn.reasoning is None:
        return ""
    end = text.index(turn.reasoning) + len(turn.reasoning)
    closer = format.spellings.get("think_close", "")
    return text[: end + len(closer)] if closer and text.startswith(closer, end) else text[:end]
