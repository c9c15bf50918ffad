"""The states of vLLM's call reader: what a marker means depends on where it stands."""

from enum import Enum, auto
from functools import cached_property

from outcomebox.interpret.profiles.vllm.xml_lexer import DROPPED, TEXT, Piece
from outcomebox.interpret.profiles.vllm.xml_parameters import name_in_json


class State(Enum):
    """Where the reader is."""

    CONTENT = auto()
    WRAPPER = auto()
    NAME = auto()
    ARGUMENTS = auto()
    BEHIND = auto()


class Step(Enum):
    """What a marker does besides the change of state."""

    NONE = auto()
    OPENS = auto()
    CLOSES = auto()


_STEPS: dict[tuple[State, str], tuple[State, Step]] = {
    (State.CONTENT, "think_close"): (State.CONTENT, Step.NONE),
    (State.CONTENT, "call_open"): (State.WRAPPER, Step.OPENS),
    (State.CONTENT, "function_open"): (State.NAME, Step.OPENS),
    (State.WRAPPER, "call_close"): (State.CONTENT, Step.CLOSES),
    (State.WRAPPER, "function_open"): (State.NAME, Step.NONE),
    (State.NAME, "angle"): (State.ARGUMENTS, Step.NONE),
    (State.NAME, "function_close"): (State.BEHIND, Step.CLOSES),
    (State.ARGUMENTS, "function_close"): (State.BEHIND, Step.CLOSES),
    (State.BEHIND, "call_close"): (State.CONTENT, Step.NONE),
    (State.BEHIND, "call_open"): (State.WRAPPER, Step.OPENS),
    (State.BEHIND, "function_open"): (State.NAME, Step.OPENS),
}
"""What markers do. Any other marker is text of the state it stands in."""


class Attempt:
    """One call, or what the reader took for the beginning of one.

    Attributes:
        start: Where it begins in the text that was read.
        end: Where it ends there.
        pieces: The text of its arguments, markup included, in the pieces it was read in.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.names: list[str] = []
        self.pieces: list[str] = []

    @cached_property
    def body(self) -> str:
        """The text of its arguments; final once the output is."""
        return "".join(self.pieces)

    @cached_property
    def name(self) -> str:
        """Its name, as it stands in the markup or else as a JSON member; empty without one."""
        written = "".join(self.names)
        if written:
            return written
        found = name_in_json(self.body)
        return found.name if found else ""

    @property
    def is_named(self) -> bool:
        """Whether its name is known by now, as its markup gives it."""
        return bool(self.names and (self.pieces or self.end > self.start))


class CallReader:
    """Reads what follows the reasoning.

    Attributes:
        texts: The pieces of content since they were last taken.
        attempts: The attempts so far.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.attempts: list[Attempt] = []
        self._state = State.CONTENT

    @property
    def open(self) -> bool:
        """Whether an attempt has no end yet."""
        return self._state not in (State.CONTENT, State.BEHIND)

    def read(self, piece: Piece) -> None:
        """Read on."""
        kind, text, start = piece
        step = None if kind == TEXT else _STEPS.get((self._state, kind))
        if step is None:
            if kind != DROPPED:
                self._text(text)
            return
        before, (self._state, does) = self._state, step
        if does is Step.OPENS:
            self.attempts.append(Attempt(start))
        elif does is Step.CLOSES or before is State.BEHIND:
            self.attempts[-1].end = start + len(text)

    def finish(self, end: int) -> None:
        """End the text: what is open ends there."""
        if self.open:
            self.attempts[-1].end = end
        self._state = State.CONTENT

    def _text(self, text: str) -> None:
        if self._state is State.CONTENT:
            self.texts.append(text)
        elif self._state is State.ARGUMENTS:
            self.attempts[-1].pieces.append(text)
        elif self._state is State.NAME:
            self.attempts[-1].names.append(text)
