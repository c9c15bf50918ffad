"""Do system errors go with something? An audit of what the missing verdicts may hide.

System errors enter no rate. That is fair as long as they strike at random: where they go with a
task, a domain, a tool, an hour or with how hard a task is, the clean runs are a biased sample. The
audit looks at the *first try* of every attempt, of which there are equally many whether or not
tries break (retries are there because a try broke, so all tries would be no fair base), and asks
how often chance alone would spread the same number of errors as unevenly.

Under the null hypothesis errors are dealt to first tries at random, so their numbers by group
follow the multivariate hypergeometric law given all totals. Its tails are taken exactly where that
is cheap and by seeded draws elsewhere (p = (1 + as extreme) / (1 + draws), which is never 0). All
p-values are corrected for the number of questions by Holm's method ("A simple sequentially
rejective multiple test procedure", 1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from outcomebox.selection.chance import Ints, groups_p, holm
from outcomebox.selection.tries import Tries

ALPHA = 0.05
FEWEST = 5
"""Errors below which no question is asked: no answer could be significant."""
_SLICES = 10
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Level:
    """One domain, task, tool or stretch of time.

    Attributes:
        name: which.
        errors: first tries (or calls) that broke.
        of: first tries (or calls).
        p: how likely chance gives so many or more; corrected for the levels looked at.
    """

    name: str
    errors: int
    of: int
    p: float

    @property
    def words(self) -> str:
        """For a sentence."""
        return f"{self.name} {self.errors} of {self.of} ({self.errors / self.of:.1%})"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question.

    Attributes:
        factor: `domain`, `task`, `time`, `tool`, `pass rate` or `outcome`.
        p: how likely chance alone is as uneven.
        method: how `p` was computed.
        levels: the most striking groups first; none where there are no groups.
        told: the figures in words, where they are not groups.
        unit: what is counted.
        errors: how many of them broke.
        of: how many there are.
        p_corrected: `p` corrected for all questions.
    """

    factor: str
    p: float
    method: str
    levels: tuple[Level, ...] = ()
    told: str = ""
    unit: str = "first tries"
    errors: int = 0
    of: int = 0
    p_corrected: float = 1.0

    @property
    def warns(self) -> bool:
        """Whether errors go with the factor."""
        return self.p_corrected < ALPHA

    @property
    def words(self) -> str:
        """The warning."""
        what = {"outcome": "Outcomes differ after a system error", "pass rate": _HARD}
        head = what.get(self.factor, f"System errors go with the {self.factor}")
        return f"{head} ({_p(self.p_corrected)}): {self.told or self._uneven()}."

    def _uneven(self) -> str:
        """The groups that stand out, and the rest."""
        shown = [level for level in self.levels if level.p < ALPHA] or list(self.levels[:2])
        errors, of = self.errors - sum(o.errors for o in shown), self.of - sum(o.of for o in shown)
        rest = f"; the rest {errors} of {of} ({errors / of:.1%})" if of else ""
        return f"{', '.join(level.words for level in shown)}{rest} {self.unit}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "factor": self.factor,
            "p": round(self.p, 6),
            "p_corrected": round(self.p_corrected, 6),
            "warns": self.warns,
            "method": self.method,
            "unit": self.unit,
            "told": self.told or None,
            "levels": [
                {"name": one.name, "errors": one.errors, "of": one.of, "p": round(one.p, 6)}
                for one in self.levels
            ],
        }


_HARD = "System errors go with how often a task is solved"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def levels_of(names: Sequence[str], errors: Ints, sizes: Ints) -> tuple[Level, ...]:
    """The groups with more errors than chance gives, most striking first, at most five."""
    all_errors, everything = int(errors.sum()), int(sizes.sum())
    # Imported where it is needed: it takes longer than reading a hundred thousand rows.
    from scipy import stats  # noqa: PLC0415

    tails = stats.hypergeom.sf(errors - 1, everything, all_errors, sizes).tolist()
    found = [
        Level(name, int(e), int(n), p)
        for name, e, n, p in zip(names, errors, sizes, holm(tails), strict=True)
    ]
    order = sorted(range(len(found)), key=lambda i: (tails[i], found[i].name))
    return tuple(found[i] for i in order[:_SHOWN])


