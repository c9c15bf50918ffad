"""Benchmark runs of database agents: figures that hold, comparisons, reports, golden replays.

::

    results = read_results(["runs/my-model"])
    summary = summarize(results)         # rates with intervals, failures, cost
    summary.final                        # was everything that was due there, once?
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outcomebox.eval.metrics.summary import Summary, summarize
    from outcomebox.eval.results import Expected, ExpectedTask, Results, read_results
    from outcomebox.reward.thinkingbox.mutations import (
        MutationError,
        Policy,
        Variant,
        parse_policy,
        variants,
    )

_HOMES = {
    "outcomebox.eval.metrics.summary": ("Summary", "summarize"),
    "outcomebox.eval.results": ("Expected", "ExpectedTask", "Results", "read_results"),
    "outcomebox.reward.thinkingbox.mutations": (
        "MutationError",
        "Policy",
        "Variant",
        "parse_policy",
        "variants",
    ),
}

__all__ = [
    "Expected",
    "ExpectedTask",
    "MutationError",
    "Policy",
    "Results",
    "Summary",
    "Variant",
    "parse_policy",
    "read_results",
    "summarize",
    "variants",
]


def __getattr__(name: str) -> Any:
    """What is imported from here, loaded when it is wanted: commands start sooner for it."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
