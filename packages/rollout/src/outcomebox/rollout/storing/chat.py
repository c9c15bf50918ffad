"""The rows of a run as chat data for supervised fine-tuning: OpenAI messages and tools, one a line.

Only chosen outcomes are taken, of each (uid, repetition) its result (its last clean try), sorted by
key. Tasks of the ThinkingBox form are a benchmark, made for evaluation; they are left out unless
the person says otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import Row, read_row
from outcomebox.rollout.storing.files import new_file
from outcomebox.rollout.storing.index import Entry, read_index
from outcomebox.sandbox import InputError

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which episodes are taken.

    Attributes:
        outcomes: Of these outcomes.
        per_task: At most so many of a task, the first by repetition; None for all.
        reasoning: Whether the assistant's reasoning is kept (``reasoning_content``).
        benchmark: Whether episodes on a benchmark's tasks are taken, which are for evaluation.
    """

    outcomes: Sequence[str] = ("passed",)
    per_task: int | None = None
    reasoning: bool = False
    benchmark: bool = False


@dataclass(frozen=True, slots=True)
class Chats:
    """What was written.

    Attributes:
        written: Conversations.
        tasks: Tasks they are of.
        broken: Episodes of chosen outcomes that were left out, because a call of theirs could not
            be read: a model would learn it.
    """

    written: int
    tasks: int
    broken: int


def chosen(rows: Path, selection: Selection) -> list[Entry]:
    """The results that are taken, sorted by key.

    Args:
        rows: The file of rows.
        selection: Which.

    Raises:
        InputError: The rows cannot be read, or a task is a benchmark's and that was not asked for.
    """
    last: dict[tuple[str, int], Entry] = {}
    for entry in sorted(read_index(rows), key=lambda entry: entry.key):
        if entry.outcome != "system_error":
            last[entry.uid, entry.repetition] = entry
    found = [entry for entry in last.values() if entry.outcome in selection.outcomes]
    if not selection.benchmark:
        firsts = {entry.uid: entry for entry in reversed(found)}
        with rows.open("rb") as file:
            for uid, entry in sorted(firsts.items()):
                if is_benchmark(_row(file, entry, rows)):
                    raise InputError(
                        "is a task of a benchmark in the ThinkingBox form, made for evaluation "
                        "alone; a model trained on it cannot be measured with it any more. If that "
                        "is what you want, add --benchmark",
                        file=rows,
                        task=uid,
                    )
    return found


def export_chat(
    rows: Path,
    to: Path,
    tools: Mapping[str, Sequence[Any]],
    selection: Selection,
    tell: Callable[[int, int], None] | None = None,
) -> Chats:
    """Write chosen conversations.

    Args:
        rows: The file of rows.
        to: The JSONL file; a new one.
        tools: The tools that an agent has on each task, as the API has them, by uid.
        selection: Which are taken.
        tell: Told of the conversations that were looked at, and of how many are chosen.

    Raises:
        InputError: As for :func:`chosen`, or the file is there already or cannot be written. Then
            nothing was written.
    """
    entries = chosen(rows, selection)
    taken: Counter[str] = Counter()
    broken = 0
    with new_file(to) as made, made.open("wb") as out, rows.open("rb") as kept:
        for done, entry in enumerate(entries, 1):
            if tell is not None:
                tell(done, len(entries))
            if selection.per_task is not None and taken[entry.uid] >= selection.per_task:
                continue
            messages = chat_messages(
                _row(kept, entry, rows)["messages"], reasoning=selection.reasoning
            )
            if messages is None:
                broken += 1
                continue
            taken[entry.uid] += 1
            line = {
                "messages": messages,
                "tools": list(tools[entry.uid]),
                "uid": entry.uid,
                "repetition": entry.repetition,
                "outcome": entry.outcome,
            }
            out.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return Chats(taken.total(), len(taken), broken)


def _row(file: Any, entry: Entry, path: Path) -> Row:
    try:
        return read_row(file, entry.offset)
    except ValueError as error:
        raise InputError(
            f"the row at byte {entry.offset} is damaged ({error}); restore the file",
            file=path,
            task=entry.uid,
        ) from error


def is_benchmark(row: Row) -> bool:
    """Whether a row is of a task in the ThinkingBox form, which servers of its own decide."""
    return "servers" in row["versions"]


def chat_messages(messages: Sequence[Message], *, reasoning: bool) -> list[Message] | None:
    """The messages of an episode as the chat API has them.

    Args:
        messages: As a row has them.
        reasoning: Whether the assistant's reasoning is kept.

    Returns:
        They; None where a call could not be read or carried out, which no model should learn.
    """
    told = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            told.append(
                {
                    "role": role,
                    "tool_call_id": message["tool_call_id"],
                    "content": message["content"],
                }
            )
            continue
        one: Message = {"role": role, "content": message["content"]}
        calls = message.get("tool_calls") or ()
        if not all(call["executable"] for call in calls):
            return None
        if reasoning and message.get("reasoning"):
            one["reasoning_content"] = message["reasoning"]
        if calls:
            one["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {
                        "name": call["name"],
                        "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                    },
                }
                for call in calls
            ]
        elif role == "assistant":
            one["content"] = message["content"] or ""
        told.append(one)
    return told