def _by(first: pl.DataFrame, column: str) -> tuple[list[str], Ints, Ints]:
    grouped = first.group_by(column).agg(e=pl.col("broke").sum(), n=pl.len()).sort(column)
    return (
        [str(name) for name in grouped[column]],
        grouped["e"].to_numpy().astype(np.int64),
        grouped["n"].to_numpy().astype(np.int64),
    )


def ask(tries: Tries, seed: int) -> tuple[Finding, ...]:
    """Asks every question that the tries can answer.

    Args:
        tries: all tries.
        seed: of the draws.

    Returns:
        The findings, p-values corrected; none where fewer than `FEWEST` first tries broke.
    """
    rng = np.random.default_rng(seed)
    first = first_tries(tries)
    if int(first["broke"].sum()) < FEWEST:
        return ()
    findings = [
        *_domain(first, rng),
        *_task(tries, first, rng),
        *_time(first, rng),
        *_tool(tries, rng),
        *_retried(tries),
    ]
    corrected = holm([finding.p for finding in findings])
    return tuple(
        replace(finding, p_corrected=p) for finding, p in zip(findings, corrected, strict=True)
    )


def first_tries(tries: Tries) -> pl.DataFrame:
    """The first try of each attempt, with `broke`."""
    rows = tries.rows.sort("uid", "repetition", "try")
    first = rows.group_by("uid", "repetition", maintain_order=True).first()
    return first.with_columns(broke=pl.col("outcome") == "system_error")


_DRAWN = "permutation"


def _uneven(
    factor: str,
    p: float,
    names: Sequence[str],
    errors: Ints,
    sizes: Ints,
    *,
    unit: str = "first tries",
    method: str = _DRAWN,
) -> Finding:
    levels = levels_of(names, errors, sizes)
    return Finding(
        factor, p, method, levels, unit=unit, errors=int(errors.sum()), of=int(sizes.sum())
    )


def _domain(first: pl.DataFrame, rng: np.random.Generator) -> list[Finding]:
    names, errors, sizes = _by(first, "domain")
    if len(names) < 2:
        return []
    p, _ = groups_p(errors, sizes, np.zeros(len(names), np.int64), rng)
    return [_uneven("domain", p, names, errors, sizes)]


def _task(tries: Tries, first: pl.DataFrame, rng: np.random.Generator) -> list[Finding]:
    """Tasks within their domain, and whether errors go with how often they are solved."""
    names, errors, sizes = _by(first, "uid")
    domains = dict(first.select("uid", "domain").unique("uid").iter_rows())
    numbers = {domain: i for i, domain in enumerate(sorted(set(domains.values())))}
    strata = np.asarray([numbers[domains[name]] for name in names])
    rates = dict(
        tries.rows.filter(pl.col("outcome") != "system_error")
        .group_by("uid")
        .agg(((pl.col("outcome") == "passed").sum() + 0.5) / (pl.len() + 1))
        .iter_rows()
    )
    known = np.asarray([name in rates for name in names])
    score = np.asarray([rates.get(name, np.nan) for name in names])
    found = []
    if len(names) > len(numbers):
        p, _ = groups_p(errors, sizes, strata, rng)
        found.append(_uneven("task", p, names, errors, sizes, method=f"{_DRAWN}, within domains"))
    if known.sum() > len(numbers) and errors[known].sum():
        _, p_score = groups_p(errors[known], sizes[known], strata[known], rng, score[known])
        struck = float(errors[known] @ score[known] / errors[known].sum())
        usual = float(sizes[known] @ score[known] / sizes[known].sum())
        told = f"mean pass rate {struck:.2f} where a first try broke, {usual:.2f} over all"
        found.append(Finding("pass rate", p_score or 1.0, f"{_DRAWN}, within domains", told=told))
    return found


