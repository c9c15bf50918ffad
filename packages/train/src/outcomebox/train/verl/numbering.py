"""Which attempt at a task an episode of training is: a number that no other has, and a seed by it.

A row is named by uid, repetition and try. verl gives a prompt a random name, another one in each
run, so the number comes from what is the same again after a restart:

* On the train side the dataset counts how often it has given out each task (its *draws*) and saves
  the counts with verl's checkpoints. ``repetition = draw * stride + session``, where ``session`` is
  the place in the group and ``stride`` the largest group of the run. Draws go on over steps,
  refills and epochs; after a resume they go on from the checkpoint.
* On the test side a task is asked once in each validation, so that the step stands in the draw's
  place.

What a resumed run does again (the steps behind its last checkpoint) has numbers that rows of the
killed run have too. Those are tries at the same attempts: the number of the try is the first that
no file of the run's rows has, and everywhere the last clean try is an attempt's result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from outcomebox.rollout.storing.index import read_index
from outcomebox.sandbox import InputError

Side = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What verl asks an agent loop for.

    Attributes:
        uid: The task.
        side: The side of the pool it is of.
        draw: How often the dataset had given the task out before.
        step: verl's step.
        group: verl's random name of the group.
        session: Place in the group, from 0.
    """

    uid: str
    side: Side
    draw: int
    step: int
    group: str
    session: int

    def repetition(self, stride: int) -> int:
        """The index of the attempt.

        Args:
            stride: The largest group of the run.

        Raises:
            InputError: The group is larger.
        """
        if self.session >= stride:
            raise InputError(
                f"a group has more attempts than the {stride} of rollout.n and val_kwargs.n; two "
                "would have one number",
                task=self.uid,
                field="session_id",
                value=self.session,
            )
        return (self.draw if self.side == "train" else self.step) * stride + self.session


def asked_of(fields: Mapping[str, Any]) -> Asked:
    """What verl's fields of a prompt ask for.

    Args:
        fields: The columns of the dataset's row, and what verl's trainer adds.

    Raises:
        InputError: One is missing: the dataset or the trainer is another.
    """
    extra = fields.get("extra_info")
    if not isinstance(extra, Mapping) or "draw" not in extra or extra.get("side") not in SIDES:
        raise InputError(
            "is not of this package's dataset; set data.custom_cls to PoolDataset",
            field="extra_info",
            value=extra,
        )
    for name in ("uid_task", "uid", "session_id", "global_steps"):
        if name not in fields:
            raise InputError(
                "is missing among what verl hands an agent loop; use the V1 trainer "
                "(trainer.v1.trainer_mode=outcomebox)",
                field=name,
            )
    return Asked(
        uid=str(fields["uid_task"]),
        side=cast(Side, extra["side"]),
        draw=int(extra["draw"]),
        step=int(fields["global_steps"]),
        group=str(fields["uid"]),
        session=int(fields["session_id"]),
    )


SIDES: tuple[str, ...] = get_args(Side)


@dataclass
class Tries:
    """How often each attempt has been tried, over all files of a run's rows.

    Attributes:
        known: uid and repetition to the number of the next try.
    """

    known: dict[tuple[str, int], int] = field(default_factory=dict)

    @classmethod
    def of_rows(cls, folder: Path) -> Tries:
        """The tries that the rows of a run tell.

        Args:
            folder: Where its files of rows are; it need not be there.

        Raises:
            InputError: A file is damaged.
        """
        tries = cls()
        for path in sorted(folder.glob("*.jsonl")):
            if path.name.endswith(".exchanges.jsonl"):
                continue
            for entry in read_index(path):
                key = (entry.uid, entry.repetition)
                tries.known[key] = max(tries.known.get(key, 0), entry.attempt + 1)
        return tries

    def next(self, uid: str, repetition: int) -> int:
        """The number of the next try at an attempt; it is taken from now on."""
        number = self.known.get((uid, repetition), 0)
        self.known[uid, repetition] = number + 1
        return number
