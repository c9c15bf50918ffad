"""The figures of an episode that verl carries to the step's log, as plain values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.rows import Row
from outcomebox.rollout.digest import compared
from outcomebox.train.verl.numbering import Asked
from outcomebox.train.verl.parity import Parity
from outcomebox.train.verl.sequences import TrainedSequence

NO_BAND = "unknown"
"""Band of a task whose probe gave none."""

_SECONDS: Mapping[str, tuple[str, ...]] = {
    "seconds_sessions": ("open", "close"),
    "seconds_tools": ("tools",),
    "seconds_user": ("user",),
    "seconds_generation": ("policy",),
    "seconds_grading": ("grade",),
}
"""Figure -> the parts of a row's timing that it adds up."""


def figures_of(
    row: Row,
    *,
    asked: Asked,
    band: str | None,
    sequences: Sequence[TrainedSequence],
    restarts: int,
    parity: Parity,
) -> dict[str, Any]:
    """The figures of a finished episode.

    Args:
        row: Its row, as it is stored.
        asked: What verl asked for.
        band: Band of the task.
        sequences: What it is trained as.
        restarts: Prompts that began anew.
        parity: What reading it again found.

    Returns:
        Name to text or number. ``prompt_tokens`` is of the first prompt, ``response_tokens`` of all
        responses, ``sampled_tokens`` of what the model wrote; seconds are wall time.
    """
    messages = row["messages"]
    tools = [each for each in messages if each["role"] == "tool"]
    timing = row["timing"]
    return {
        "uid": row["uid"],
        "band": band or NO_BAND,
        "domain": row["domain"],
        "side": asked.side,
        "outcome": row["verdict"]["outcome"],
        "finish_reason": row["finish_reason"],
        "turns": sum(bool(each.get("ids")) for each in messages),
        "user_turns": _user_turns(messages),
        "tool_calls": len(tools),
        "tool_errors": sum(bool(each.get("is_error")) for each in tools),
        "prompt_tokens": len(sequences[0].prompt_ids),
        "response_tokens": sum(len(each.response_ids) for each in sequences),
        "sampled_tokens": sum(sum(each.mask) for each in sequences),
        "samples": len(sequences),
        "restarts": restarts,
        **{
            name: round(sum(timing.get(part, 0.0) for part in parts), 6)
            for name, parts in _SECONDS.items()
        },
        "repetition": row["repetition"],
        "try": row["try"],
        "row_digest": row_digest(row),
        "parity_turns": parity.turns,
        "parity_differences": len(parity.differences),
        "step": asked.step,
        "session": asked.session,
    }


def row_digest(row: Row) -> str:
    """SHA-256 (hex) of what a row found; the same rules as for the digest of a run."""
    return hashlib.sha256(compared(row)).hexdigest()


def _user_turns(messages: Sequence[Mapping[str, Any]]) -> int:
    """Replies of the user: what they say after the model has spoken."""
    spoke = next((at for at, each in enumerate(messages) if "finish_reason" in each), len(messages))
    return sum(each["role"] == "user" for each in messages[spoke:])
