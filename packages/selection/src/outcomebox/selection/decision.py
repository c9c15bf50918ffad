"""What was found out and decided about one task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from outcomebox.selection.bands import BAND_NAMES, Band
from outcomebox.selection.results import TaskResult
from outcomebox.selection.similar import NearCopy
from outcomebox.selection.tasks import TaskInfo

Side = Literal["train", "test"]
Status = Literal["kept", "dropped", "undecided"]

# Every reason for which a task is not kept, in the order in which they are looked at: a task has
# the first that applies. `stopped` is a task that an exact probe dropped before it had a band.
EXCLUDED = "excluded"
REFERENCE = "reference"
STALE = "stale"
DUPLICATE = "duplicate"
NEAR_COPY = "near_copy"
UNSOLVED = "unsolved"
UNPROBED = "unprobed"
UNDECIDED = "undecided"
STOPPED = "stopped"
REASONS = (
    EXCLUDED,
    REFERENCE,
    STALE,
    DUPLICATE,
    NEAR_COPY,
    UNSOLVED,
    UNPROBED,
    UNDECIDED,
    STOPPED,
    *BAND_NAMES,
)

REASON_TEXTS = {
    EXCLUDED: "named by an exclusion list",
    REFERENCE: "its golden actions do not pass",
    STALE: "its episodes are of another version of the task",
    DUPLICATE: "same content as another task",
    NEAR_COPY: "says nearly the same as an excluded task",
    UNSOLVED: "the reference model does not show that it can be solved",
    UNPROBED: "no clean run",
    UNDECIDED: "too few clean runs for a band",
    STOPPED: "its probe left it early: certainly, or likely enough, in no retained band",
} | {name: f"the band {name.replace('_', ' ')} is not retained" for name in BAND_NAMES}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The posterior of one task's pass rate.

    Attributes:
        masses: probability of each band, from hardest to easiest.
        mean: posterior mean.
        interval: Jeffreys 95 % interval, low and high.
        mixed_share: chance that a training group of the task is mixed.
    """

    masses: tuple[float, ...]
    mean: float
    interval: tuple[float, float]
    mixed_share: float


@dataclass(frozen=True, slots=True)
class TaskDecision:
    """One task with its probe results, its estimate and what became of it.

    Attributes:
        result: the counts.
        estimate: None without a clean run.
        band: the band with the greatest mass; None without enough clean runs, and for a stopped
            task.
        stopped: an exact probe left the task before all attempts were run; then `band` is None and
            the counts say nothing about its pass rate.
        reason: one of `REASONS`; None exactly when the task is kept.
        detail: what the reason is about in this case, for people.
        side: side of the split; None exactly when the task is not kept.
        model: what the reference model's runs came to; None without one.
        near: what the task is found to be a near copy of.
    """

    result: TaskResult
    estimate: Estimate | None
    band: Band | None
    stopped: bool
    reason: str | None
    detail: str | None = None
    side: Side | None = None
    model: TaskResult | None = None
    near: NearCopy | None = None

    @property
    def task(self) -> TaskInfo:
        """The task's listing."""
        return self.result.task

    @property
    def uid(self) -> str:
        """The task's uid."""
        return self.result.task.uid

    @property
    def kept(self) -> bool:
        """Whether the task is in the pool."""
        return self.reason is None

    @property
    def status(self) -> Status:
        """`undecided` is neither kept nor dropped: more clean runs would decide."""
        if self.reason is None:
            return "kept"
        return "undecided" if self.reason in (UNPROBED, UNDECIDED) else "dropped"

    @property
    def band_probability(self) -> float | None:
        """Posterior mass of `band`."""
        if self.band is None or self.estimate is None:
            return None
        return self.estimate.masses[BAND_NAMES.index(self.band.name)]
