"""How sglang 0.5 reads `qwen3_coder` calls in a stream.

Its stream reader follows the markers one by one, in whatever order they come: it needs no wrapper,
sends a brace for every `</function>`, and sends a parameter that stands outside of a function as a
piece of the call before it, or of a call of index -1 that has no name. How the text is split into
deltas changes nothing, but for what the client has before an error.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from outcomebox.interpret.profiles.pythonic import NOT_JSON
from outcomebox.interpret.profiles.sglang.joined import Joined
from outcomebox.interpret.profiles.sglang.schemas import Kinds
from outcomebox.interpret.profiles.sglang.values import convert
from outcomebox.interpret.profiles.sglang.xml_whole import Reading
from outcomebox.interpret.profiles.xmlblocks import (
    CALL_CLOSE,
    CALL_OPEN,
    FUNCTION_CLOSE,
    FUNCTION_OPEN,
    PARAMETER_CLOSE,
    PARAMETER_OPEN,
    unpadded,
)
from outcomebox.interpret.tools import Toolbox

_VALUE_END = re.compile(f"{PARAMETER_CLOSE}|{PARAMETER_OPEN}|{FUNCTION_CLOSE}")
_MARKERS = (
    CALL_OPEN,
    CALL_CLOSE,
    FUNCTION_OPEN,
    FUNCTION_CLOSE,
    PARAMETER_OPEN,
    PARAMETER_CLOSE,
)
_LONGEST = max(map(len, _MARKERS))


class StreamError(Exception):
    """The server ends the stream with an error.

    Attributes:
        at: Where the text ends that had arrived when it broke.
    """

    def __init__(self, at: int) -> None:
        super().__init__(f"JSON cannot carry a value that ends at character {at}")
        self.at = at


def read_stream(steps: Sequence[str], tools: Toolbox) -> tuple[Reading, int | None]:
    """Read the text of a stream, step by step.

    Returns:
        What the client gets, and the step that breaks the stream; None where none does.
    """
    text = "".join(steps)
    try:
        return _Reader(text, tools).run(), None
    except StreamError as error:
        ends = list(accumulate(map(len, steps)))
        broken = bisect_left(ends, error.at)
        before = "".join(steps[:broken])
    # What the breaking step would have sent besides is lost.
    return _Reader(before, tools).run(), broken


class _Reader:
    def __init__(self, text: str, tools: Toolbox) -> None:
        self._text = text
        self._tools = tools
        self._joined = Joined()
        self._at = 0
        self._wrapped = False
        self._wrapper: int | None = None
        self._owns_wrapper = False
        self._call = -1
        self._begun = False
        self._parameters = 0
        self._kinds = Kinds(tools, None)

    def run(self) -> Reading:
        text = self._text
        size = len(text)
        more = True
        while more and self._at < size:
            at = self._at
            if text.startswith(CALL_OPEN, at):
                self._at += len(CALL_OPEN)
                self._wrapped = True
                self._wrapper = at
            elif text.startswith(FUNCTION_OPEN, at):
                more = self._function(at)
            elif text.startswith(PARAMETER_OPEN, at):
                more = self._parameter(at)
            elif text.startswith(FUNCTION_CLOSE, at):
                self._function_close(at)
            elif text.startswith(CALL_CLOSE, at):
                self._call_close(at)
            elif text[at] == "<":
                rest = text[at : at + _LONGEST + 1]
                more = not any(each.startswith(rest) for each in _MARKERS)
                if more:
                    self._take_text(at + 1)
            else:
                following = text.find("<", at)
                self._take_text(size if following < 0 else following)
        return self._joined.reading()

    def _take_text(self, end: int) -> None:
        if not self._wrapped:
            self._joined.text(self._text[self._at : end])
        self._at = end

    def _call_close(self, at: int) -> None:
        self._at += len(CALL_CLOSE)
        self._wrapped = False
        self._wrapper = None
        if self._owns_wrapper:
            self._joined.call(self._call, at, self._at)
        self._owns_wrapper = False

    def _function(self, at: int) -> bool:
        end = self._text.find(">", at)
        if end < 0:
            return False
        name = self._text[at + len(FUNCTION_OPEN) : end]
        self._call += 1
        self._parameters = 0
        self._begun = False
        self._kinds = Kinds(self._tools, name)
        self._at = end + 1
        # Its markup begins with the wrapper that was opened for it.
        self._owns_wrapper = self._wrapper is not None
        start = at if self._wrapper is None else self._wrapper
        self._wrapper = None
        self._joined.call(self._call, start, self._at, name=name)
        return True

    def _parameter(self, at: int) -> bool:
        name_end = self._text.find(">", at)
        end = _VALUE_END.search(self._text, name_end + 1) if name_end >= 0 else None
        if end is None:
            return False
        name = self._text[at + len(PARAMETER_OPEN) : name_end]
        value = convert(unpadded(self._text[name_end + 1 : end.start()]), self._kinds.of(name))
        try:
            pair = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        except NOT_JSON:
            raise StreamError(end.end()) from None
        self._at = end.end() if end[0] == PARAMETER_CLOSE else end.start()
        opener = "" if self._begun else "{"
        comma = ", " if self._parameters else ""
        self._joined.call(self._call, at, self._at, piece=opener + comma + pair)
        self._begun = True
        self._parameters += 1
        return True

    def _function_close(self, at: int) -> None:
        self._at += len(FUNCTION_CLOSE)
        self._joined.call(self._call, at, self._at, piece="}" if self._begun else "{}")
        self._begun = True
        self._kinds = Kinds(self._tools, None)
