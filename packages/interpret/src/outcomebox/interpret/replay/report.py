"""The result of a replay as plain JSON values; docs/parity.md describes the fields."""

from collections.abc import Sequence
from typing import Any

from outcomebox.interpret.replay.causes import CAUSES, Finding
from outcomebox.interpret.replay.readings import Reading
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.replay.run import ReplayResult

SCHEMA = 1
"""Raised when a field changes its meaning or goes away; more fields may come without that."""


def report_json(result: ReplayResult) -> dict[str, Any]:
    """Return a result as plain JSON values.

    Everything but `seconds` is the same for the same input.
    """
    tally = result.tally
    return {
        "schema": SCHEMA,
        "left": result.left,
        "right": result.right,
        "turns": tally.turns,
        "differing": tally.differing,
        "turns_changed": tally.turns_changed,
        "calls": tally.calls,
        "calls_changed": tally.calls_changed,
        "classes": [_class_json(result, key) for key, _ in tally.ordered()],
        "notes": list(result.notes),
        "seconds": round(result.seconds, 3),
    }


def _class_json(result: ReplayResult, key: Any) -> dict[str, Any]:
    counts = result.tally.classes[key]
    shrunk = result.shrunk.get(key)
    example = counts.example
    return {
        "cause": key.cause,
        "by": key.by,
        "title": key.title(result.left, result.right),
        "advice": CAUSES[key.cause].advice,
        "shared": key.by == "both",
        "turns": counts.turns,
        "findings": counts.findings,
        "calls_changed": counts.calls_changed,
        "example": None
        if example is None
        else _shown(example.turn, example.left, example.right, example.findings),
        "shrunk": None
        if shrunk is None
        else {
            **_shown(shrunk.turn, shrunk.left, shrunk.right, shrunk.findings),
            "tools": None if shrunk.turn.tools is None else list(shrunk.turn.tools),
            "tries": shrunk.tries,
            "minimal": shrunk.minimal,
        },
    }


def _shown(
    turn: RecordedTurn, left: Reading, right: Reading, findings: Sequence[Finding]
) -> dict[str, Any]:
    return {
        "file": turn.file or None,
        "line": turn.line or None,
        "place": turn.place or None,
        "output": turn.text,
        "ids": None if turn.ids is None else list(turn.ids),
        "format": turn.format,
        "prompt_state": turn.prompt_state,
        "finish_reason": turn.finish_reason,
        "left": left.to_json(),
        "right": right.to_json(),
        "findings": [
            {
                "cause": finding.cause,
                "by": finding.by,
                "where": finding.where,
                "left": finding.left,
                "right": finding.right,
                "span": None if finding.span is None else list(finding.span),
                "changes_call": finding.changes_call,
            }
            for finding in findings
        ],
    }
