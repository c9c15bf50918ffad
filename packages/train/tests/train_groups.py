"""Makes groups of attempts for tests, from words such as ``1010`` or ``10E1``."""

from __future__ import annotations

from outcomebox.train.groups.judging import Attempt, Fault, Group, judge

FIGURES = {
    "turns": 3,
    "tool_calls": 2,
    "tool_errors": 1,
    "prompt_tokens": 10,
    "response_tokens": 20,
    "sampled_tokens": 8,
    "seconds_sessions": 0.5,
    "seconds_tools": 0.25,
    "seconds_user": 0.0,
    "seconds_generation": 2.0,
    "parity_turns": 3,
    "parity_differences": 0,
    "finish_reason": "stop",
}


def attempt(session: int, passed: bool, task: str = "t", band: str = "difficult") -> Attempt:
    outcome = "passed" if passed else "failed"
    return Attempt(
        session, float(passed), {**FIGURES, "uid": task, "band": band, "outcome": outcome}
    )


def group(
    word: str, uid: str = "g", *, task: str = "t", band: str = "difficult", phase: str = "tool"
) -> Group:
    """A judged group: ``1`` passed, ``0`` failed, ``E`` a reported fault, ``-`` nothing at all."""
    return judge(
        uid,
        size=len(word),
        attempts=[
            attempt(at, sign == "1", task, band) for at, sign in enumerate(word) if sign in "01"
        ],
        faults=[
            Fault(at, phase, "ToolServerDied", "it died", task)
            for at, sign in enumerate(word)
            if sign == "E"
        ],
        failed="E" in word,
    )
