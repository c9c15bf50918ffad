"""Where a run stands, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from outcomebox.rollout.breaker import Outage
from outcomebox.rollout.errors import ErrorRecord
from outcomebox.rollout.pace import Paced
from outcomebox.rollout.plan import Planned


@dataclass
class Progress:
    """Where a run stands; handed to the observer after each row.

    Attributes:
        total: Attempts of the whole run.
        outcomes: Attempts that are done, by outcome; broken ones count once they are given up.
        retried: Tries that broke and were made again.
        resumed: Attempts that an earlier process had done.
        lost: Workers that were lost with a try in their hands.
        tokens: Tokens that models wrote since this process began.
        requests: Requests that were sent to models again: ``retries``, ``rate_limited`` (429) and
            ``server_errors`` (5xx).
        phases: Tries that broke, by the boundary at which they did.
        running: Episodes that run now.
        limit: Episodes that may run at a time now.
        outage: What is down and waited for; None while nothing is.
    """

    total: int
    outcomes: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    resumed: int = 0
    lost: int = 0
    tokens: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    running: int = 0
    limit: int = 0
    outage: Outage | None = None

    @classmethod
    def of(cls, plan: Planned) -> Self:
        """The progress of a run that begins with a plan."""
        outcomes = Counter(plan.outcomes.values())
        return cls(plan.total, outcomes, resumed=len(plan.outcomes))

    @property
    def done(self) -> int:
        """Attempts that need nothing more."""
        return sum(self.outcomes.values())

    def count(self, row: Mapping[str, Any]) -> None:
        """Take in what a try has cost.

        Args:
            row: Its row.
        """
        for spent in row["usage"].values():
            self.tokens += spent.get("completion") or 0
        for counts in row.get("traffic", {}).values():
            for name in ("retries", "rate_limited", "server_errors"):
                self.requests[name] += counts.get(name) or 0
        if row["error"] is not None:
            self.phases[row["error"]["phase"]] += 1


@dataclass(frozen=True, slots=True)
class Left:
    """An attempt without a verdict, and why."""

    uid: str
    repetition: int
    error: ErrorRecord


@dataclass(frozen=True)
class RunReport:
    """How a run ended.

    Attributes:
        progress: The final counts.
        left: Attempts that stayed broken.
        paced: What the pace has been.
        outage: What is down, where the run was stopped for it.
    """

    progress: Progress
    left: tuple[Left, ...] = ()
    paced: Paced | None = None
    outage: Outage | None = None

    @property
    def complete(self) -> bool:
        """Whether every attempt has a verdict."""
        return not self.left and self.progress.done == self.progress.total

    @property
    def unfinished(self) -> int:
        """Attempts without a verdict: those that stayed broken, and those that were not made."""
        outcomes = self.progress.outcomes
        return self.progress.total - outcomes["passed"] - outcomes["failed"]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        progress = self.progress
        stopped = None
        if self.outage is not None:
            error = self.outage.error.to_json()
            stopped = {"boundary": self.outage.boundary, "asked": self.outage.asked, **error}
            stopped["refused"] = self.outage.refused
        return {
            "attempts": progress.total,
            "outcomes": {name: n for name, n in sorted(progress.outcomes.items()) if n},
            "resumed": progress.resumed,
            "retried": progress.retried,
            "lost_workers": progress.lost,
            "broken_tries": dict(sorted(progress.phases.items())),
            "requests": {name: n for name, n in sorted(progress.requests.items()) if n},
            "tokens": progress.tokens,
            "pace": None if self.paced is None else asdict(self.paced),
            "complete": self.complete,
            "stopped": stopped,
            "left": [
                {"uid": item.uid, "repetition": item.repetition, **item.error.to_json()}
                for item in self.left
            ],
        }
