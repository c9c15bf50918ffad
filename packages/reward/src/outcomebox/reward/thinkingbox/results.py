"""From what a grader reports to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from outcomebox.reward.verdict import Outcome, Phase, Reason, Verdict


class UnreadableResultError(Exception):
    """A grader's report is not one that it writes."""


def no_verdict(
    kind: str, message: str, phase: Phase, details: Mapping[str, Any] | None = None
) -> Verdict:
    """A verdict ``system_error``, for an error that has no exception here."""
    error = {"type": kind, "message": message, "phase": phase}
    return Verdict("system_error", None, (), {**(details or {}), "error": error})


def verdict_from(report: Any) -> Verdict:
    """The verdict that a report stands for.

    Raises:
        UnreadableResultError: It is not as a grader writes it.
    """
    try:
        outcome: Outcome = report["outcome"]
        if outcome not in get_args(Outcome):
            raise UnreadableResultError(f"there is no outcome {outcome!r}")
        details = _details(report)
        if outcome == "passed":
            score = report["score"]
            if isinstance(score, bool) or not isinstance(score, (int, float)):
                raise UnreadableResultError(f"a score is a number, not {score!r}")
            return Verdict("passed", float(score), (), details)
        if outcome == "failed":
            message = _placed(report, report["message"] or report.get("source") or "assert")
            return Verdict("failed", 0.0, (Reason("assertion_failed", message=message),), details)
        message = _placed(report, report["message"])
        return no_verdict(report["type"], message, report["phase"], details)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableResultError(f"{type(error).__name__}: {error}") from error


def _placed(report: Mapping[str, Any], message: str) -> str:
    """A message behind the place in the check's file that it comes from, where there is one."""
    return f"{report['file']}:{report['line']}: {message}" if "line" in report else message


def _details(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the check said and noted; nothing of it decides."""
    details: dict[str, Any] = {}
    if "line" in report:
        details["file"], details["line"] = report["file"], int(report["line"])
        details["source"] = str(report["source"])
    said = {
        "printed": str(report.get("printed", "")),
        "metadata": dict(report.get("metadata", {})),
        "metadata_left_out": list(report.get("left_out", ())),
        "judge": list(report.get("judge", ())),
    }
    return details | {name: value for name, value in said.items() if value}
