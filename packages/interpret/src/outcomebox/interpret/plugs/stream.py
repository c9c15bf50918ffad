"""The `strict` reading of a stream, handed on as it settles.

What is sent cannot be taken back, so nothing is sent that the rest of the output could change. What
may be sent early is reasoning, and content up to the first markup that does not end the reasoning.
From there on all waits for the end, and so do calls: in `strict`, what follows a call may still
show that it was a draft or a quotation. What was sent, joined, is the turn of the whole.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.interpreter import Interpreter
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.plugs.whole import ended_by_itself, raw_calls
from outcomebox.interpret.scanner import Marker, Scanner
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Tool, ToolCall, Turn

_MOST_PENDING = 4096
"""Characters kept waiting for the first text; where more is white space, all waits for the end."""


class Delta(NamedTuple):
    """What settled since the last delta.

    Attributes:
        reasoning: More of the reasoning.
        content: More of the content. What follows the content proper, at the end, is the markup of
            the attempts that are not executable: a server has no other place for it.
        calls: The executable calls; all of them come with the last delta.
    """

    reasoning: str = ""
    content: str = ""
    calls: tuple[ToolCall, ...] = ()


class StrictStream:
    """Reads one output that arrives in pieces of text.

    Attributes:
        turn: The whole turn once the stream is finished.
        text: The whole output then.
        past_reasoning: Whether the end of the reasoning is certain.
        ended: Whether the text so far ends in an end-of-turn token.
        rest: The raw text behind the reasoning at the moment when its end became certain.
    """

    def __init__(
        self,
        *,
        tools: Sequence[Tool] | Toolbox | None,
        format: str,  # noqa: A002 - the word users know it by
        prompt_state: PromptState,
    ) -> None:
        """Start an output. The arguments are those of `interpret`."""
        self._format = format_named(format)
        self._reader = Interpreter(tools=tools, format=format, prompt_state=prompt_state)
        self._scanner = Scanner(self._format)
        self._chunks: list[str] = []
        self._sent: dict[str, list[str]] = {"reasoning": [], "content": []}
        self._pending = ""  # what is scanned and not sent
        self._at = 0  # where `_pending` starts
        self._next = 0  # the next marker to look at
        self._phase: Literal["start", "reasoning", "content", "held"] = "start"
        self._prompt_state = prompt_state
        self._thinks = "think_close" in self._format.spellings
        self.turn: Turn | None = None
        self.text = ""
        self.past_reasoning = prompt_state == "think_closed"
        self.rest = ""

    @property
    def ended(self) -> bool:
        """Whether the text so far ends in an end-of-turn token."""
        # A token and the white space behind it are short; more white space is no ending.
        return ended_by_itself("".join(self._chunks[-32:]), self._format)

    def feed(self, chunk: str) -> Delta:
        """Read on and return what settled."""
        self._chunks.append(chunk)
        self._reader.feed(chunk)
        if self._phase == "held" or not chunk:
            return Delta()
        self._scanner.feed(chunk)
        self._pending += chunk
        if self._phase == "start" and not self._start():
            return Delta()
        reasoning = self._settle("reasoning") if self._phase == "reasoning" else ""
        content = self._settle("content") if self._phase == "content" else ""
        return Delta(reasoning, content)

    def finish(self, finish_reason: str | None = None) -> Delta:
        """End the output and return what is left of it.

        Args:
            finish_reason: Why generation ended; None where that is not known: then an output counts
                as cut unless an end-of-turn token stands at its end.
        """
        text = self.text = "".join(self._chunks)
        if finish_reason is None:
            finish_reason = "stop" if ended_by_itself(text, self._format) else "length"
        turn = self.turn = self._reader.finish(finish_reason)
        content = (turn.content or "") + raw_calls(text, turn, executable=False)
        return Delta(
            self._left("reasoning", turn.reasoning or ""),
            self._left("content", content),
            tuple(call for call in turn.tool_calls if call.executable),
        )

    def _left(self, part: str, whole: str) -> str:
        sent = "".join(self._sent[part])
        if not whole.startswith(sent):
            raise AssertionError(f"{part} was sent as {sent!r:.200} and is {whole!r:.200}")
        return whole[len(sent) :]

    # -- what has settled -------------------------------------------------------------------------

    def _start(self) -> bool:
        """Find out what the output begins with; False while that is not certain."""
        marker = self._marker()
        blank = not self._text_before(marker).strip(WHITE_SPACE)
        if blank and marker is None and len(self._pending) < _MOST_PENDING:
            return False
        opens = blank and marker is not None and marker.kind == "think_open"
        if self._format.bare or (blank and marker is None):
            # Without an opener before calls, any text may turn out to be one.
            self._phase = "held"
        elif self._prompt_state == "think_open" or (
            self._prompt_state == "assistant_start" and opens
        ):
            self._phase = "reasoning"
        elif opens or (self._prompt_state == "assistant_start" and self._thinks):
            # A closer may follow, and make all of this reasoning.
            self._phase = "held"
        else:
            self._phase = "content"
        if opens and marker and self._phase == "reasoning":
            self._skip(marker)
        return True

    def _settle(self, part: Literal["reasoning", "content"]) -> str:
        """Take the settled text of a phase; go on to the next phase where a marker ends it."""
        marker = self._marker()
        text = self._text_before(marker)
        closes = part == "reasoning" and marker is not None and marker.kind == "think_close"
        stop = self._end_token(text)
        if stop is not None:
            # Only at the very end is it the end of the turn, so what follows must be seen first.
            text, closes = text[:stop], False
        sent = self._sent[part]
        if not sent and not text.strip(WHITE_SPACE):
            text = ""  # white space alone is nothing, unless text follows it
        if text:
            sent.append(text)
            self._pending = self._pending[len(text) :]
            self._at += len(text)
        if closes and marker:
            self._skip(marker)
            self._phase = "content"
            self.past_reasoning = True
            self.rest = self._pending
        elif marker or stop is not None or len(self._pending) >= _MOST_PENDING:
            self._phase = "held"
        return text

    def _marker(self) -> Marker | None:
        markers = self._scanner.markers
        return markers[self._next] if self._next < len(markers) else None

    def _text_before(self, marker: Marker | None) -> str:
        """Return what is not sent before a marker, or before what may still become one."""
        if marker:
            return self._pending[: marker.start - self._at]
        text = self._pending[: self._scanner.held_at - self._at]
        for token in self._format.end_of_turn:
            for size in range(min(len(token) - 1, len(text)), 0, -1):
                if text.endswith(token[:size]):
                    text = text[:-size]
                    break
        return text

    def _end_token(self, text: str) -> int | None:
        """Return where the first end-of-turn token stands."""
        places = [text.find(token) for token in self._format.end_of_turn]
        return min((place for place in places if place >= 0), default=None)

    def _skip(self, marker: Marker) -> None:
        self._pending = self._pending[marker.end - self._at :]
        self._at = marker.end
        self._next += 1