def _time(first: pl.DataFrame, rng: np.random.Generator) -> list[Finding]:
    known = first.filter(pl.col("started").is_not_null()).sort("started", "uid", "repetition")
    if known.height < 2 * _SLICES or known["started"].n_unique() < _SLICES:
        return []
    known = known.with_columns(slice=pl.int_range(pl.len()) * _SLICES // pl.len())
    # Tasks run in order, so a domain has its time: errors are dealt within domains.
    cells = known.group_by("domain", "slice").agg(e=pl.col("broke").sum(), n=pl.len())
    cells = cells.sort("domain", "slice")
    p, _ = groups_p(
        cells["e"].to_numpy().astype(np.int64),
        cells["n"].to_numpy().astype(np.int64),
        cells["domain"].rank("dense").to_numpy().astype(np.int64),
        rng,
    )
    _, errors, sizes = _by(known, "slice")
    names = [f"tenth {i + 1} of the run" for i in range(_SLICES)]
    return [_uneven("time", p, names, errors, sizes, method=f"{_DRAWN}, within domains")]


def _tool(tries: Tries, rng: np.random.Generator) -> list[Finding]:
    names = sorted(tries.calls)
    errors = np.asarray([tries.broken.get(name, 0) for name in names], np.int64)
    if len(names) < 2 or not errors.sum():
        return []
    sizes = np.asarray([tries.calls[name] for name in names], np.int64)
    p, _ = groups_p(errors, sizes, np.zeros(len(names), np.int64), rng)
    return [_uneven("tool", p, names, errors, sizes, unit="calls")]


def _retried(tries: Tries) -> list[Finding]:
    """Whether attempts that broke first end otherwise than the others at the same task, exactly."""
    attempts = (
        tries.rows.sort("uid", "repetition", "try")
        .group_by("uid", "repetition", maintain_order=True)
        .agg(
            retried=pl.col("outcome").first() == "system_error",
            last=pl.col("outcome").filter(pl.col("outcome") != "system_error").last(),
        )
        .drop_nulls("last")
        .with_columns(passed=pl.col("last") == "passed")
    )
    counts = (
        attempts.group_by("uid")
        .agg(
            n=pl.len(),
            m=pl.col("retried").sum(),
            k=pl.col("passed").sum(),
            x=(pl.col("passed") & pl.col("retried")).sum(),
        )
        .filter((pl.col("m") > 0) & (pl.col("m") < pl.col("n")))
        .sort("uid")
    )
    if counts.is_empty():
        return []
    from scipy import stats  # noqa: PLC0415 -- as above

    law = np.ones(1)
    for n, m, k in counts.select("n", "m", "k").iter_rows():
        law = np.convolve(law, stats.hypergeom.pmf(np.arange(m + 1), n, k, m))
    seen = int(counts["x"].sum())
    p = min(1.0, float(law[law <= law[seen] * (1 + 1e-7)].sum()))
    retried, others = int(counts["m"].sum()), int((counts["n"] - counts["m"]).sum())
    passed = int((counts["k"] - counts["x"]).sum())
    told = (
        f"{seen} of {retried} attempts passed that broke first, {passed} of {others} others at the "
        "same tasks"
    )
    return [Finding("outcome", p, "exact, within tasks", told=told, unit="attempts")]


def audit(tries: Tries | None, seed: int) -> dict[str, Any] | None:
    """The audit as plain JSON values.

    Args:
        tries: all tries; None where the rows do not tell of them.
        seed: of the draws.

    Returns:
        Counts, findings and warnings; None where nothing is known.
    """
    if tries is None:
        return None
    first = first_tries(tries)
    findings = ask(tries, seed)
    phases: Mapping[str, int] = dict(
        tries.rows.drop_nulls("phase").group_by("phase").len().sort("phase").iter_rows()
    )
    return {
        "tries": tries.rows.height,
        "broken_tries": int((tries.rows["outcome"] == "system_error").sum()),
        "first_tries": first.height,
        "broken_first_tries": int(first["broke"].sum()),
        "phases": phases,
        "questions": [finding.to_json() for finding in findings],
        "warnings": [finding.words for finding in findings if finding.warns],
        "seed": seed,
    }
