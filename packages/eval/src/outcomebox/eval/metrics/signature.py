"""One word for why a trace failed, decided by rules alone, and who else may be to blame.

A failed attempt has exactly one *signature*, the first of these that holds:

=======================  ========================================================================
signature                holds when
=======================  ========================================================================
ran_out_of_turns         it was cut off: ``agent_limit`` or ``token_limit``
tool_usage               a call broke its tool server, or the last call was answered with an error
no_write                 nothing was changed
wrong_write              a value was written that is not the one that was due (``wrong_value``)
missing_write            something due was not done (``missing_*``), whatever else was
extra_write              only what was not due was done (``extra_*``, ``schema_changed``)
incomplete_resolution    the records are as they must be, and the answer or the conversation is not
=======================  ========================================================================

The order goes from what made the rest impossible to what is left when nothing else is wrong: a
trace that was cut off has missing writes *because* it was cut off, one that stopped at an error did
not write what the call was for. Between the writes, a wrong value comes first, since there the
agent was at the right place; an extra one comes last, since it is named only where all that was due
was done. A trace in which an early error was mended is no ``tool_usage``. What the source does not
tell cannot hold; where nothing is told the signature is null, and counted as such.

*Blame* is told apart from it. The verdict is the same, but a reader who wants to know how much of
the failures another user simulator or grader could undo finds them counted:

* ``user_simulator``: the simulated user had no answer left or there was none (``user_limit``,
  ``no_user``), or left before anything was written (``user_done``);
* ``grader``: nothing but a judge's word is against it (every reason is ``rubric_failed``);
* ``agent``: all others.

For tries without a verdict the same question is answered by the phase that broke.
"""

from __future__ import annotations

import polars as pl

SIGNATURES = (
    "ran_out_of_turns",
    "tool_usage",
    "no_write",
    "wrong_write",
    "missing_write",
    "extra_write",
    "incomplete_resolution",
)
BLAMED = ("agent", "user_simulator", "grader")

CUT_OFF = ("agent_limit", "token_limit")
CLEAN_ENDS = ("done", "end_turn_tool", "user_done")
"""Finish reasons of conversations that came to their end."""

WRONG = ("wrong_value",)
MISSING = ("missing_insert", "missing_update", "missing_delete", "missing_row")
EXTRA = ("extra_insert", "extra_update", "extra_delete", "schema_changed")
SAID = ("rubric_failed", "wrong_answer")
"""Kinds of reasons about the answer, not about the records."""

BROKEN = {
    "user": "user_simulator",
    "judge": "grader",
    "check": "grader",
    "golden": "grader",
    "policy": "policy_endpoint",
    "open": "backend",
    "tool": "backend",
    "read": "backend",
    "close": "backend",
}
"""Phase that broke -> who is to blame for a try without verdict; ``harness`` for any other."""


def has_reason(kinds: tuple[str, ...]) -> pl.Expr:
    """Whether one of an attempt's reasons is of these kinds; null where no reasons are told."""
    return pl.col("reasons").list.eval(pl.element().is_in(kinds)).list.any()


def _told(condition: pl.Expr) -> pl.Expr:
    """What is not told does not hold."""
    return condition.fill_null(value=False)


def signature() -> pl.Expr:
    """The signature of a failed attempt; null for all others, and where the source tells nothing.

    Needs the columns ``outcome``, ``finish_reason``, ``reasons``, ``last_tool_error`` and
    ``wrote``.
    """
    end = pl.col("finish_reason")
    rules = (
        _told(end.is_in(CUT_OFF)),
        _told(end == "tool_crash")
        | _told(has_reason(("tool_crash",)))
        | _told(pl.col("last_tool_error")),
        _told(~pl.col("wrote")) & ~_only_said(),
        _told(has_reason(WRONG)),
        _told(has_reason(MISSING)),
        _told(has_reason(EXTRA)),
        _only_said(),
    )
    found = pl.lit(None, dtype=pl.String)
    for name, rule in reversed([*zip(SIGNATURES, rules, strict=True)]):
        found = pl.when(rule).then(pl.lit(name)).otherwise(found)
    return pl.when(pl.col("outcome") == "failed").then(found)


def blame() -> pl.Expr:
    """Who else than the agent may be to blame for a failed attempt; null for all others."""
    end = pl.col("finish_reason")
    left = (end == "user_done") & _told(~pl.col("wrote"))
    by_user = _told(end.is_in(("user_limit", "no_user")) | left)
    return pl.when(pl.col("outcome") == "failed").then(
        pl.when(by_user)
        .then(pl.lit("user_simulator"))
        .when(_only(("rubric_failed",)))
        .then(pl.lit("grader"))
        .otherwise(pl.lit("agent"))
    )


def broken() -> pl.Expr:
    """Who is to blame for a try without verdict; null for all others."""
    phase = pl.col("error_phase").replace_strict(BROKEN, default="harness", return_dtype=pl.String)
    return pl.when(pl.col("outcome") == "system_error").then(phase.fill_null("harness"))


def _only(kinds: tuple[str, ...]) -> pl.Expr:
    """Whether all of an attempt's reasons are of these kinds, and there is one."""
    reasons = pl.col("reasons")
    every = reasons.list.eval(pl.element().is_in(kinds)).list.all()
    return _told(every & (reasons.list.len() > 0))


def _only_said() -> pl.Expr:
    return _only(SAID)
