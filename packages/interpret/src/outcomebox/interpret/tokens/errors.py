"""What can be wrong with a conversation's tokens, as codes for programs and messages for people."""

from typing import Any, Literal, NamedTuple

DriftCode = Literal[
    "arguments_rewritten",
    "boundary_newline",
    "call_added",
    "call_missing",
    "empty_thinking",
    "end_of_turn",
    "retokenised",
    "system_prompt",
    "text",
    "thinking_added",
    "thinking_stripped",
    "tool_merging",
    "turn_added",
    "turn_missing",
    "white_space",
]
"""Why a render differs from the ids that stand; `drift.CAUSES` says each in words."""

RefusalCode = Literal[
    "assistant_in_new",
    "bridges_differ",
    "needs_user_query",
    "no_assistant",
    "no_end_of_turn",
    "nothing_new",
    "nothing_sampled",
    "not_ended",
    "string_arguments",
    "template_error",
    "text_after_end",
    "tool_alone",
]
"""Why a turn cannot be rendered at all, whatever stands."""


class Drift(NamedTuple):
    """A place where a render of the conversation differs from the ids that stand.

    Attributes:
        code: The cause.
        at: The first id that differs, counted from the start of what stands. Where the text
            differs, the id that wrote the first other character.
        turn: Its turn; 0 is the first message that was rendered.
        standing: What stands there, eight ids at most.
        rendered: What was rendered there, eight ids at most.
        message: Cause and place in words.
    """

    code: DriftCode
    at: int
    turn: int
    standing: tuple[int, ...]
    rendered: tuple[int, ...]
    message: str


class TurnRefused(ValueError):
    """The next turn cannot be written behind what stands.

    Attributes:
        code: The cause, for programs.
        index: The first id that is wrong, counted from the start of what stands; None where
            nothing was rendered.
        drifts: Every difference between the render and what stands.
    """

    def __init__(
        self,
        code: DriftCode | RefusalCode,
        message: str,
        *,
        index: int | None = None,
        drifts: tuple[Drift, ...] = (),
    ) -> None:
        where = "" if index is None else f" at id {index}"
        super().__init__(f"{code}{where}: {message}")
        self.code = code
        self.index = index
        self.drifts = drifts

    def to_json(self) -> dict[str, Any]:
        """Return the refusal as plain values, to be recorded."""
        return {
            "code": self.code,
            "index": self.index,
            "message": str(self),
            "drifts": [each._asdict() for each in self.drifts],
        }
