"""Silent failures: the agent ended in order, changed records, saw no error last, and was wrong.

Nobody would notice them from the outside, so they are what a check of the terminal state is for.
Inside, the shares of wrong values, extra effects and missing effects overlap: one attempt can have
all three.
"""

from __future__ import annotations

import polars as pl

from outcomebox.eval.metrics.signature import CLEAN_ENDS, EXTRA, MISSING, SAID, WRONG, has_reason

INSIDE = {"wrong_values": WRONG, "extra_effects": EXTRA, "missing_effects": MISSING}


def silent() -> pl.Expr:
    """Whether a failed attempt is silent; null where the source does not tell, or it did not fail.

    It ended cleanly (``done``, ``end_turn_tool``, ``user_done``), the terminal state differs from
    the initial one, and its last tool call was not answered with an error.
    """
    ended = pl.col("finish_reason").is_in(CLEAN_ENDS)
    # What wrote has made a call, so `last_tool_error` is told wherever calls are.
    found = ended & pl.col("wrote") & ~pl.col("last_tool_error")
    return pl.when(pl.col("outcome") == "failed").then(found)


def inside(name: str) -> pl.Expr:
    """Whether a silent failure has reasons of a group of :data:`INSIDE`.

    Null where the failure is not silent, and where a check's own assertion is all that is told.
    """
    told = has_reason((*WRONG, *EXTRA, *MISSING, *SAID))
    holds = pl.when(told).then(has_reason(INSIDE[name]))
    return pl.when(silent()).then(holds)
