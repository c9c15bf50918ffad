"""Why two readings of one output differ: the classes, and one difference found."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from outcomebox.interpret.turn import Span

Side = Literal["left", "right", "both"]
"""Whose doing a difference is; `both`: the readers agree, and neither can be what was meant."""


class Cause(NamedTuple):
    """A class of differences.

    Attributes:
        title: What happens, in words; `{by}` does it and `{other}` does not.
        advice: What it means for whoever trains with one reader and evaluates with the other.
    """

    title: str
    advice: str


CAUSES: Mapping[str, Cause] = {
    # Calls that one reader executes and the other does not.
    "draft_executed": Cause(
        "{by} executes a call that was drafted in the reasoning",
        "The model thought of it and may have thought better of it.",
    ),
    "cut_call_executed": Cause(
        "{by} executes a call that the token limit cut",
        "Half a call is sent: a value may be cut in the middle.",
    ),
    "unclosed_call_executed": Cause(
        "{by} executes a call that is never closed",
        "The output ended by itself inside a call.",
    ),
    "unknown_tool_dropped": Cause(
        "{other} drops a call of a tool that is not offered",
        "The model is not told that there is no such tool.",
    ),
    "bad_call_hides_good": Cause(
        "{other} drops all calls of a turn because one of them is bad",
        "Good calls are lost with the bad one.",
    ),
    "call_inside_value": Cause(
        "{by} executes a call that {other} reads as part of a value",
        "Text that quotes markup is taken for a call.",
    ),
    "bare_call_executed": Cause(
        "{by} executes a call without its wrapper",
        "Prose that shows markup may be executed.",
    ),
    "arguments_not_json": Cause(
        "{by} sends arguments that are not JSON",
        "The client cannot execute the call.",
    ),
    "call_not_executable": Cause(
        "{by} executes a call that {other} reads and refuses",
        "One of them takes the call for damaged.",
    ),
    "call_left_in_text": Cause(
        "{other} leaves a call in the text that {by} executes",
        "The call is shown to the user instead of being made.",
    ),
    "call_lost": Cause(
        "{by} executes a call that {other} does not return at all",
        "The call is lost without a trace.",
    ),
    "tool_renamed": Cause(
        "the readers take one call for calls of two tools",
        "The name ends at another place.",
    ),
    # Values that are not the same in both.
    "white_space_stripped": Cause(
        "{by} strips white space around a string that {other} keeps",
        "Indented code, patches and padded fields arrive changed.",
    ),
    "null_for_string": Cause(
        "{by} reads the word null as no value, {other} as a string",
        "A text column gets NULL, or the word.",
    ),
    "boolean_flipped": Cause(
        "{by} reads as true what {other} reads as false",
        "The same word has the opposite effect.",
    ),
    "boolean_or_other": Cause(
        "{by} reads as a boolean what {other} reads as another type",
        "A word other than true and false stands for a boolean.",
    ),
    "number_or_text": Cause(
        "{by} reads as a number what {other} keeps as text",
        "Postal codes and references lose their zeros, or numbers arrive as strings.",
    ),
    "number_rounded": Cause(
        "{by} rounds a number that {other} keeps",
        "Large identifiers change.",
    ),
    "number_form": Cause(
        "{by} writes a whole number with a decimal point, {other} without",
        "Strict validators refuse one of them.",
    ),
    "not_finite_number": Cause(
        "{by} sends Infinity or NaN, which is not JSON",
        "Clients may refuse the call, or store what cannot be compared.",
    ),
    "structure_as_text": Cause(
        "{by} passes an array or object on as text, {other} as a value",
        "The tool gets a string where its schema has a list or an object.",
    ),
    "value_cut": Cause(
        "{by} ends a value earlier than {other}",
        "Text in the value looks like markup, or a closer is missing.",
    ),
    "argument_lost": Cause(
        "{by} leaves out an argument that {other} passes",
        "The tool falls back on a default, or refuses.",
    ),
    "null_or_value": Cause(
        "{by} passes null where {other} passes a value",
        "The value is lost.",
    ),
    "value_differs": Cause(
        "an argument has another value",
        "Look at the example.",
    ),
    # Texts that are not the same in both.
    "reasoning_in_content": Cause(
        "{by} shows the reasoning as content",
        "What the next prompt holds of the turn differs.",
    ),
    "content_in_reasoning": Cause(
        "{by} takes content for reasoning",
        "The user sees nothing, and the next prompt may leave it out.",
    ),
    "reasoning_ends_elsewhere": Cause(
        "the readers end the reasoning at different places",
        "What the next prompt holds of the turn differs.",
    ),
    "content_lost_after_call": Cause(
        "{by} loses text that stands behind a call",
        "The user never sees it.",
    ),
    "text_lost": Cause(
        "{by} loses text that {other} returns",
        "The user never sees it, or the next prompt leaves it out.",
    ),
    "marker_in_text": Cause(
        "{by} leaves a marker or special token in the text that {other} takes out",
        "It ends up in the next prompt, or before the user.",
    ),
    "white_space_around_text": Cause(
        "{by} trims white space of the text that {other} keeps",
        "The next prompt has other tokens.",
    ),
    "text_differs": Cause(
        "the texts differ in another way",
        "Look at the example.",
    ),
    "tools_refused": Cause(
        "{by} refuses the offered tools: a run with them does not start",
        "Give it schemas that it accepts; --plain-schemas compares as if it had been given them.",
    ),
    "reader_failed": Cause(
        "{by} fails on this output",
        "An exception or a refusal: the turn is lost.",
    ),
}
"""Every class of differences by its name, the gravest first."""

_RANK = {name: place for place, name in enumerate(CAUSES)}


class ClassKey(NamedTuple):
    """One class as it is counted: what happens, and who does it; None where nobody can be named."""

    cause: str
    by: Side | None

    @property
    def rank(self) -> tuple[int, str]:
        """Its place in tables."""
        return _RANK[self.cause], self.by or ""

    def title(self, left: str, right: str) -> str:
        """What happens, with the readers' names."""
        by, other = {
            "left": (left, right),
            "right": (right, left),
            "both": (f"both {left} and {right}", "neither"),
            None: (left, right),
        }[self.by]
        title = CAUSES[self.cause].title.format(by=by, other=other)
        if self.by == "both":
            title = title.replace(" executes ", " execute ")
        return title


class Finding(NamedTuple):
    """One difference.

    Attributes:
        cause: One of `CAUSES`.
        by: Whose doing it is.
        where: The part that differs: `reasoning`, `content`, `calls[1]`, `calls[1].arguments.note`;
            calls are counted on the side that has them, the left where both do.
        left: What the left reader made of it; shortened for display by whoever shows it.
        right: The same of the right reader.
        span: Its place in the output as well as it can be told, else None.
        changes_call: Whether something else is executed.
    """

    cause: str
    by: Side | None
    where: str
    left: str | None
    right: str | None
    span: Span | None = None
    changes_call: bool = False

    @property
    def key(self) -> ClassKey:
        """The class it counts in."""
        return ClassKey(self.cause, self.by)

    @property
    def shared(self) -> bool:
        """Whether the readers agree on it, so that it is a hazard and no difference."""
        return self.by == "both"
