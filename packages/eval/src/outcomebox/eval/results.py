"""What every figure is computed from: one row a try, whoever ran it, and the keys that were due.

``read_results`` reads files of any kind that :mod:`outcomebox.eval.reading` knows. What follows
works on facts: outcomes are three words, keys are unique, a uid means one version of one task, and
all rows are of one policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import polars as pl

Key: TypeAlias = tuple[str, int]
"""uid and repetition."""

OUTCOMES = ("passed", "failed", "system_error")
NO_DOMAIN = "all"
"""The domain of tasks whose source names none."""

USAGE = pl.List(
    pl.Struct(
        [
            pl.Field("role", pl.String()),
            pl.Field("model", pl.String()),
            pl.Field("input", pl.Int64()),
            pl.Field("cached", pl.Int64()),
            pl.Field("output", pl.Int64()),
            pl.Field("reasoning", pl.Int64()),
        ]
    )
)
"""Tokens by role: ``cached`` is part of ``input``, ``reasoning`` part of ``output``; null where
nobody counts."""

ATTEMPTS = pl.Schema(
    [
        ("uid", pl.String()),
        ("repetition", pl.Int64()),
        ("try", pl.Int64()),
        ("outcome", pl.Enum(OUTCOMES)),
        ("domain", pl.String()),
        ("family", pl.String()),
        ("tags", pl.List(pl.String())),
        ("finish_reason", pl.String()),
        ("turns", pl.Int64()),
        ("tool_calls", pl.Int64()),
        ("tool_errors", pl.Int64()),
        ("last_tool_error", pl.Boolean()),
        ("wrote", pl.Boolean()),
        ("reasons", pl.List(pl.String())),
        ("score", pl.Float64()),
        ("seconds", pl.Float64()),
        ("usage", USAGE),
        ("cost", pl.Float64()),
        ("error_phase", pl.String()),
        ("error_type", pl.String()),
        ("policy", pl.String()),
        ("task_hash", pl.String()),
        ("versions_hash", pl.String()),
        ("stopped", pl.Boolean()),
        ("superseded", pl.Boolean()),
        ("counted", pl.Boolean()),
    ]
)
"""One row a try, sorted by uid, repetition, try. Null where the source does not say.

