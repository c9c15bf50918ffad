"""Why the reasoning or the content of two readings differs."""

from collections.abc import Iterator

from outcomebox.interpret.replay.causes import Finding, Side
from outcomebox.interpret.replay.places import Places
from outcomebox.interpret.replay.readings import Reading
from outcomebox.interpret.turn import Span

_MOST_CALLS = 200
"""Calls of one turn that are looked for in its texts."""


def text_findings(
    places: Places, left: Reading, right: Reading, call_spans: list[Span]
) -> Iterator[Finding]:
    """Yield what two readings make differently of the text around the calls.

    Missing and empty text are the same. Markup of calls that only one reader executes, which the
    other may leave in its text, is told of as a call and not again as text.

    Args:
        places: The output.
        left: The left reading.
        right: The right one.
        call_spans: Where the calls of either reader stand.
    """
    one, two = _texts(left), _texts(right)
    if one == two:
        return
    found: list[Finding] = []
    bare_one = _Bare(places, left, call_spans)
    bare_two = _Bare(places, right, call_spans)
    if bare_one.texts != bare_two.texts:
        found += _moved(places, bare_one, bare_two, call_spans)
    for side, mine, theirs in (("left", bare_one, bare_two), ("right", bare_two, bare_one)):
        more = [word for word in mine.markers if mine.markers[word] > theirs.markers[word]]
        if more:
            by: Side = "left" if side == "left" else "right"
            yours = ", ".join(more)
            at = places.text.find(more[0])
            found.append(
                Finding(
                    "marker_in_text",
                    by,
                    "content" if more[0] in (mine.reading.content or "") else "reasoning",
                    yours if side == "left" else None,
                    yours if side == "right" else None,
                    None if at < 0 else (at, at + len(more[0])),
                )
            )
    if not found and [" ".join(text.split()) for text in one] == [
        " ".join(text.split()) for text in two
    ]:
        found.append(_white_space(one, two))
    yield from found


def _texts(reading: Reading) -> tuple[str, str]:
    return reading.reasoning or "", reading.content or ""


class _Bare:
    """The texts of a reading without markers, calls and white space at the edges.

    Attributes:
        texts: Reasoning and content, runs of white space folded.
        markers: How often each marker stands in them.
    """

    def __init__(self, places: Places, reading: Reading, call_spans: list[Span]) -> None:
        self.reading = reading
        self.markers: dict[str, int] = {}
        reasoning, content = _texts(reading)
        whole = reasoning + content
        # Most readers leave no call in their texts, so most turns need no search at all.
        if any(opener in whole for opener in places.markers.openers):
            calls = {places.text[slice(*span)] for span in call_spans[:_MOST_CALLS]}
            for call in sorted(calls, key=lambda call: (-len(call), call)):
                reasoning = reasoning.replace(call, " ")
                content = content.replace(call, " ")
        for word in places.markers.taken_out:
            self.markers[word] = (reasoning + "\0" + content).count(word)
            reasoning = reasoning.replace(word, " ")
            content = content.replace(word, " ")
        self.texts = (" ".join(reasoning.split()), " ".join(content.split()))


def _moved(places: Places, left: _Bare, right: _Bare, call_spans: list[Span]) -> Iterator[Finding]:
    """Yield the findings for texts that differ in more than markers and white space."""
    shown = _part(left), _part(right)
    texts = [left.texts, right.texts]
    for index in (0, 1):
        mine, theirs = texts[index], texts[1 - index]
        by: Side = "left" if index == 0 else "right"
        as_content = theirs[0] and not mine[0] and theirs[0] in mine[1]
        as_reasoning = theirs[1] and not mine[1] and theirs[1] in mine[0]
        if as_content and not (theirs[0] == mine[1] and not places.has_reasoning):
            yield Finding("reasoning_in_content", by, "reasoning", *shown)
            texts[index] = theirs[0], _without(mine[1], theirs[0])
        elif as_reasoning and not (theirs[1] == mine[0] and places.has_reasoning):
            yield Finding("content_in_reasoning", by, "content", *shown)
            texts[index] = _without(mine[0], theirs[1]), theirs[1]
    if texts[0] == texts[1]:
        return
    where = "content" if texts[0][0] == texts[1][0] else "reasoning"
    if _joined(texts[0]) == _joined(texts[1]):
        yield Finding("reasoning_ends_elsewhere", None, "reasoning", *shown)
        return
    for index in (0, 1):
        lost = _lost(_joined(texts[index]), _joined(texts[1 - index]))
        if lost is None:
            continue
        by = "left" if index == 0 else "right"
        span = _span_of(places, lost)
        behind = span is not None and any(call[1] <= span[0] for call in call_spans)
        cause = "content_lost_after_call" if behind else "text_lost"
        yield Finding(cause, by, where, *shown, span=span)
        return
    yield Finding("text_differs", None, where, *shown)


def _without(text: str, part: str) -> str:
    return " ".join(text.replace(part, " ", 1).split())


def _span_of(places: Places, lost: str) -> Span | None:
    """Return the place of a piece of text whose white space was folded; its last one if many."""
    words = lost.split()
    if not words:
        return None
    start = places.text.rfind(words[0])
    end = places.text.find(words[-1], max(start, 0))
    return None if start < 0 or end < 0 else (start, end + len(words[-1]))


def _joined(texts: tuple[str, str]) -> str:
    return " ".join(filter(None, texts))


def _lost(short: str, long: str) -> str | None:
    """Return what `short` lacks at one end or at one place of `long`; None where it is not so."""
    if len(short) >= len(long):
        return None
    head = 0
    while head < len(short) and short[head] == long[head]:
        head += 1
    tail = 0
    while tail < len(short) - head and short[-1 - tail] == long[-1 - tail]:
        tail += 1
    if head + tail < len(short):
        return None
    return long[head : len(long) - tail]


def _part(bare: _Bare) -> str:
    return f"reasoning {bare.reading.reasoning!r}, content {bare.reading.content!r}"


def _white_space(left: tuple[str, str], right: tuple[str, str]) -> Finding:
    index = 0 if left[0] != right[0] else 1
    by: Side | None = None
    if len(left[index]) != len(right[index]):
        by = "left" if len(left[index]) < len(right[index]) else "right"
    return Finding(
        "white_space_around_text",
        by,
        ("reasoning", "content")[index],
        repr(left[index]),
        repr(right[index]),
    )
