"""The columns of our own rows, and what is wrong with a row that has none."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from outcomebox.eval.reading.frame import Usage
from outcomebox.eval.reading.values import (
    Place,
    count,
    mapping,
    optional_count,
    optional_number,
    optional_text,
    text,
    texts,
)
from outcomebox.eval.results import NO_DOMAIN, OUTCOMES

_NO_PARTS = frozenset({"messages", "started"})
_OF_THE_TASK = frozenset({"task", "content", "domain", "initial", "servers", "server"})
"""Versions that differ between tasks of one run."""


def canonical(value: Any) -> str:
    """A value as compact JSON with sorted keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a whole number of more than 64 bits, or half a character
        return json.dumps(value, sort_keys=True, separators=(",", ":"))


def columns_of(row: Mapping[str, Any], place: Place, *, stopped: frozenset[str]) -> dict[str, Any]:
    """The columns of a row.

    Args:
        row: The row.
        place: Where it stands.
        stopped: Tasks that an adaptive probe stopped.

    Raises:
        InputError: It cannot be used.
    """
    uid = text(row.get("uid"), "uid", place)
    outcome = outcome_of(row, place)
    error = mapping(row.get("error"), "error", place)
    if error and outcome != "system_error":
        raise place.refuse(
            f"is set beside the outcome {outcome}, which contradict each other; record the "
            "outcome system_error, or no error",
            field="error",
        )
    verdict = row["verdict"]
    versions = mapping(row.get("versions"), "versions", place)
    policy = row.get("policy")
    return {
        "uid": uid,
        "repetition": count(row.get("repetition"), "repetition", place),
        "try": count(row.get("try", 0), "try", place),
        "outcome": outcome,
        "domain": optional_text(row.get("domain"), "domain", place) or NO_DOMAIN,
        "family": optional_text(row.get("family"), "family", place),
        "tags": texts(row.get("tags"), "tags", place),
        "finish_reason": optional_text(row.get("finish_reason"), "finish_reason", place),
        "reasons": _reasons(verdict, place),
        "score": optional_number(verdict.get("score"), "verdict.score", place, least=float("-inf")),
        "seconds": seconds_of(row.get("timing"), place),
        "usage": _usage(row, place),
        "error_phase": optional_text(error.get("phase"), "error.phase", place),
        "error_type": optional_text(error.get("type"), "error.type", place),
        "policy": None if policy is None else canonical(policy),
        "task_hash": optional_text(versions.get("task"), "versions.task", place),
        "versions_hash": versions_mark(versions),
        "stopped": uid in stopped,
        "wrote": wrote(row.get("changes"), row.get("schema_changes"), row.get("effects"), place),
        **transcript(row.get("messages"), place),
    }


def outcome_of(row: Mapping[str, Any], place: Place) -> str:
    """The outcome of a row.

    Raises:
        InputError: It has none, or one that is no outcome.
    """
    verdict = row.get("verdict")
    if not isinstance(verdict, dict):
        raise place.refuse(
            "must be an object with an outcome; mend the row, or read it with --kind",
            field="verdict",
            value="nothing" if verdict is None else verdict,
        )
    outcome = verdict.get("outcome")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        raise place.refuse(
            f"must be one of {', '.join(OUTCOMES)}; mend the row",
            field="verdict.outcome",
            value="nothing" if outcome is None else outcome,
        )
    return outcome


def transcript(messages: Any, place: Place) -> dict[str, Any]:
    """What a conversation shows of turns and tools; nothing where it is not there.

    Args:
        messages: Chat messages: those of role ``assistant`` are the agent's, but for a tool's own
            words (``direct_response``); those of role ``tool`` are answers, errors with
            ``is_error``.
        place: Where the row stands.

    Raises:
        InputError: It is no list of messages.
    """
    if messages is None:
        return {}
    if not isinstance(messages, list):
        raise place.refuse("must be a list; mend the row", field="messages", value=messages)
    turns = calls = errors = 0
    last = False
    try:
        for message in messages:
            role = message["role"]
            if role == "assistant":
                turns += "direct_response" not in message
            elif role == "tool":
                calls += 1
                last = message.get("is_error") is True
                errors += last
    except (KeyError, TypeError, AttributeError):
        raise place.refuse(
            "holds an entry without a role; mend the row", field="messages"
        ) from None
    return {"turns": turns, "tool_calls": calls, "tool_errors": errors, "last_tool_error": last}


