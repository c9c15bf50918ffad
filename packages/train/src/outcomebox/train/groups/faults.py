"""How an agent loop tells the trainer, in another process, why an attempt has no verdict.

verl marks a group as failed and keeps the reason in a log file of some node. So the loop leaves a
note in verl's own store, in a partition of its own, under the names of group and attempt; whoever
fills batches reads it with the state of the group, and clears it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from outcomebox.train.groups.judging import Fault

PARTITION = "outcomebox_faults"
"""Partition of verl's store with the notes."""

LONGEST = 2000
"""Characters of a message that are kept."""


def fault_key(uid: str, session: int) -> str:
    """Name of a note."""
    return f"{uid}_{session}"


async def report_fault(
    *, uid: str, session: int, phase: str, kind: str, message: str, task: str
) -> None:
    """Leave a note that an attempt has no verdict; call it before raising.

    Args:
        uid: verl's name of the group (``uid`` among a loop's fields).
        session: The attempt's number in it (``session_id``).
        phase: The boundary that the failure crossed.
        kind: Name of the error's class.
        message: What it said, without secrets.
        task: The task's uid.
    """
    import transfer_queue as tq  # noqa: PLC0415  # pants: no-infer-dep

    note = {"phase": phase, "kind": kind, "message": message[:LONGEST], "task": task}
    await tq.async_kv_put(key=fault_key(uid, session), partition_id=PARTITION, tag=note)


def faults_of(uid: str, notes: Mapping[str, Mapping[str, Any]]) -> list[Fault]:
    """The faults of a group.

    Args:
        uid: verl's name of it.
        notes: The partition: name -> note.
    """
    found = []
    for key, note in notes.items():
        group, _, session = key.rpartition("_")
        if group == uid:
            found.append(
                Fault(
                    session=int(session),
                    phase=str(note["phase"]),
                    kind=str(note["kind"]),
                    message=str(note["message"]),
                    task=str(note["task"]),
                )
            )
    return found


def keys_of(uids: Iterable[str], notes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of the notes about some groups."""
    wanted = set(uids)
    return [key for key in notes if key.rpartition("_")[0] in wanted]
