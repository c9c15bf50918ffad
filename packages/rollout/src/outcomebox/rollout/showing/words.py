"""What kinds of reasons, phases, statuses and ends mean, and what to look at next."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, tuple[str, str]] = {
    "missing_insert": (
        "a row is missing",
        "Look for the call that should have added it: not made, refused, or with other values.",
    ),
    "extra_insert": (
        "a row too many",
        "Look at the call that added it: the task asks for no such row, or for other values.",
    ),
    "missing_update": (
        "a value was not changed",
        "Look for the call that should have set it: not made, refused, or made for another row.",
    ),
    "extra_update": (
        "a value changed that must not",
        "Look at the call that wrote it: the task leaves this column alone.",
    ),
    "wrong_value": (
        "a wrong value",
        "Compare expected and found, then the arguments of the call that wrote it.",
    ),
    "missing_delete": (
        "a row is still there",
        "Look for the call that should have removed it.",
    ),
    "extra_delete": (
        "a row is gone that must stay",
        "Look at the call that removed it.",
    ),
    "missing_row": (
        "the row to change is not there",
        "Look for a call that removed it, or for a row that was never added.",
    ),
    "schema_changed": (
        "the schema changed",
        "A tool created, dropped or altered something: tools should not. Look at the tool server.",
    ),
    "rubric_failed": (
        "the judge says no",
        "Read the text in question; if you would say yes, the judge or its question is wrong.",
    ),
    "wrong_answer": (
        "a wrong answer",
        "Read the agent's last message against what is expected.",
    ),
    "assertion_failed": (
        "the task's own check says no",
        "Read the check's message; the servers' effects below are what it looked at.",
    ),
    "tool_crash": (
        "a call breaks its tool server",
        "It broke its server in two sessions: look at its arguments, and report the server.",
    ),
}
"""Kind of reason -> its title, and what to look at."""

_OTHER_REASON = ("something is wrong", "Read the message.")

PHASES: Mapping[str, tuple[str, str]] = {
    "open": (
        "a session could not be opened",
        "Look at the tool servers and the database: do they start, and is there room?",
    ),
    "tool": (
        "a tool server died or hung, and not for what was asked",
        "Look at the server's log and at the machine's load; a retry usually helps.",
    ),
    "policy": (
        "the policy's endpoint gave no usable answer",
        "Look at the endpoint: is it up, is it rate limited, does it filter or cut answers?",
    ),
    "golden": (
        "a golden call was answered with an error",
        "The task is at fault: mend its golden list or its initial state.",
    ),
    "user": (
        "the simulated user's endpoint gave no usable answer",
        "Look at the endpoint that plays the user.",
    ),
    "read": (
        "the terminal state could not be read",
        "Look at the database: is it reachable, is it damaged?",
    ),
    "check": (
        "the check itself broke",
        "The task's check is at fault: it raised something that is no verdict.",
    ),
    "judge": (
        "the judge gave no readable answer",
        "Look at the endpoint of the judge, and at what it answered.",
    ),
    "run": (
        "something else broke",
        "Read the message: it may be an error of the harness itself.",
    ),
}
"""Phase of a system error -> what happened, and what to look at."""

_OTHER_PHASE = ("infrastructure broke", "Read the message.")

STATUSES: Mapping[str, str] = {
    "unknown_tool": "there is no tool of that name",
    "ambiguous": "it can be read in more than one way",
    "malformed": "it cannot be read as a call",
    "truncated": "it was cut off",
    "coercion_failed": "a value does not fit its schema; sent as written",
    "coerced": "a value was converted to its schema's type",
    "repaired": "a slip in its form was mended",
    "ok": "",
}
"""Status of a call -> what it means."""

ENDS: Mapping[str, str] = {
    "done": "the agent ended the conversation",
    "user_done": "the user ended the conversation",
    "no_user": "the agent asked, and the task has nobody who answers",
    "user_limit": "the user had no reply left",
    "agent_limit": "the agent used up its turns, or its messages and calls",
    "token_limit": "an answer was cut off at the token limit",
    "empty_output": "the agent said nothing and called nothing",
    "tool_crash": "a call broke its tool server twice",
    "end_turn_tool": "the agent called a tool that ends the conversation",
}
"""Finish reason -> what it means."""

OUTCOMES: Mapping[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "system_error": "system error",
}


def reason_words(kind: str) -> tuple[str, str]:
    """Title of a kind of reason, and what to look at."""
    return REASONS.get(kind, _OTHER_REASON)


def phase_words(phase: str) -> tuple[str, str]:
    """What happened in a phase that broke, and what to look at."""
    return PHASES.get(phase, _OTHER_PHASE)
