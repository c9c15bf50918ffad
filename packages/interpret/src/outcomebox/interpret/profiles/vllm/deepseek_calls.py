"""The calls of a DeepSeek stream of vLLM, delta by delta.

Each delta inside a call is matched against all of the call that has arrived. The one that completes
the name sends the name alone, and only the first line of the arguments is ever looked at. How far
the arguments came before is kept in a list that calls without a name leave no place in, so that the
next call spends a delta on making that place.
"""

from outcomebox.interpret.profiles.vllm.deepseek_whole import (
    CALL_CLOSE,
    CALL_OPEN,
    CALLS_CLOSE,
    CALLS_OPEN,
    FENCE_OPEN,
    SEPARATOR,
)
from outcomebox.interpret.profiles.vllm.hermes_whole import RawCall

_Range = tuple[int, int]


class _Sent:
    """A call as far as it was sent."""

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.pieces: list[str] = []


class _Seen:
    """What has arrived of the call that begins at `start`.

    Attributes:
        start: Where the call's text begins, behind its opener.
        name: Its name, once its line is complete; None before, and for ever without a separator.
        arguments: The range of its arguments, up to the last character that is no backtick.
    """

    def __init__(self, text: str, start: int) -> None:
        self.start = start
        self.name: str | None = None
        self.arguments = (start, start)
        self._text = text
        self._looked = start
        self._line = -1
        self._stopped = False

    def extend(self, end: int) -> None:
        """Look at the text up to `end`."""
        text = self._text
        if self._line < 0:
            self._line = text.find("\n", self._looked, end)
            self._looked = end
            separator = text.rfind(SEPARATOR, self.start, max(self._line, self.start))
            if separator < 0:
                return
            self.name = text[separator + len(SEPARATOR) : self._line]
            self._looked = self._line + 1
            self.arguments = (self._looked, self._looked)
        fence = self._line + 1
        begin = fence + len(FENCE_OPEN)
        if self.name is None or self._stopped or not text.startswith(FENCE_OPEN, fence, end):
            return
        at = max(self._looked, begin)
        stop = text.find("\n", at, end)
        self._stopped = stop >= 0
        line = text[at : stop if self._stopped else end].rstrip("`")
        self._looked = end
        last = at + len(line) if line else self.arguments[1]
        self.arguments = (begin, max(last, begin))


class CallStream:
    """Follows the deltas behind the reasoning.

    Attributes:
        content: What was sent as content, in pieces.
    """

    def __init__(self, text: str, start: int) -> None:
        self.content: list[str] = []
        self._text = text
        self._seen = _Seen(text, start)
        self._scanned = start
        self._section = False
        self._opened = 0
        self._closed = 0
        self._number = -1
        self._named = False
        self._sent: dict[int, _Sent] = {}
        self._kept: list[_Range | None] = []
        self._streamed: list[_Range] = []
        self._last: int | None = None
        self._opener = start

    def take(self, marker: str, start: int, end: int) -> None:
        """Take the next delta."""
        opened, closed = self._opened, self._closed
        self._opened += marker == CALL_OPEN
        self._closed += marker == CALL_CLOSE
        self._section = self._section or marker == CALLS_OPEN
        self._last = None
        text = self._text[start:end]
        if not self._section:
            self.content.append(text)
            return
        shown = text.removesuffix(marker) if marker in (CALLS_OPEN, CALLS_CLOSE) else text
        if self._opened > max(self._closed, opened):
            self._number += 1
            self._named = False
            self._streamed.append((end, end))
        elif self._opened > self._closed:
            self._update(end)
        elif self._opened == self._closed and closed == self._closed:
            self.content.append(shown)
        elif self._opened < self._closed:
            within = marker in (CALL_OPEN, CALL_CLOSE)
            self.content.append(shown.removesuffix(marker) if within else shown)
        elif self._number in self._sent:
            self._sent[self._number].end = end

    def close(self) -> None:
        """Take the end of an output that was cut: the last delta sends what is left to send."""
        if self._last is None or not self._kept:
            return
        kept, index = self._kept[-1], len(self._kept) - 1
        expected = "{}" if kept is None else self._text[slice(*kept)]
        done = self._text[slice(*self._streamed[index])] if index < len(self._streamed) else ""
        if expected.startswith(done):
            self._sent[self._last].pieces.append(expected[len(done) :])

    def calls(self) -> list[RawCall]:
        """Return the calls in the order of their numbers."""
        return [
            RawCall(call.name, "".join(call.pieces), call.start, call.end)
            for _, call in sorted(self._sent.items())
        ]

    def _update(self, end: int) -> None:
        """Take a delta inside a call."""
        seen = self._look(end)
        number = self._number
        if seen.name is None and seen.start < end:
            return
        if not self._named:
            if seen.name:
                self._named = True
                self._last = number
                self._sent[number] = _Sent(seen.name, seen.start - len(CALL_OPEN), end)
            return
        if number in self._sent:
            self._sent[number].end = end
        current = None if seen.name is None else seen.arguments
        if len(self._kept) <= number:
            self._kept.append(None)
        if not -len(self._kept) <= number < len(self._kept):
            return
        if not self._send(number, current):
            return
        if number == len(self._kept) - 1:
            self._kept[number] = current
        else:
            self._kept.append(current)

    def _look(self, end: int) -> _Seen:
        """Return what has arrived behind the last opener, spelled or not."""
        at = self._text.rfind(CALL_OPEN, max(0, self._scanned), end)
        if at >= 0:
            self._seen = _Seen(self._text, at + len(CALL_OPEN))
        self._scanned = max(self._seen.start, end - len(CALL_OPEN) + 1)
        self._seen.extend(end)
        return self._seen

    def _send(self, number: int, current: _Range | None) -> bool:
        """Send what is new of the arguments; False where the server fails over it."""
        before = self._kept[number] or (0, 0)
        if current is None or current[0] == current[1]:
            return True
        text, length = self._text, before[1] - before[0]
        if current[1] - current[0] <= length:
            return True
        if current[0] != before[0] and not text.startswith(text[slice(*before)], current[0]):
            return True
        self._last = number
        if not self._streamed:
            return False
        self._sent[number].pieces.append(text[current[0] + length : current[1]])
        self._streamed[number] = current
        return True
