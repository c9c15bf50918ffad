"""All that two readers make differently of one recorded turn."""

from outcomebox.interpret.replay.callfindings import call_findings
from outcomebox.interpret.replay.causes import Finding, Side
from outcomebox.interpret.replay.places import Places
from outcomebox.interpret.replay.readings import Reading
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.replay.textfindings import text_findings


def compare(
    turn: RecordedTurn, left: Reading, right: Reading, *, texts: bool = True
) -> list[Finding]:
    """Return every difference between two readings of a turn, and the hazards that they share.

    Calls first, then text. Arguments are compared as JSON values, type for type: key order and
    spacing of the JSON are no difference. Reasoning and content that are missing or empty are the
    same.

    Args:
        turn: The output that was read.
        left: The left reading.
        right: The right one.
        texts: Whether reasoning and content are compared too.
    """
    if left.error or right.error:
        if left.error and right.error:
            return []
        by: Side = "left" if left.error else "right"
        refused = left.refused_tools or right.refused_tools
        return [
            Finding(
                "tools_refused" if refused else "reader_failed",
                by,
                "turn",
                left.error or None,
                right.error or None,
                changes_call=bool(left.calls or right.calls),
            )
        ]
    places = Places(turn)
    findings = list(call_findings(places, left, right))
    if not texts:
        return findings
    spans = [
        span
        for reading in (left, right)
        for span in places.spans(reading.calls)
        if span is not None
    ]
    findings += text_findings(places, left, right, spans)
    return findings
