"""Which task stands beside which: by uid, and never two that are not the same task."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from outcomebox.eval.results import NO_DOMAIN, Results, by_task
from outcomebox.sandbox.errors import InputError

_NAMED = 10
"""Uids that a message names."""


def paired(
    base: Results,
    new: Results,
    names: tuple[str, str],
    *,
    allow_incomplete: bool = False,
    allow_mixed: bool = False,
) -> pl.DataFrame:
    """The tasks of two runs side by side.

    Args:
        base: The run that is compared with.
        new: The run that is compared.
        names: What messages call them.
        allow_incomplete: Let tasks stand that have no clean run on a side, rather than refuse.
        allow_mixed: Take a run whose rows were made by different versions, rather than refuse.

    Returns:
        All tasks, sorted by uid: ``uid``, ``domain``, of each side (``base_``, ``new_``) ``passed``
        and ``clean``, and ``pair``: both sides have a clean run, so that they can be compared.

    Raises:
        InputError: The runs have not the same tasks, or a task is not the same in both; a task
            was stopped by an adaptive probe; a run mixes versions; or a task has no clean run on a
            side.
    """
    sides = [by_task(results) for results in (base, new)]
    for name, side in zip(names, sides, strict=True):
        if side.is_empty():
            raise InputError("no rows: there is nothing to compare", file=name)
        stopped = side.filter(pl.col("stopped")).get_column("uid").to_list()
        if stopped:
            raise InputError(
                f"{len(stopped)} tasks were stopped by an adaptive probe ({listed(stopped)}): "
                "their attempts ended when enough was known, so that their rates are biased; run "
                "all attempts",
                file=name,
            )
    _same_tasks(sides, names)
    if not allow_mixed:
        for name, results in zip(names, (base, new), strict=True):
            _one_version(results, name)
    _same_versions(base, new, names)
    both = _joined(sides, names)
    left_out = both.filter(~pl.col("pair")).get_column("uid").to_list()
    if left_out and not allow_incomplete:
        counts = [both.filter(pl.col(f"{side}_clean") == 0).height for side in ("base", "new")]
        raise InputError(
            f"{len(left_out)} tasks have no clean run on one side ({listed(left_out)}; "
            f"{counts[0]} in {names[0]}, {counts[1]} in {names[1]}): a pair needs one on both; "
            "finish the runs, or compare the others, marked as not final, with --allow-incomplete"
        )
    if len(left_out) == both.height:
        raise InputError(f"no task has a clean run in both {names[0]} and {names[1]}")
    return both


def listed(uids: Sequence[str]) -> str:
    """The first few of some uids, for a message."""
    more = f" and {len(uids) - _NAMED} more" if len(uids) > _NAMED else ""
    return ", ".join(uids[:_NAMED]) + more


def _same_tasks(sides: Sequence[pl.DataFrame], names: tuple[str, str]) -> None:
    base, new = ({*side.get_column("uid")} for side in sides)
    if base == new:
        return
    only = [sorted(base - new), sorted(new - base)]
    told = [
        f"{len(uids)} only in {name}" + (f" ({listed(uids)})" if uids else "")
        for uids, name in zip(only, names, strict=True)
    ]
    raise InputError(
        f"the runs have not the same tasks: {told[0]}, {told[1]}, {len(base & new)} in both; "
        "figures over different tasks are not compared: give both runs one list of tasks",
        field="uid",
    )


def versions(results: Results) -> tuple[str, ...]:
    """The versions that made a run's rows, as far as its source says."""
    found = results.attempts.get_column("versions_hash").drop_nulls().unique().sort()
    return tuple(found.to_list())


def _one_version(results: Results, name: str) -> None:
    if len(versions(results)) < 2:
        return
    counts = results.attempts.group_by("versions_hash").len().drop_nulls().sort("versions_hash")
    told = ", ".join(f"{mark[:12]}: {number} rows" for mark, number in counts.iter_rows())
    raise InputError(
        f"its rows were made by {counts.height} different versions of packages, profile or format "
        f"({told}): a difference may be theirs; run it again with one, or compare it, marked, with "
        "--allow-mixed",
        file=name,
        field="versions",
    )


def _same_versions(base: Results, new: Results, names: tuple[str, str]) -> None:
    """One uid is one version of one task in both runs, wherever both sources say which."""
    frames = [
        results.attempts.lazy()
        .filter(pl.col("task_hash").is_not_null())
        .group_by("uid")
        .agg(pl.col("task_hash").unique().sort())
        for results in (base, new)
    ]
    changed = (
        frames[0]
        .join(frames[1], on="uid")
        .filter(pl.col("task_hash") != pl.col("task_hash_right"))
        .sort("uid")
        .collect()
    )
    if changed.is_empty():
        return
    uids = changed.get_column("uid").to_list()
    hashes = [changed.get_column(name)[0][0][:12] for name in ("task_hash", "task_hash_right")]
    raise InputError(
        f"{len(uids)} tasks are not the same in both runs ({listed(uids)}; {uids[0]} is "
        f"{hashes[0]} in {names[0]} and {hashes[1]} in {names[1]}): run one of them again on the "
        "tasks of the other",
        field="versions",
    )


def _joined(sides: Sequence[pl.DataFrame], names: tuple[str, str]) -> pl.DataFrame:
    base, new = (
        side.select("uid", "domain", pl.col("passed", "clean").name.prefix(f"{name}_"))
        for side, name in zip(sides, ("base", "new"), strict=True)
    )
    both = base.join(new, on="uid", suffix="_new").sort("uid")
    told = pl.col("domain") != NO_DOMAIN
    told_new = pl.col("domain_new") != NO_DOMAIN
    differ = both.filter(told & told_new & (pl.col("domain") != pl.col("domain_new")))
    if not differ.is_empty():
        uid, first, second = differ.select("uid", "domain", "domain_new").row(0)
        raise InputError(
            f"{differ.height} tasks are in one domain in {names[0]} and in another in {names[1]}: "
            f"{uid} is in {first} and in {second}; mend the source that is wrong",
            field="domain",
        )
    return both.select(
        "uid",
        "base_passed",
        "base_clean",
        "new_passed",
        "new_clean",
        domain=pl.when(told).then("domain").otherwise("domain_new"),
        pair=pl.all_horizontal(pl.col("base_clean", "new_clean") > 0),
    )
