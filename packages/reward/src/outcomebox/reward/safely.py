"""The one place where an exception becomes part of a verdict.

AssertionError is how a custom check says no, and only where the check itself raises it, or an
assertion helper that it calls. One that comes out of this library or out of Python's own is a fault
in there. It and every other exception mean that nothing is known about the episode: a
``system_error`` with type, message and phase, never a failure.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from outcomebox.reward.errors import JudgeError
from outcomebox.reward.verdict import (
    Phase,
    Reason,
    Verdict,
    error_text,
    failed,
    passed,
    system_error,
)
from outcomebox.sandbox.errors import StateUnreadable


def verdict_of(
    check: Callable[[], object], *, phase: Phase = "check", assertions: bool = True
) -> Verdict:
    """Run a check and turn whatever comes of it into a verdict.

    Args:
        check: Returns a verdict, or None for passed, or a score from 0 to 1 for passed with that
            score.
        phase: The phase of an error that does not tell its own: an unreadable state is always
            ``read``, a judge without an answer always ``judge``.
        assertions: Whether AssertionError is the check's way to say no.
    """
    try:
        return _as_verdict(check())
    except Exception as error:  # noqa: BLE001 -- the one place that is meant to take them all
        if isinstance(error, AssertionError) and assertions and _is_meant(error):
            return failed(Reason("assertion_failed", message=_assertion(error)))
        if isinstance(error, StateUnreadable):
            phase = "read"
        elif isinstance(error, JudgeError):
            phase = "judge"
        return system_error(error, phase)


def _as_verdict(result: object) -> Verdict:
    if isinstance(result, Verdict):
        return result
    if result is None:
        return passed()
    if isinstance(result, bool) or not isinstance(result, (int, float)) or not 0 <= result <= 1:
        raise TypeError(
            f"a check returned {result!r}; return None or a score from 0 to 1, and raise "
            "AssertionError to fail"
        )
    return passed(score=float(result))


def _is_meant(error: AssertionError) -> bool:
    """Whether the raising code may say no, by the module it stands in."""
    module = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
    package = module.partition(".")[0]
    return package == "unittest" or package not in {"outcomebox", *sys.stdlib_module_names}


def _assertion(error: AssertionError) -> str:
    """The assertion's own words, else the line it stands in."""
    if text := error_text(error):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    return f"line {frames[-1].lineno}: {frames[-1].line or 'assert'}"
