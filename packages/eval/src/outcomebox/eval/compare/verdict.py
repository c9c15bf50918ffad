"""The verdict: what the differences carry, and what they do not, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outcomebox.eval.compare.model import Difference, DomainDifference, Paired

_LEAST_P = 1e-4


def verdict(
    names: tuple[str, str],
    *,
    level: float,
    pass_1: Difference,
    these: Difference,
    all_k: Paired | None,
    any_k: Paired | None,
    domains: Sequence[DomainDifference],
    complete: bool,
) -> str:
    """Put a comparison into words.

    Args:
        names: What the base run and the new run are called.
        level: Confidence of the intervals.
        pass_1: The difference of pass@1 for a population of tasks.
        these: The same for these very tasks.
        all_k: Tasks passed in all attempts, if asked.
        any_k: Tasks passed at least once, if asked.
        domains: The rows of the table of differences.
        complete: Nothing is missing on either side.
    """
    told = [*_overall(names, level, pass_1), *_these(names, level, pass_1, these)]
    told += [_asked(names, paired) for paired in (all_k, any_k) if paired is not None]
    told += _by_domain(names, domains)
    if not complete:
        told.append("None of this is final: attempts are missing or have no verdict.")
    return " ".join(told)


def percent(rate: float | None) -> str:
    """A rate, in percent to one digit; a dash for what is not defined."""
    return "-" if rate is None else f"{100 * rate:.1f} %"


def points(difference: float | None) -> str:
    """A difference of rates in percentage points with its sign; a dash for what is not defined."""
    if difference is None:
        return "-"
    # Rounded first, so that a difference of nothing has no sign.
    rounded = round(100 * difference, 1)
    return f"{rounded:+.1f}" if rounded else "0.0"


def p_words(p: float) -> str:
    """A p-value to four digits."""
    return f"p < {_LEAST_P:.4f}" if p < _LEAST_P else f"p = {p:.4f}"


def interval(difference: Difference) -> str:
    """The interval of a difference in points; a dash where there is none."""
    if difference.low is None or difference.high is None:
        return "-"
    return f"{points(difference.low)} to {points(difference.high)}"


def _overall(names: tuple[str, str], level: float, found: Difference) -> Iterator[str]:
    base, new = names
    rates = f"{percent(found.new)} against {percent(found.base)}"
    about = f"{100 * level:g} % interval {interval(found)} for a population of tasks like these"
    if found.finding == "no interval":
        yield f"No verdict on pass@1: {rates}, {found.note or 'no interval'}."
        return
    if found.finding == "not shown":
        told = f"{new} {rates}, {points(found.value)} points ({about})"
        yield f"No difference of pass@1 is shown: {told}."
        if found.smallest is None:
            yield f"Equal they are not shown to be either: {found.note}."
        else:
            yield (
                f"A true difference of {100 * found.smallest:.1f} points would have been seen four "
                "times in five; a smaller one may well be there, so this does not show that the "
                "two are equal."
            )
        return
    yield (
        f"{new} passes {points(found.value).lstrip('+-')} points "
        f"{'more' if found.finding == 'better' else 'less'} often than {base}: {rates} ({about})."
    )
    if found.smallest is None or found.value is None:
        return
    if abs(found.value) < found.smallest:
        yield (
            f"These data are few for that: only a true difference of {100 * found.smallest:.1f} "
            "points would have been seen four times in five, and what few data find tends to be "
            "larger than it is."
        )
    else:
        yield (
            f"A true difference of {100 * found.smallest:.1f} points would have been seen four "
            "times in five."
        )


def _these(
    names: tuple[str, str], level: float, found: Difference, these: Difference
) -> Iterator[str]:
    if found.finding == these.finding or these.finding not in {"better", "worse"}:
        return
    yield (
        f"On these very tasks {names[1]} is {these.finding} ({100 * level:g} % interval "
        f"{interval(these)} points): the attempts leave little doubt of it, but it need not hold "
        "for other tasks."
    )


def _asked(names: tuple[str, str], asked: Paired) -> str:
    what = f"in all {asked.k} attempts" if asked.question == "all" else "at least once"
    part = f" of {asked.n}" if asked.n == asked.of else f" of the {asked.n} (of {asked.of}) asked"
    return (
        f"Tasks passed {what}: {names[1]} {asked.both + asked.new_only}, {names[0]} "
        f"{asked.both + asked.base_only}{part}; {asked.new_only} gained, {asked.base_only} lost "
        f"(exact McNemar {p_words(asked.p)}; two runs of one policy would gain and lose about "
        f"{asked.by_luck:.0f} each)."
    )


def _by_domain(names: tuple[str, str], domains: Sequence[DomainDifference]) -> Iterator[str]:
    """The domains that stand out, where there is more than one."""
    if len(domains) < 2:
        return
    for word in ("better", "worse"):
        found = [row.domain for row in domains if row.pass_1.finding == word]
        if found:
            yield (
                f"Of {len(domains)} domains, each looked at by itself, {names[1]} is {word} in "
                f"{', '.join(found)}."
            )
