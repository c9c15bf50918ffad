"""Files of our own rows: `episodes.jsonl`, one try a line, streamed; transcripts stay in the file.

Most of a row is its transcript, and most of the time that reading takes would go into objects of
which nothing is ever asked. So a line is passed over but for what columns are made from. A line
that has not the form that runs write is not judged here: it is read as a whole, and
:func:`~outcomebox.eval.reading.ours.columns_of` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import orjson

from outcomebox.eval.reading.frame import Rows, Usage
from outcomebox.eval.reading.lines import Lines, check_seal, parse
from outcomebox.eval.reading.ours import (
    columns_of,
    model_of,
    part_of,
    seconds_of,
    versions_mark,
    wrote,
)
from outcomebox.eval.reading.values import (
    LARGEST,
    Place,
    optional_text,
    text,
    texts,
)
from outcomebox.eval.results import NO_DOMAIN, Source

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=LARGEST)]
_Columns: TypeAlias = dict[str, Any]


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
    early = frozenset(stopped)

    def columns(line: bytes, place: Place) -> _Columns | None:
        check_seal(line, place)
        found = plain_columns(line, stopped=early)
        if found is not None:
            return found
        row = parse(line, place)
        return None if row is None else columns_of(row, place, stopped=early)

    for found, place in lines.read(columns):
        into.add(found, place)
    return Source(str(path), "ours", lines.sha256, lines.rows, lines.torn)


class _Message(msgspec.Struct):
    role: str
    is_error: Any = None
    direct_response: Any = msgspec.UNSET


class _Reason(msgspec.Struct):
    kind: str


class _Verdict(msgspec.Struct):
    outcome: Literal["passed", "failed", "system_error"]
    score: float | None = None
    reasons: list[_Reason] | None = None


class _Error(msgspec.Struct):
    phase: str | None = None
    type: str | None = None


class _Tokens(msgspec.Struct, forbid_unknown_fields=True):
    prompt: _Count | msgspec.UnsetType = msgspec.UNSET
    completion: _Count | msgspec.UnsetType = msgspec.UNSET


class _Sent(msgspec.Struct):
    cached_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None


class _Object(msgspec.Struct):
    """Something of which only that it is there counts."""


class _Row(msgspec.Struct):
    """What columns are made from, in the form that runs write."""

    uid: str
    repetition: _Count
    verdict: _Verdict
    attempt: _Count = msgspec.field(name="try", default=0)
    domain: str | None = None
    family: str | None = None
    tags: list[str] | None = None
    finish_reason: str | None = None
    messages: list[_Message] | None = None
    changes: list[_Object] | None = None
    schema_changes: list[_Object] | None = None
    effects: Any = None
    usage: dict[str, _Tokens | None] | None = None
    traffic: dict[str, _Sent | None] | None = None
    timing: dict[str, Any] | None = None
    policy: Any = None
    user: Any = None
    judge: Any = None
    error: _Error | None = None
    versions: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Row)
_NO_ERROR = _Error()
_NOT_SENT = _Sent()
_HERE = Place(Path(), 0)
"""Stands in errors that nobody sees: the row is read again as a whole."""


def plain_columns(line: bytes, *, stopped: frozenset[str]) -> _Columns | None:
    """The columns of a line that has the form that runs write; None if it may have another.

    Args:
        line: Its bytes.
        stopped: Tasks that an adaptive probe stopped.
    """
    try:
        if not line.isascii():
            line.decode()  # what is passed over is not seen to be text
        return _columns(_DECODER.decode(line), stopped)
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _columns(row: _Row, stopped: frozenset[str]) -> _Columns:
    verdict, error, reasons = row.verdict, row.error or _NO_ERROR, row.verdict.reasons
    if row.error is not None and verdict.outcome != "system_error":
        raise ValueError("they contradict each other, if the error says anything")
    versions = row.versions or {}
    return {
        "uid": text(row.uid, "uid", _HERE),
        "repetition": row.repetition,
        "try": row.attempt,
        "outcome": verdict.outcome,
        "domain": optional_text(row.domain, "domain", _HERE) or NO_DOMAIN,
        "family": optional_text(row.family, "family", _HERE),
        "tags": texts(row.tags, "tags", _HERE),
        "finish_reason": optional_text(row.finish_reason, "finish_reason", _HERE),
        "reasons": None
        if reasons is None
        else [text(reason.kind, "verdict.reasons", _HERE) for reason in reasons],
        "score": verdict.score,
        "seconds": seconds_of(row.timing, _HERE),
        "usage": _usage(row),
        "error_phase": optional_text(error.phase, "error.phase", _HERE),
        "error_type": optional_text(error.type, "error.type", _HERE),
        "policy": None if row.policy is None else _exact(row.policy),
        "task_hash": optional_text(versions.get("task"), "versions.task", _HERE),
        "versions_hash": versions_mark(versions, _exact),
        "stopped": row.uid in stopped,
        "wrote": _wrote(row),
        **_transcript(row.messages),
    }


def _usage(row: _Row) -> list[Usage]:
    found = []
    actors = {"policy": row.policy, "user": row.user, "judge": row.judge}
    for role, told in (row.usage or {}).items():
        prompt = None if told is None or told.prompt is msgspec.UNSET else told.prompt
        answer = None if told is None or told.completion is msgspec.UNSET else told.completion
        if prompt is None and answer is None:
            continue  # no model was asked, or nobody counts
        sent = (row.traffic or {}).get(role) or _NOT_SENT
        found.append(
            Usage(
                role,
                model_of(actors[role]),
                prompt,
                part_of(sent.cached_tokens, prompt),
                answer,
                part_of(sent.reasoning_tokens, answer),
            )
        )
    return found


def _exact(value: Any) -> str:
    """As :func:`~outcomebox.eval.reading.ours.canonical`, of what every reader of JSON takes alike.

    Raises:
        TypeError: It holds a whole number of more than 64 bits.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _wrote(row: _Row) -> bool | None:
    if row.effects is not None:
        _exact(row.effects)  # or two of its numbers may be one to another reader
    return wrote(row.changes, row.schema_changes, row.effects, _HERE)


def _transcript(messages: Sequence[_Message] | None) -> _Columns:
    """As :func:`outcomebox.eval.reading.ours.transcript`."""
    if messages is None:
        return {}
    turns = calls = errors = 0
    last = False
    for message in messages:
        role = message.role
        if role == "assistant":
            turns += message.direct_response is msgspec.UNSET
        elif role == "tool":
            calls += 1
            last = message.is_error is True
            errors += last
    return {"turns": turns, "tool_calls": calls, "tool_errors": errors, "last_tool_error": last}
