"""Rows of ThinkingBox's `tb infer`: JSONL, one attempt a line, through dotted fields.

Its own aggregate keeps system errors in the denominator as failures. Here they are none: an attempt
whose decoding broke, or whose check raised anything but an assertion, has no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from outcomebox.eval.reading.fields import Fields
from outcomebox.eval.reading.frame import Rows, Usage
from outcomebox.eval.reading.lines import Lines
from outcomebox.eval.reading.ours import canonical
from outcomebox.eval.reading.values import (
    Place,
    count,
    mapping,
    optional_count,
    optional_flag,
    optional_number,
    optional_text,
    text,
    texts,
    total,
)
from outcomebox.eval.results import NO_DOMAIN, Source

FIELDS: Mapping[str, tuple[str, ...]] = {
    "uid": ("uid",),
    "repetition": ("metadata.repetition",),
    "try": ("metadata.try",),
    "passed": ("test_result.result",),
    "system_error": ("is_system_error",),
    "check_error": ("test_result.is_system_error",),
    "domain": ("test_tags.domain", "metadata.scenario"),
    "family": ("metadata.test_case_file",),
    "tags": ("test_tags.labels",),
    "finish_reason": ("finish_reason",),
    "score": ("test_result.reward",),
    "seconds": ("metadata.execution_time",),
    "cost": ("metadata.cost",),
    "messages": ("messages",),
    "usage": ("usage",),
    "model": ("metadata.model",),
    "policy": ("metadata.agent",),
    "error_type": ("metadata.error.type",),
}
_NO_VERDICT = "skipped"
_FINISH = {"agent_error": "empty_output", "no_user_llm": "no_user"}
"""Ends that have another name here; an agent that said nothing has failed, there too."""


def read_thinkingbox(path: Path, into: Rows, chosen: Mapping[str, str]) -> Source:
    """Read a file of rows.

    A row that broke so early that it has lost its repetition has the place of its uid's rows in
    the file, which `tb infer` keeps in order.

    Args:
        path: The file.
        into: Where rows go.
        chosen: Column of ours -> dotted field of theirs.

    Raises:
        InputError: A row cannot be used.
    """
    fields = Fields(FIELDS, chosen)
    seen: Counter[Any] = Counter()
    lines = Lines(path)
    for row, place in lines:
        uid = text(fields.get(row, "uid", place), fields.name("uid"), place)
        into.add(_columns(row, uid, seen[uid], fields, place), place)
        seen[uid] += 1
    return Source(str(path), "thinkingbox", lines.sha256, lines.rows, lines.torn)


def _columns(
    row: Mapping[str, Any], uid: str, ordinal: int, fields: Fields, place: Place
) -> dict[str, Any]:
    def get(column: str) -> Any:
        return fields.get(row, column, place)

    repetition, attempt = get("repetition"), get("try")
    if repetition is None:
        repetition = ordinal
    outcome, phase = _outcome(row, fields, place)
    finish = optional_text(get("finish_reason"), fields.name("finish_reason"), place)
    agent = get("policy")
    return {
        "uid": uid,
        "repetition": count(repetition, fields.name("repetition"), place),
        "try": 0 if attempt is None else count(attempt, fields.name("try"), place),
        "outcome": outcome,
        "domain": optional_text(get("domain"), fields.name("domain"), place) or NO_DOMAIN,
        "family": optional_text(get("family"), fields.name("family"), place),
        "tags": texts(get("tags"), fields.name("tags"), place),
        "finish_reason": None
        if outcome == "system_error" or finish is None
        else _FINISH.get(finish, finish),
        "score": None
        if outcome == "system_error"
        else optional_number(get("score"), fields.name("score"), place),
        "seconds": optional_number(get("seconds"), fields.name("seconds"), place),
        "cost": optional_number(get("cost"), fields.name("cost"), place),
        "usage": _usage(row, fields, place),
        "error_phase": phase,
        "error_type": optional_text(get("error_type"), fields.name("error_type"), place),
        "policy": None if agent is None else canonical({"agent": agent}),
        **_transcript(get("messages"), place),
    }


def _outcome(row: Mapping[str, Any], fields: Fields, place: Place) -> tuple[str, str | None]:
    """The outcome, and where it broke."""

    def flag(column: str) -> bool | None:
        return optional_flag(fields.get(row, column, place), fields.name(column), place)

    passed, broken, check = flag("passed"), flag("system_error"), flag("check_error")
    if broken:
        return "system_error", "run"
    if check:
        return "system_error", "check"
    if fields.get(row, "finish_reason", place) == _NO_VERDICT:
        return "system_error", "policy"
    if passed is None:
        return "system_error", "check"  # it was run without its check, so nothing says
    return ("passed" if passed else "failed"), None


def _usage(row: Mapping[str, Any], fields: Fields, place: Place) -> list[Usage]:
    """The agent's tokens, summed over its requests; the user model's are not in these rows."""
    asked = fields.get(row, "usage", place)
    if not asked:
        return []
    name = fields.name("usage")
    if not isinstance(asked, list):
        raise place.refuse("must be a list; mend the row", field=name, value=asked)
    told = [mapping(each, name, place) for each in asked]
    inner = [mapping(each.get("input_tokens_details"), name, place) for each in told]
    outer = [mapping(each.get("output_tokens_details"), name, place) for each in told]

    def summed(where: Iterable[Mapping[str, Any]], field: str) -> int | None:
        return total(optional_count(each.get(field), f"{name}.{field}", place) for each in where)

    return [
        Usage(
            role="policy",
            model=optional_text(fields.get(row, "model", place), fields.name("model"), place),
            input=summed(told, "input_tokens"),
            cached=summed(inner, "cached_tokens"),
            output=summed(told, "output_tokens"),
            reasoning=summed(outer, "reasoning_tokens"),
        )
    ]


def _transcript(messages: Any, place: Place) -> dict[str, Any]:
    """Turns and calls; whether a tool answered with an error is not recorded in these rows."""
    if messages is None:
        return {}
    if not isinstance(messages, list):
        raise place.refuse("must be a list; mend the row", field="messages", value=messages)
    kinds: Counter[str] = Counter()
    for message in messages:
        told = mapping(message, "messages", place)
        kind = told.get("T")
        if kind == "Text" and told.get("role") == "assistant":
            tag = mapping(told.get("metadata"), "messages", place).get("tag", "text")
            kinds["turns"] += tag == "text"
        elif kind in {"ToolCall", "ParallelToolCall"}:
            kinds["turns"] += 1
        elif kind == "ToolResponse":
            kinds["calls"] += 1
    return {"turns": kinds["turns"], "tool_calls": kinds["calls"]}
