"""Why a call is executed by one reader only, or by both where neither should."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from outcomebox.interpret.replay.causes import Finding, Side
from outcomebox.interpret.replay.pairing import Pair, pair_calls
from outcomebox.interpret.replay.places import Places
from outcomebox.interpret.replay.readings import Call, Reading
from outcomebox.interpret.replay.values import argument_findings
from outcomebox.interpret.turn import Span


class Seen(NamedTuple):
    """One side of a comparison: a reading, where its calls stand, and the same in order."""

    side: Side
    reading: Reading
    spans: list[Span | None]
    starts: list[Span]


def _seen(side: Side, reading: Reading, places: Places) -> Seen:
    spans = places.spans(reading.calls)
    return Seen(side, reading, spans, sorted(span for span in spans if span is not None))


def call_findings(places: Places, left: Reading, right: Reading) -> Iterator[Finding]:
    """Yield what two readings make differently of the calls of one output.

    Args:
        places: The output.
        left: The left reading.
        right: The right one.
    """
    one, two = _seen("left", left, places), _seen("right", right, places)
    for pair in pair_calls(left.calls, right.calls, one.spans, two.spans):
        yield from _pair_findings(places, one, two, pair)


def _pair_findings(places: Places, left: Seen, right: Seen, pair: Pair) -> Iterator[Finding]:
    one = None if pair[0] is None else left.reading.calls[pair[0]]
    other = None if pair[1] is None else right.reading.calls[pair[1]]
    executed = one is not None and one.executable, other is not None and other.executable
    if executed == (True, False):
        yield _one_sided(places, left, right, pair)
    elif executed == (False, True):
        yield _one_sided(places, right, left, (pair[1], pair[0]))
    elif one is not None and other is not None:
        where = f"calls[{pair[0]}]"
        span = left.spans[pair[0] or 0] or right.spans[pair[1] or 0]
        if executed == (False, False):
            yield from _both_refused(one, other, where, span)
            return
        cause = _hazard(places, span)
        if cause is not None:
            yield Finding(cause, "both", where, shown(one), shown(other), span)
        if one.name != other.name:
            yield Finding(
                "tool_renamed", None, f"{where}.name", shown(one), shown(other), span, True
            )
        elif one.arguments is None or other.arguments is None:
            if one.wire != other.wire:
                yield Finding("value_differs", None, where, one.wire, other.wire, span, True)
        else:
            for finding in argument_findings(one.arguments, other.arguments, where):
                name = finding.where.rpartition(".arguments.")[2]
                values = finding.left, finding.right
                place = span and places.value_span(name, values, span)
                yield finding._replace(span=place)


def _both_refused(one: Call, other: Call, where: str, span: Span | None) -> Iterator[Finding]:
    """What neither executes makes a difference only where other text reaches the client."""
    if one.wire != other.wire and one.status == other.status == "malformed":
        yield Finding("arguments_not_json", None, where, one.wire, other.wire, span)


def _one_sided(places: Places, doer: Seen, other: Seen, pair: Pair) -> Finding:
    index = pair[0] or 0
    call = doer.reading.calls[index]
    span = doer.spans[index]
    counterpart = None if pair[1] is None else other.reading.calls[pair[1]]
    texts = (shown(call), None if counterpart is None else shown(counterpart))
    cause, by = _one_sided_cause(places, doer, other, index, counterpart)
    left, right = texts if doer.side == "left" else texts[::-1]
    return Finding(cause, by, f"calls[{index}]", left, right, span, changes_call=True)


def _one_sided_cause(
    places: Places, doer: Seen, other: Seen, index: int, counterpart: Call | None
) -> tuple[str, Side]:
    call, span = doer.reading.calls[index], doer.spans[index]
    if counterpart is not None and counterpart.arguments is None:
        return "arguments_not_json", other.side
    cause = _hazard(places, span)
    if cause is not None:
        return cause, doer.side
    if counterpart is not None:
        return "call_not_executable", doer.side
    if places.turn.toolbox.offered(call.name) is False:
        return "unknown_tool_dropped", doer.side
    if span is not None and (_encloses(other, span) or _in_value(places, span, other)):
        return "call_inside_value", doer.side
    if span is not None and places.is_bare(span[0]):
        return "bare_call_executed", doer.side
    executed = any(each.executable for each in other.reading.calls)
    if not executed and _attempts(places) > sum(c.executable for c in doer.reading.calls):
        return "bad_call_hides_good", doer.side
    if _left_in_text(places, span, other.reading):
        return "call_left_in_text", doer.side
    return "call_lost", doer.side


def _hazard(places: Places, span: Span | None) -> str | None:
    """Return why a call at this place should not be executed by anybody; None if it may."""
    if span is None:
        return None
    if places.in_reasoning(span[0]):
        return "draft_executed"
    if not places.is_closed(span[0]):
        return "cut_call_executed" if places.cut else "unclosed_call_executed"
    return None


def _encloses(other: Seen, span: Span) -> bool:
    starts = other.starts
    place = bisect_left(starts, (span[0], 0))
    return place > 0 and starts[place - 1][0] < span[0] and span[1] <= starts[place - 1][1]


def _in_value(places: Places, span: Span, other: Seen) -> bool:
    """Say whether the call's markup stands in an argument that the other reader executes."""
    markup = places.text[slice(*span)]
    return any(
        isinstance(value, str) and markup in value
        for call in other.reading.calls
        if call.executable
        for value in (call.arguments or {}).values()
    )


def _attempts(places: Places) -> int:
    openers = places.markers.openers
    return max((places.text.count(opener) for opener in openers), default=0)


def _left_in_text(places: Places, span: Span | None, reading: Reading) -> bool:
    if span is None:
        return False
    markup = places.text[slice(*span)]
    return markup in (reading.content or "") or markup in (reading.reasoning or "")


def shown(call: Call) -> str:
    """Return a call in one line."""
    refused = "" if call.executable else f" [{call.status}]"
    return f"{call.name}({call.wire}){refused}"
