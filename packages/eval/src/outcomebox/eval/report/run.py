"""What a report is of: runs, each with its rows and its figures."""

from __future__ import annotations

from dataclasses import dataclass

from outcomebox.eval.metrics.model import Group
from outcomebox.eval.metrics.summary import Summary
from outcomebox.eval.results import Results


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        name: What it is called.
        results: Its rows.
        summary: Its figures.
    """

    name: str
    results: Results
    summary: Summary

    def groups(self, kind: str) -> tuple[Group, ...]:
        """Its figures by domain, family, tag or band; empty where that was not asked for."""
        return self.summary.groups.get(kind, ())


def words(text: str) -> str:
    """A name of ours as words."""
    return text.replace("_", " ")
