"""Which side a task is on: train or held-out, by what it says and by what it starts from.

A text falls on a side by its digest, and so does an initial state. A task is on a side only where
both fall there; the others are on none. So no text and no initial state is ever on both sides,
whatever was generated when and where, and nobody has to remember a list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, get_args

from outcomebox.sandbox.expect import TableEdits
from outcomebox.sandbox.task import Task

Side = Literal["train", "held-out"]
SIDES: tuple[Side, ...] = get_args(Side)

_HELD_OUT_OF = 3  # a third of the texts and a third of the states


def text_digest(query: str) -> str:
    """SHA-256 of what a task asks, however it is spaced and capitalised."""
    return hashlib.sha256(" ".join(query.casefold().split()).encode()).hexdigest()


def state_digest(init: Mapping[str, TableEdits]) -> str:
    """SHA-256 of the records that a task starts from, in whatever order they are listed."""
    edits = {
        table: {
            kind: sorted(json.dumps(each, sort_keys=True) for each in listed)
            for kind, listed in edit.model_dump(mode="json").items()
        }
        for table, edit in init.items()
    }
    return hashlib.sha256(json.dumps(edits, sort_keys=True).encode()).hexdigest()


def side_of(task: Task) -> Side | None:
    """The side of a task; None where its text and its initial state fall on different ones."""
    return side_of_digests(text_digest(task.query), state_digest(task.init))


def side_of_digests(text: str, state: str) -> Side | None:
    """The side of a task by the digests of its text and of its initial state."""
    sides = {_side(text), _side(state)}
    return sides.pop() if len(sides) == 1 else None


def _side(digest: str) -> Side:
    return "held-out" if int(digest[:16], 16) % _HELD_OUT_OF == 0 else "train"
