"""What grading again came to, counted while the rows go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcomebox.reward.regrade.outcome import APART, CAUSES, Regraded

_MOST_EXAMPLES = 20

Key = tuple[str, int]


@dataclass(slots=True)
class _Result:
    """The last clean try of an attempt: the index of the try, and whether it passed."""

    attempt: int = -1
    passed: bool = False

    def take(self, attempt: int, outcome: str | None) -> None:
        if outcome in ("passed", "failed") and attempt > self.attempt:
            self.attempt, self.passed = attempt, outcome == "passed"


@dataclass
class Report:
    """The result of grading a run again.

    Memory grows with the attempts by a few numbers each, and with what moved.

    Attributes:
        run: The file.
        judge: What the judge says of itself; None: recorded answers only.
        cut: Bytes of a last line that was cut off; it is left out.
        rows: Rows that were looked at.
        regraded: Rows that have a verdict of the present check.
        verdicts: (outcome then, outcome now) -> rows.
        same_reasons: Failed rows that still fail, for the same reasons.
        moved: Rows whose outcome is another one.
        explained_otherwise: Rows of the same outcome for other reasons.
        left: Cause -> rows that were not graded again.
        examples: Cause -> the first of them, with what in particular.
        since: What has changed since the rows were made -> rows graded again.
        doubtful: Rows graded again whose initial state may have been another one elsewhere.
    """

    run: Path
    judge: Mapping[str, Any] | None = None
    cut: int = 0
    rows: int = 0
    regraded: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    same_reasons: int = 0
    moved: list[dict[str, Any]] = field(default_factory=list)
    explained_otherwise: list[dict[str, Any]] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    since: Counter[str] = field(default_factory=Counter)
    doubtful: int = 0
    _before: dict[Key, _Result] = field(default_factory=dict)
    _after: dict[Key, _Result] = field(default_factory=dict)

    def count(self, one: Regraded) -> None:
        """Count one row."""
        self.rows += 1
        if one.left is not None:
            self.left[one.left.cause] += 1
            found = self.examples.setdefault(one.left.cause, [])
            if len(found) < _MOST_EXAMPLES:
                found.append(
                    {
                        "uid": one.uid,
                        "repetition": one.repetition,
                        "line": one.line,
                        "message": one.left.message,
                    }
                )
        if one.now is not None:
            self.regraded += 1
            self.verdicts[one.was["outcome"], one.now["outcome"]] += 1
            self.since.update(one.why)
            self.doubtful += one.doubtful
            if one.moved:
                self.moved.append(one.to_json())
            elif one.explained_otherwise:
                self.explained_otherwise.append(one.to_json())
            elif one.now["outcome"] == "failed":
                self.same_reasons += 1
        if one.left is None or one.left.cause not in APART:
            key = (one.uid, one.repetition)
            self._before.setdefault(key, _Result()).take(one.attempt, one.was["outcome"])
            self._after.setdefault(key, _Result()).take(one.attempt, one.outcome)

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """Of each task passes and attempts with a verdict, before and after, sorted by uid."""
        counts: dict[str, dict[str, list[int]]] = {}
        for name, results in (("before", self._before), ("after", self._after)):
            for (uid, _), result in results.items():
                count = counts.setdefault(uid, {"before": [0, 0], "after": [0, 0]})[name]
                count[0] += result.passed
                count[1] += result.attempt >= 0
        return [{"uid": uid, **counts[uid]} for uid in sorted(counts)]

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON; the same for the same rows, tasks and judge."""
        return {
            "schema": 1,
            "run": self.run.as_posix(),
            "judge": None if self.judge is None else dict(self.judge),
            "rows": self.rows,
            "regraded": self.regraded,
            "cut": self.cut,
            "verdicts": [
                {"was": was, "now": now, "rows": rows}
                for (was, now), rows in sorted(self.verdicts.items())
            ],
            "moved": sorted(self.moved, key=_place),
            "explained_otherwise": sorted(self.explained_otherwise, key=_place),
            "same_reasons": self.same_reasons,
            "left": [
                {
                    "cause": cause,
                    "meaning": CAUSES[cause],
                    "rows": self.left[cause],
                    "examples": self.examples[cause],
                }
                for cause in CAUSES
                if self.left[cause]
            ],
            "since": dict(sorted(self.since.items())),
            "doubtful": self.doubtful,
            "tasks": self.tasks,
            "notes": list(self.notes()),
        }

    def notes(self) -> list[str]:
        """What to know of the figures."""
        notes = []
        if self.cut:
            notes.append("the last line was cut off (a killed run leaves one) and is left out")
        if self.doubtful:
            notes.append(
                f"{self.doubtful} rows may have begun otherwise: seed or init were edited since, "
                "or the rows are too old to tell. Where they wrote, the initial state is the "
                "same; elsewhere nothing shows it"
            )
        return notes


def _place(entry: Mapping[str, Any]) -> tuple[str, int, int, int]:
    return (entry["uid"], entry["repetition"], entry["try"], entry["line"])