def _reasons(verdict: Mapping[str, Any], place: Place) -> list[str] | None:
    reasons = verdict.get("reasons")
    if reasons is None:
        return None
    try:
        return [text(reason["kind"], "verdict.reasons", place) for reason in reasons]
    except (KeyError, TypeError):
        raise place.refuse(
            "must be a list of objects with a kind; mend the row",
            field="verdict.reasons",
            value=reasons,
        ) from None


def seconds_of(timing: Any, place: Place) -> float | None:
    """All parts of an episode together; ``messages`` and ``started`` are no parts.

    Raises:
        InputError: A part is no number.
    """
    parts = mapping(timing, "timing", place)
    found = [
        value
        if type(value) is float and 0 <= value < math.inf  # nearly all are like this
        else optional_number(value, "timing", place)
        for name, value in parts.items()
        if name not in _NO_PARTS
    ]
    return sum(value for value in found if value is not None) if found else None


def _usage(row: Mapping[str, Any], place: Place) -> list[Usage]:
    found: list[Usage] = []
    traffic = mapping(row.get("traffic"), "traffic", place)
    for role, spent in mapping(row.get("usage"), "usage", place).items():
        told = mapping(spent, f"usage.{role}", place)
        if not told:
            continue  # no model was asked, or nobody counts
        sent = mapping(traffic.get(role), f"traffic.{role}", place)
        prompt = optional_count(told.get("prompt"), f"usage.{role}.prompt", place)
        answer = optional_count(told.get("completion"), f"usage.{role}.completion", place)
        cached, reasoning = (
            optional_count(sent.get(name), f"traffic.{role}.{name}", place)
            for name in ("cached_tokens", "reasoning_tokens")
        )
        found.append(
            Usage(
                role=role,
                model=model_of(row.get(role)),
                input=prompt,
                cached=part_of(cached, prompt),
                output=answer,
                reasoning=part_of(reasoning, answer),
            )
        )
    return found


def model_of(actor: Any) -> str | None:
    """The model of a policy, a user or a judge; None where no model is one."""
    model = actor.get("model") if isinstance(actor, dict) else None
    return model if isinstance(model, str) else None


def versions_mark(
    versions: Mapping[str, Any], written: Callable[[Any], str] = canonical
) -> str | None:
    """A mark of the versions that all rows of a run should share.

    Args:
        versions: Name -> version.
        written: How they are written.
    """
    kept = {name: versions[name] for name in versions if name not in _OF_THE_TASK}
    return _hashed(written(kept)) if kept else None


@lru_cache(64)
def _hashed(text: str) -> str:
    """A mark of a text; nearly all rows have the same."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def part_of(told: int | None, whole: int | None) -> int | None:
    """The part of some tokens that an endpoint told of.

    It tells it of every answer, also of one that was asked for again and is not in the usage.
    """
    return None if told is None or whole is None else min(told, whole)


def wrote(changes: Any, schema: Any, effects: Any, place: Place) -> bool | None:
    """Whether the terminal state differs; null where nothing tells.

    Raises:
        InputError: What tells it is of another form.
    """
    for name, value in (("changes", changes), ("schema_changes", schema)):
        if value is not None and not isinstance(value, list):
            raise place.refuse("must be a list; mend the row", field=name, value=value)
    if changes or schema:
        return True
    if effects is not None:
        return effects_differ(mapping(effects, "effects", place))
    return None if changes is None else False


def effects_differ(effects: Mapping[str, Any]) -> bool | None:
    """Whether servers tell of a change; null where what they tell does not show it.

    Args:
        effects: Server -> what it told, whole states perhaps as their digests.
    """
    shown = [
        told["initial_db_state"] != told["result_db_state"]
        for told in effects.values()
        if isinstance(told, dict) and {"initial_db_state", "result_db_state"} <= told.keys()
    ]
    if any(shown):
        return True
    return False if len(shown) == len(effects) else None
