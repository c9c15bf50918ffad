"""What can go wrong in a training run, by who has to act on it.

* ``InputError`` (the sandbox's): what a person wrote is wrong, a setting, a file, a flag. It names
  file, field, value and mend; commands print it and end with status 2. Nothing was started.
* :class:`EpisodeFault`: infrastructure failed inside one episode. It carries no reward: the group
  that the episode belongs to is run again, whole.
* :class:`BatchUnfilled`: groups were run again as often as the bounds allow and the batch is still
  short. Training stops; a batch with holes is never trained on.

No path turns one of these into a reward of 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from outcomebox.sandbox import InputError

__all__ = ["BatchUnfilled", "EpisodeFault", "InputError", "TrainError"]


class TrainError(Exception):
    """Base of what this package raises on purpose, besides ``InputError``."""


class EpisodeFault(TrainError):
    """An episode that ended as ``system_error``: it has no verdict, so it has no reward.

    Args:
        uid: The task's uid.
        phase: The boundary that the failure crossed: ``open``, ``tool``, ``policy``, ``user``,
            ``read``, ``check``, ``judge``, ``worker`` or ``run``.
        type: Name of the error's class.
        message: What it said, without secrets.
    """

    def __init__(
        self,
        uid: str,
        phase: str,
        type: str,  # noqa: A002 -- the word of the row's error record
        message: str,
    ) -> None:
        super().__init__(f"{uid}: {phase}: {type}: {message}")
        self.uid = uid
        self.phase = phase
        self.type = type
        self.message = message

    def __reduce__(self) -> tuple[type[EpisodeFault], tuple[str, str, str, str]]:
        """How it crosses processes: Ray pickles what an agent loop raises."""
        return (EpisodeFault, (self.uid, self.phase, self.type, self.message))


class BatchUnfilled(TrainError):
    """A batch that stays short of useful groups within the bounds of refilling.

    Args:
        counts: How many groups each reason kept out, such as ``{"all_fail": 9, "open": 3}``.
        mend: What to do about it.
    """

    def __init__(self, counts: Mapping[str, int], mend: str) -> None:
        told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()) if number)
        super().__init__(f"the batch could not be filled ({told or 'no group was tried'}); {mend}")
        self.counts = dict(counts)
        self.mend = mend

    def __reduce__(self) -> tuple[type[BatchUnfilled], tuple[dict[str, int], str]]:
        """How it crosses processes."""
        return (BatchUnfilled, (self.counts, self.mend))
