"""What the two parsers of one request have in common: a single reading of its output.

vLLM makes both for each request, one after the other in one thread, the reasoning parser first.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.interpreter import interpret
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.plugs.stream import Delta, StrictStream
from outcomebox.interpret.plugs.whole import ended_by_itself
from outcomebox.interpret.turn import Turn


class SharedReading:
    """One request's output as both of its parsers see it.

    Attributes:
        prompt_state: Where the prompt left the model, as well as is known before its ids are seen.
        tools: The offered tools, once the tool parser has brought them.
        paired: Whether a tool parser shares this.
        turn: The turn of a whole output, read at once.
        content: The text that was handed on for the tool parser to find calls in.
        waiting: What settled in the text in which reasoning ended, for the tool parser to send.
    """

    def __init__(self, format_name: str, *, thinking: bool) -> None:
        self.prompt_state: PromptState = "think_open" if thinking else "think_closed"
        self.tools: list[dict[str, Any]] = []
        self.paired = False
        self.turn: Turn | None = None
        self.text = ""
        self.content: str | None = None
        self.waiting: Delta | None = None
        self._format_name = format_name
        self._stream: StrictStream | None = None

    @property
    def stream(self) -> StrictStream:
        """The output as a stream; started at the first use, when the prompt has been seen."""
        if self._stream is None:
            self._stream = StrictStream(
                tools=self.tools, format=self._format_name, prompt_state=self.prompt_state
            )
        return self._stream

    def read(self, text: str, tools: list[dict[str, Any]]) -> Turn:
        """Read a whole output."""
        ended = ended_by_itself(text, format_named(self._format_name))
        self.text = text
        self.turn = interpret(
            text,
            tools=tools,
            format=self._format_name,
            prompt_state=self.prompt_state,
            finish_reason="stop" if ended else "length",
        )
        return self.turn


_made = threading.local()


def offer(shared: SharedReading) -> None:
    """Leave a reading for the tool parser that is made next in this thread."""
    # Weak: the reasoning parser of a request that is over is nobody's partner.
    _made.last = weakref.ref(shared)


def partner() -> SharedReading | None:
    """Take the reading that the reasoning parser of the same request left, if there is one."""
    last: Callable[[], SharedReading | None] = getattr(_made, "last", lambda: None)
    _made.last = lambda: None
    return last()
