"""Where verl's FSDP checkpoints have what.

::

    checkpoints/latest_checkpointed_iteration.txt      the number N of the newest
    checkpoints/global_step_N/data.pt                  which tasks were drawn
    checkpoints/global_step_N/actor/
        {model,optim,extra_state}_world_size_W_rank_R.pt    one of each kind for each rank
        fsdp_config.json                               W
        huggingface/                                   config and tokenizer
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from outcomebox.sandbox import InputError

TRACKER = "latest_checkpointed_iteration.txt"
KINDS = ("model", "optim", "extra_state")
FSDP_CONFIG = "fsdp_config.json"
DATA = "data.pt"
_STEP = re.compile(r"global_step_(\d+)")
_SHARD = re.compile(r"(model|optim|extra_state)_world_size_(\d+)_rank_(\d+)\.pt")


@dataclass(frozen=True, slots=True)
class Shard:
    """One rank's part.

    Attributes:
        kind: One of :data:`KINDS`.
        world_size: Ranks that saved.
        rank: Which of them.
        path: The file.
    """

    kind: str
    world_size: int
    rank: int
    path: Path


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint as it lies there; :func:`~.verify.verify` tells whether it is whole.

    Attributes:
        folder: ``global_step_N``.
        step: N.
        actor: Folder of the policy's shards.
        world_size: Ranks that saved it.
        shards: Every file that is named like one.
    """

    folder: Path
    step: int
    actor: Path
    world_size: int
    shards: tuple[Shard, ...]

    @property
    def huggingface(self) -> Path:
        """Config and tokenizer."""
        return self.actor / "huggingface"


def find_latest(checkpoints: Path) -> Path | None:
    """The newest checkpoint that a run would go on with; None where there is none.

    verl begins anew, without a word, where the tracker names a folder that is gone.

    Args:
        checkpoints: Where a run saves.

    Raises:
        InputError: The tracker names a checkpoint that is not there, or none.
    """
    tracker = checkpoints / TRACKER
    if not tracker.is_file():
        left = sorted(each.name for each in checkpoints.glob("global_step_*"))
        if left:
            raise InputError(
                f"is missing beside {left[-1]}, so training would begin anew: the save was cut "
                "off, or the file was lost; write the number of a whole checkpoint into it, or "
                "name another out",
                file=tracker,
            )
        return None
    text = tracker.read_text(encoding="utf-8").strip()
    folder = checkpoints / f"global_step_{text}"
    if not text.isdecimal() or not folder.is_dir():
        raise InputError(
            "names a checkpoint that is not there, so training would begin anew; write the number "
            "of one that is, or name another out",
            file=tracker,
            value=text,
        )
    return folder


def find_checkpoint(given: Path) -> Path:
    """The checkpoint that a path means.

    Args:
        given: A run's folder or its checkpoints (the newest is meant), a ``global_step_N``, or the
            ``actor`` folder in it.

    Raises:
        InputError: There is none.
    """
    for checkpoints in (given / "checkpoints", given):
        if (checkpoints / TRACKER).is_file():
            found = find_latest(checkpoints)
            if found is not None:
                return found
    folder = given.parent if given.name == "actor" else given
    if _STEP.fullmatch(folder.name) and folder.is_dir():
        return folder
    raise InputError(
        "there is no checkpoint; name a run's folder, or a global_step_N in its checkpoints",
        file=given,
    )


def read_checkpoint(folder: Path) -> Checkpoint:
    """What lies in a checkpoint.

    Args:
        folder: ``global_step_N``.

    Raises:
        InputError: It is none of verl's FSDP checkpoints.
    """
    match = _STEP.fullmatch(folder.name)
    actor = folder / "actor"
    if match is None or not actor.is_dir():
        raise InputError(
            "is no checkpoint of verl (global_step_N with a folder actor); name one", file=folder
        )
    shards = tuple(
        Shard(found[1], int(found[2]), int(found[3]), path)
        for path in sorted(actor.iterdir())
        if (found := _SHARD.fullmatch(path.name))
    )
    return Checkpoint(folder, int(match[1]), actor, _world_size(actor), shards)


def _world_size(actor: Path) -> int:
    """The number of ranks, as rank 0 wrote it down after it had saved."""
    file = actor / FSDP_CONFIG
    mend = "the save was cut off: use an earlier checkpoint"
    try:
        size = json.loads(file.read_text(encoding="utf-8")).get("world_size")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}); {mend}", file=file) from error
    except (ValueError, AttributeError) as error:
        raise InputError(f"is not JSON ({error}); {mend}", file=file) from error
    if not isinstance(size, int) or size < 1:
        raise InputError(f"has no number of ranks; {mend}", file=file, value=size)
    return size
