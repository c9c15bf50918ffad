"""What a client has, of a `hermes` stream of vLLM, when the last delta has arrived.

The server reads the whole text anew at every delta, and sends of each call what is longer than what
it sent before. What has been sent can never be taken back, and is never looked at as JSON. This
module computes where that ends up without going through the deltas: every version of a call's
arguments is a beginning of the same string, so only the longest counts.
"""

import json
import re
from typing import NamedTuple

from outcomebox.interpret.profiles.vllm.hermes_deltas import Deltas
from outcomebox.interpret.profiles.vllm.hermes_whole import CALL_CLOSE, CALL_OPEN, RawCall

_SPACE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*+"
"""White space as Unicode has it; Python's own, which strips a body, has four characters more."""

_NAME = re.compile(rf'"name"{_SPACE}:{_SPACE}"([^"]++)"')
_ARGUMENTS = re.compile(rf'"arguments"{_SPACE}:{_SPACE}')


class Region(NamedTuple):
    """A call's place in the text; `close` is where its closer begins, None without one."""

    start: int
    body: int
    close: int | None
    end: int


class Sent(NamedTuple):
    """What was sent of one call at some moment.

    Attributes:
        name: Its name; None where it was not found yet.
        start: Where its arguments begin in the text.
        end: How far they were sent.
    """

    name: str | None
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many characters of arguments that is."""
        return self.end - self.start


_NOTHING = Sent(None, 0, 0)


def read_stream(deltas: Deltas) -> tuple[str | None, list[RawCall]]:
    """Return the content and the calls that the deltas of a text add up to.

    Content is what stands before the first call; the beginning of an opener is held back, and lost
    at the end. A call whose name is not found hides all calls behind it.
    """
    text = deltas.text
    regions = _regions(text)
    head = regions[0].start if regions else len(text) - _overlap(text, 0, len(text), CALL_OPEN)
    calls: list[RawCall] = []
    grown, unsent = -1, False
    for region in regions:
        sent = _sent(deltas, region, len(text))
        unsent = not sent.length
        if sent.name is None:
            break
        if region.end > deltas.last:
            before = _sent(deltas, region, deltas.last)
            if before.name is None or before.length < sent.length:
                grown = len(calls)
        calls.append(RawCall(sent.name, text[sent.start : sent.end], region.start, region.end))
    if unsent and grown >= 0:
        # The last delta makes up for arguments that the last call begun has not had: with an empty
        # object, written behind whatever call that delta carries last.
        calls[grown] = calls[grown]._replace(wire=calls[grown].wire + "{}")
    return text[:head] or None, calls


def _regions(text: str) -> list[Region]:
    regions: list[Region] = []
    start = text.find(CALL_OPEN)
    while start >= 0:
        body = start + len(CALL_OPEN)
        close = text.find(CALL_CLOSE, body)
        if close < 0:
            regions.append(Region(start, body, None, len(text)))
            break
        regions.append(Region(start, body, close, close + len(CALL_CLOSE)))
        start = text.find(CALL_OPEN, regions[-1].end)
    return regions


def _overlap(text: str, start: int, end: int, tag: str) -> int:
    """Return how many characters before `end` begin `tag`, which has its only `<` in front."""
    at = text.rfind("<", max(start, end - len(tag) + 1), end)
    return end - at if at >= 0 and tag.startswith(text[at:end]) else 0


def _sent(deltas: Deltas, region: Region, seen: int) -> Sent:
    """Return what was sent of a call when the text up to `seen` had arrived."""
    text = deltas.text
    if seen < region.body:
        return _NOTHING
    if region.close is None or seen < region.end:
        return _sent_open(deltas, region, seen)
    closed = _version(text, region.body, region.close, ended=True)
    before = deltas.before(region.close, region.end)
    if before < region.body:
        return closed
    opened = _sent_open(deltas, region, before)
    return closed if opened.name is None or opened.end <= closed.end else opened


def _sent_open(deltas: Deltas, region: Region, seen: int) -> Sent:
    """Return what was sent of a call whose closer has not arrived in full."""
    try:
        return _unclosed(deltas.text, region, seen)
    except (ValueError, RecursionError):
        # A delta at which Python cannot read the JSON (an integer of too many digits, nesting too
        # deep) sends nothing, nor does any behind it: what stands is what was sent before.
        good, bad = region.body, seen
        while (middle := deltas.at_or_before((good + bad) // 2)) > good:
            try:
                _unclosed(deltas.text, region, middle)
                good = middle
            except (ValueError, RecursionError):
                bad = middle
        return _unclosed(deltas.text, region, good)


def _unclosed(text: str, region: Region, seen: int) -> Sent:
    """Return the version of an open call: whole JSON counts as ended, closer or not.

    Raises:
        ValueError: An integer has too many digits.
        RecursionError: The JSON is nested too deep.
    """
    end = seen if region.close is None else min(seen, region.close)
    end -= _overlap(text, region.body, end, CALL_CLOSE)
    body = text[region.body : end].strip()
    try:
        json.loads(body)
    except json.JSONDecodeError:
        return _version(text, region.body, end, ended=False)
    return _version(text, region.body, end, ended=True)


def _version(text: str, begin: int, end: int, *, ended: bool) -> Sent:
    """Return name and arguments as found in a body; one that ended gives its last brace back."""
    end = _without_space(text, begin, end)
    name = _NAME.search(text, begin, end)
    if name is None:
        return _NOTHING
    found = _ARGUMENTS.search(text, begin, end)
    if found is None:
        return Sent(name[1], end, end)
    start = found.end()
    if ended and end > start and text[end - 1] == "}":
        end = _without_space(text, start, end - 1)
    return Sent(name[1], start, end)


def _without_space(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end