``turns``: messages of the agent. ``tool_calls``: calls that were answered, refused ones included;
``tool_errors``: those answered with an error; ``last_tool_error``: whether the last one was.
``wrote``: whether the terminal state differs from the initial one. ``reasons``: the kinds of the
verdict's reasons, in its order. ``seconds``: the episode's. ``cost``: only where the source states
one. ``policy``: its description as JSON with sorted keys. ``versions_hash``: of what all rows of
a run should share. ``stopped``: an adaptive probe stopped this task, so its rate is biased.
``superseded``: a clean try that a later clean try replaced. ``counted``: the last clean try of an
expected key: these rows, and no others, are attempts in a figure.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that rows came from.

    Attributes:
        path: As it was named.
        kind: Name of the reader.
        sha256: Of its bytes.
        rows: Rows taken from it.
        torn: Last lines that a killed run left half-written; they are not counted as rows.
    """

    path: str
    kind: str
    sha256: str
    rows: int
    torn: int = 0


@dataclass(frozen=True, slots=True)
class ExpectedTask:
    """A task that is part of the evaluation.

    Attributes:
        domain: Its domain; None where only its uid is known.
        tags: Its tags; None where only its uid is known.
    """

    domain: str | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Expected:
    """The keys that are due, known before any row is looked at.

    Attributes:
        tasks: uid -> the task.
        repetitions: The attempts that are due at each of them.
        source: Where this comes from, for people.
        inferred: Whether it was made from the rows themselves, so that a task none of whose
            attempts left a row cannot be missed.
    """

    tasks: Mapping[str, ExpectedTask]
    repetitions: tuple[int, ...]
    source: str = "given"
    inferred: bool = False

    @classmethod
    def of(
        cls, tasks: Mapping[str, ExpectedTask] | Sequence[str], attempts: int, source: str = "given"
    ) -> Expected:
        """So many attempts, numbered from 0, at each of some tasks."""
        known = tasks if isinstance(tasks, Mapping) else {uid: ExpectedTask() for uid in tasks}
        return cls(known, tuple(range(attempts)), source)

    @property
    def attempts(self) -> int:
        """Attempts at each task."""
        return len(self.repetitions)

    @property
    def total(self) -> int:
        """Keys in all."""
        return len(self.tasks) * len(self.repetitions)

    def keys(self) -> Iterator[Key]:
        """All keys, sorted."""
        for uid in sorted(self.tasks):
            for repetition in self.repetitions:
                yield uid, repetition


@dataclass(frozen=True)
class Results:
    """The tries of one policy.

    Attributes:
        attempts: One row a try (:data:`ATTEMPTS`).
        source: The files.
        expected: The keys that are due.
        notes: What a reader of the figures has to know of the rows, a sentence each.
        places: Where each row stands that is a line of a file, for those who show it: ``uid``,
            ``repetition``, ``try``, ``path``, ``line`` (from 1), sorted as the tries are.
    """

    attempts: pl.DataFrame
    source: tuple[Source, ...] = ()
    expected: Expected | None = None
    notes: tuple[str, ...] = field(default=())
    places: pl.DataFrame | None = None


def inferred(attempts: pl.DataFrame) -> Expected:
    """What rows alone say of what was due: every uid, up to the greatest repetition of all."""
    tasks = attempts.group_by("uid").agg(pl.col("domain", "tags").first()).sort("uid")
    known = {
        uid: ExpectedTask(domain, tuple(tags or ()))
        for uid, domain, tags in tasks.select("uid", "domain", "tags").iter_rows()
    }
    greatest = attempts.get_column("repetition").max()
    most = int(greatest) + 1 if isinstance(greatest, int) else 0
    return Expected(known, tuple(range(most)), "the rows themselves", inferred=True)


def with_expected(results: Results, expected: Expected) -> Results:
    """Results against the keys that are due: a row of no such key counts nowhere."""
    uids = pl.Series("uid", list(expected.tasks), dtype=pl.String)
    repetitions = pl.Series("repetition", list(expected.repetitions), dtype=pl.Int64)
    due = pl.col("uid").is_in(uids.implode()) & pl.col("repetition").is_in(repetitions.implode())
    frame = mark(results.attempts).with_columns(counted=pl.col("counted") & due)
    return replace(results, attempts=frame, expected=expected)


def mark(attempts: pl.DataFrame) -> pl.DataFrame:
    """Set ``superseded`` and ``counted``: the last clean try of a key is its result.

    An errored try never erases a clean one, and a better earlier try does not count.
    """
    clean = pl.col("outcome") != "system_error"
    last = pl.when(clean).then(pl.col("try")).max().over("uid", "repetition")
    is_last = (clean & (pl.col("try") == last)).fill_null(value=False)
    return attempts.with_columns(superseded=clean & ~is_last, counted=is_last)


def counted(results: Results) -> pl.DataFrame:
    """The attempts that figures are made of: one row an expected key with a clean try."""
    return results.attempts.filter(pl.col("counted"))


def by_task(results: Results) -> pl.DataFrame:
    """The counts of each task; those that are due and have no row are among them.

    Returns:
        Sorted by uid: ``uid``, ``domain``, ``tags``, ``passed``, ``clean`` (attempts counted),
        ``errors`` (due keys of which every try was a system error), ``missing`` (due keys without a
        row), ``system_errors`` (tries), ``tries``, ``stopped``.
    """
    expected = results.expected or inferred(results.attempts)
    due = len(expected.repetitions)
    told = pl.DataFrame(
        {
            "uid": list(expected.tasks),
            "told_domain": [task.domain for task in expected.tasks.values()],
            "told_tags": [task.tags for task in expected.tasks.values()],
        },
        schema={"uid": pl.String, "told_domain": pl.String, "told_tags": pl.List(pl.String)},
    )
    wanted = pl.Series(list(expected.repetitions), dtype=pl.Int64).implode()
    rows = results.attempts.filter(pl.col("repetition").is_in(wanted))
    passed = pl.col("outcome") == "passed"
    seen = rows.group_by("uid").agg(
        domain=pl.col("domain").first(),
        tags=pl.col("tags").first(),
        passed=(pl.col("counted") & passed).sum().cast(pl.Int64),
        clean=pl.col("counted").sum().cast(pl.Int64),
        keys=pl.col("repetition").n_unique().cast(pl.Int64),
        system_errors=(pl.col("outcome") == "system_error").sum().cast(pl.Int64),
        tries=pl.len().cast(pl.Int64),
        stopped=pl.col("stopped").any(),
    )
    counts = ("passed", "clean", "keys", "system_errors", "tries")
    return (
        told.join(seen, on="uid", how="left")
        .with_columns(pl.col(*counts).fill_null(0), pl.col("stopped").fill_null(value=False))
        .select(
            "uid",
            domain=pl.coalesce("domain", "told_domain", pl.lit(NO_DOMAIN)),
            tags=pl.coalesce("tags", "told_tags", pl.lit([], dtype=pl.List(pl.String))),
            passed="passed",
            clean="clean",
            errors=pl.col("keys") - pl.col("clean"),
            missing=due - pl.col("keys"),
            system_errors="system_errors",
            tries="tries",
            stopped="stopped",
        )
        .sort("uid")
    )


def read_results(
    paths: Sequence[str],
    *,
    kind: str | None = None,
    fields: Mapping[str, str] | None = None,
    expected: Expected | None = None,
    counts: bool = False,
) -> Results:
    """Read the tries of one policy.

    Args:
        paths: Files, folders of runs, or globs.
        kind: Name of the reader (:data:`outcomebox.eval.reading.KINDS`); found from the files by
            default.
        fields: Column of ours -> dotted field of theirs, for kinds whose fields can be chosen.
        expected: The keys that are due; by default what the files tell of their run, else what the
            rows show.

        counts: Read of our own rows their index alone, where counts are wanted and nothing that
            only a transcript tells.

    Raises:
        InputError: naming file, line, field and value, if nothing is there or something in it
            cannot be used: no such row ever becomes a number.
    """
    from outcomebox.eval.reading import read  # noqa: PLC0415 -- readers build on this module

    return read(paths, kind=kind, fields=fields or {}, expected=expected, counts=counts)
