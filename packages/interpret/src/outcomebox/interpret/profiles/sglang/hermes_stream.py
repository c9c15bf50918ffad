"""How sglang 0.5 reads `hermes` calls in a stream.

At each step its reader reads what it holds as unfinished JSON. The first step that shows a name of
an offered tool sends it; each later step sends what the arguments have in common with those of the
step before; the step that completes the object sends the rest. So the reading depends on how the
text is split into steps, numbers may be sent wrong, and a call that is no JSON swallows the rest.
A name that is not offered drops the call and starts the count of calls anew, which mixes calls up.
"""

import json
from collections.abc import Sequence

from outcomebox.interpret.profiles.sglang.arriving import CONTAINER, Arriving, Seen
from outcomebox.interpret.profiles.sglang.growing import Growing
from outcomebox.interpret.profiles.sglang.joined import Joined
from outcomebox.interpret.profiles.sglang.xml_whole import Reading
from outcomebox.interpret.profiles.xmlblocks import CALL_CLOSE, CALL_OPEN
from outcomebox.interpret.tools import Toolbox


def read_stream(steps: Sequence[str], tools: Toolbox) -> tuple[Reading, int | None]:
    """Read the text of a stream, step by step. No step breaks it."""
    reader = _Reader("".join(steps), tools)
    for step in steps:
        reader.step(len(step))
    if steps:
        reader.finish()
    return reader.joined.reading(), None


class _Reader:
    """Follows the server's reader.

    Attributes:
        joined: What the client has.
    """

    def __init__(self, text: str, tools: Toolbox) -> None:
        self.joined = Joined()
        self._text = text
        self._tools = tools
        self._start = 0
        self._end = 0
        self._arriving: Arriving | None = None
        self._held = ""
        self._call = -1
        self._named = False
        self._sent: list[_Sent] = []
        self._past: list[str | None] = []
        self._grown: Growing | None = None

    def step(self, size: int) -> None:
        """Take the next `size` characters."""
        self._end += size
        if self._arriving is None and not self._finds_call():
            return
        arriving = self._arriving
        body = self._start + len(CALL_OPEN)
        if arriving is None or body >= self._end:
            return
        arriving.feed(self._end)
        seen = arriving.seen(strings=self._named)
        if seen is None or seen.name == CONTAINER:
            return
        if seen.name is not None and not (
            isinstance(seen.name, str) and self._tools.offered(seen.name) is not False
        ):
            self._drop()
        elif seen.arguments and seen.parameters:
            return
        elif self._named:
            self._send(arriving, seen)
        elif isinstance(seen.name, str):
            self._send_name(seen.name)

    def finish(self) -> None:
        """Send what is left of the last call's arguments, as the server does at the end."""
        self._settle()
        last = len(self._past) - 1
        past = self._past[last] if self._past else None
        if last < 0 or last >= len(self._sent):
            return
        # Arguments that are a string are taken for the JSON that it holds.
        wire: str = json.loads(past) if past and past.startswith('"') else past or "{}"
        sent = self._sent[last].text()
        if wire.startswith(sent) and len(wire) > len(sent):
            self._piece(last, wire[len(sent) :])

    # -- text -------------------------------------------------------------------------------------

    def _finds_call(self) -> bool:
        """Send the text before a call; say whether the buffer begins with a call."""
        text = self._text[self._start : self._end]
        place = text.find(CALL_OPEN)
        if place < 0:
            keep = _unfinished(text, CALL_OPEN)
            self._send_text(text[: len(text) - keep])
            self._start = self._end - keep
            return False
        if place:
            self.joined.text(text[:place])
            self._start += place
        past = self._past[self._next] if self._next < len(self._past) else None
        self._arriving = Arriving(self._text, self._start + len(CALL_OPEN), past)
        return place == 0

    def _send_text(self, text: str) -> None:
        """Send text without closers; the beginning of one is held back."""
        if not text:
            return
        text = self._held + text
        self._held = ""
        if CALL_CLOSE in text:
            text = text.replace(CALL_CLOSE, "")
        else:
            keep = _unfinished(text, CALL_CLOSE)
            text, self._held = text[: len(text) - keep], text[len(text) - keep :]
        self.joined.text(text)

    # -- calls ------------------------------------------------------------------------------------

    @property
    def _next(self) -> int:
        """Return the index that the call in the buffer has or will get."""
        return max(self._call, 0)

    def _send_name(self, name: str) -> None:
        if self._call == -1:
            self._call = 0
            self._sent.append(_Sent())
        while len(self._sent) <= self._call:
            self._sent.append(_Sent())
        self.joined.call(self._call, self._start, self._end, name=name)
        self._named = True

    def _send(self, arriving: Arriving, seen: Seen) -> None:
        grown = seen.arguments or seen.parameters
        if grown is None or grown.is_null():
            return
        self._grown = grown
        done = self._sent[self._call].size
        step = grown.step()
        if seen.complete:
            self._piece(self._call, grown.part(done, grown.size()))
            self._settle()
            self._named = False
            self._call += 1
            self._leave(arriving)
        elif step and not step.same and step.common > done:
            self._piece(self._call, grown.part(done, step.common))

    def _piece(self, index: int, piece: str) -> None:
        self.joined.call(index, self._start, self._end, piece=piece)
        self._sent[index].add(piece)

    def _settle(self) -> None:
        """Keep the arguments of the call as the server keeps them."""
        past = self._grown.before() if self._grown else None
        self._grown = None
        if past is not None:
            while len(self._past) <= self._call:
                self._past.append(None)
            self._past[self._call] = past

    def _leave(self, arriving: Arriving) -> None:
        """Go on behind the object; white space alone behind it is gone."""
        end = arriving.closed_at or self._end
        blank = not self._text[end : self._end].strip(" \t\n\r")
        self._start = self._end if blank else end
        self._arriving = None

    def _drop(self) -> None:
        """Forget the call and all that has come, and count calls from the first again."""
        self._settle()
        self._start = self._end
        self._arriving = None
        self._call = -1
        self._named = False
        if self._sent:
            self._sent.pop()


class _Sent:
    """The arguments that were sent of one call.

    Attributes:
        size: How many characters they are.
    """

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.size += len(piece)

    def text(self) -> str:
        return "".join(self._pieces)


def _unfinished(text: str, marker: str) -> int:
    """Return how many characters at the end of a text may begin a marker."""
    at = text.rfind("<", max(0, len(text) - len(marker) + 1))
    return len(text) - at if at >= 0 and marker.startswith(text[at:]) else 0
