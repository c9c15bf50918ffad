"""Our own rows: `episodes.jsonl`, one try a line, streamed; transcripts stay in the file."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from outcomebox.eval.reading.frame import Rows, Usage
from outcomebox.eval.reading.lines import Lines
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
from outcomebox.eval.results import NO_DOMAIN, OUTCOMES, Source

_NO_PARTS = frozenset({"messages", "started"})
_OF_THE_TASK = frozenset({"task", "content", "domain", "initial", "servers", "server"})
"""Versions that differ between tasks of one run."""


def read_ours(path: Path, into: Rows, *, stopped: Iterable[str] = ()) -> Source:
    """Read a file of rows.

    Args:
        path: The file.
        into: Where rows go.
        stopped: Tasks that an adaptive probe stopped.

    Raises:
        InputError: A row cannot be used.
    """
    lines = Lines(path)
    shared = _Shared()
    early = frozenset(stopped)
    with _no_collections():
        for row, place in lines:
            into.add(columns_of(row, place, stopped=early, shared=shared), place)
    return Source(str(path), "ours", lines.sha256, lines.rows, lines.torn)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Rows are made of very many objects and no cycles: to look for some costs a tenth more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Shared:
    """Texts of what many rows share, made once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._hashes: dict[str, str] = {}

    def policy(self, policy: Any) -> str | None:
        """A policy's description as one text."""
        if policy is None:
            return None
        text = canonical(policy)
        return self._texts.setdefault(text, text)

    def versions(self, versions: Mapping[str, Any]) -> str | None:
        """A mark of the versions that all rows of a run should share."""
        kept = {name: versions[name] for name in versions if name not in _OF_THE_TASK}
        if not kept:
            return None
        key = canonical(kept)
        if key not in self._hashes:
            self._hashes[key] = hashlib.sha256(key.encode()).hexdigest()[:12]
        return self._hashes[key]


def canonical(value: Any) -> str:
    """A value as compact JSON with sorted keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a whole number of more than 64 bits, or half a character
        return json.dumps(value, sort_keys=True, separators=(",", ":"))


def columns_of(
    row: Mapping[str, Any], place: Place, *, stopped: frozenset[str], shared: _Shared | None = None
) -> dict[str, Any]:
    """The columns of a row.

    Args:
        row: The row.
        place: Where it stands.
        stopped: Tasks that an adaptive probe stopped.
        shared: What has been made for other rows of the same file.

    Raises:
        InputError: It cannot be used.
    """
    shared = shared or _Shared()
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
        "seconds": _seconds(row.get("timing"), place),
        "usage": _usage(row, place),
        "error_phase": optional_text(error.get("phase"), "error.phase", place),
        "error_type": optional_text(error.get("type"), "error.type", place),
        "policy": shared.policy(row.get("policy")),
        "task_hash": optional_text(versions.get("task"), "versions.task", place),
        "versions_hash": shared.versions(versions),
        "stopped": uid in stopped,
        "wrote": _wrote(row, place),
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


def _seconds(timing: Any, place: Place) -> float | None:
    """All parts of an episode together; ``messages`` and ``started`` are no parts."""
    parts = mapping(timing, "timing", place)
    found = [
        optional_number(value, "timing", place)
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
        actor = row.get(role)
        model = actor.get("model") if isinstance(actor, dict) else None
        sent = mapping(traffic.get(role), f"traffic.{role}", place)
        prompt = optional_count(told.get("prompt"), f"usage.{role}.prompt", place)
        answer = optional_count(told.get("completion"), f"usage.{role}.completion", place)
        found.append(
            Usage(
                role=role,
                model=model if isinstance(model, str) else None,
                input=prompt,
                cached=_part(sent, "cached_tokens", prompt, role, place),
                output=answer,
                reasoning=_part(sent, "reasoning_tokens", answer, role, place),
            )
        )
    return found


def _part(
    sent: Mapping[str, Any], name: str, whole: int | None, role: str, place: Place
) -> int | None:
    """The part of some tokens that an endpoint told of.

    It tells it of every answer, also of one that was asked for again and is not in the usage.
    """
    told = optional_count(sent.get(name), f"traffic.{role}.{name}", place)
    return None if told is None or whole is None else min(told, whole)


def _wrote(row: Mapping[str, Any], place: Place) -> bool | None:
    """Whether the terminal state differs; null where nothing tells."""
    changes, schema, effects = row.get("changes"), row.get("schema_changes"), row.get("effects")
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
