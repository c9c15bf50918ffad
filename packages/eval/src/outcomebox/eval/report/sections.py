"""The page from top to bottom: what is final, the headline figures, pictures, tables, tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.report.contents import Part
from outcomebox.eval.report.html import Headline, banner, headlines, plots, table
from outcomebox.eval.report.numbers import interval, shown
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.taskrows import tasks_table
from outcomebox.reward.pages.parts import text

_NARROW = 4
"""Columns up to which tables stand side by side."""


def sections(
    title: str,
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    parts: Sequence[Part],
    *,
    digits: int,
) -> Iterator[str]:
    """The page's body, part by part.

    Args:
        title: Its heading.
        runs: The runs; at least one.
        comparisons: What is compared.
        parts: Tables and pictures under their headings.
        digits: Decimals of shares.
    """
    yield '<a class="skip" href="#main">To the figures</a>\n<header>'
    yield f"<h1>{text(title)}</h1>"
    yield f'<p class="dim">{text(sentence(runs))}</p>'
    for run in runs:
        yield from _state(run, named=len(runs) > 1)
    yield _contents(runs, comparisons)
    yield '</header>\n<main id="main">'
    if len(runs) == 1:
        yield headlines(headline_figures(runs[0], digits=digits))
    for part in parts:
        if part.kind == "together":
            yield from _together(part)
        elif part.kind == "comparison":
            yield from _comparison(comparisons[part.place], part)
        else:
            yield from _run(runs[part.place], part, alone=len(runs) == 1, digits=digits)
    yield "</main>"
    yield _method(runs)
    yield '<dialog id="attempt"><div id="attempt-head"></div><div id="attempt-body"></div></dialog>'


def sentence(runs: Sequence[Run]) -> str:
    """What was run, in a sentence."""
    parts = []
    for run in runs:
        group = run.summary.overall
        what = f"{group.tasks:,} tasks, {run.summary.k} attempts each, policy {policy_words(run)}"
        parts.append(what if len(runs) == 1 else f"{run.name}: {what}")
    return "; ".join(parts) + "."


def policy_words(run: Run) -> str:
    """A run's policy in a few words; a simulated one is always called so."""
    policy = json.loads(run.summary.policy) if run.summary.policy else None
    if not isinstance(policy, dict):
        return "not told" if policy is None else str(policy)
    name = str(policy.get("model") or policy.get("name") or "not named")
    return f"{name} (simulated: no model was asked)" if policy.get("simulated") is True else name


def headline_figures(run: Run, *, digits: int) -> Iterator[Headline]:
    """The figures that stand first."""
    summary = run.summary
    group, level = summary.overall, f"{100 * summary.level:g} %"
    rate = group.pass_1
    yield Headline(
        shown(rate.value, "share", digits=digits),
        "pass@1",
        [
            f"{ends} ({level}, {found.estimand})"
            for found in (rate.population, rate.these_tasks)
            if (ends := interval(found.low, found.high, "share", digits=digits))
        ]
        + ([rate.population.note] if rate.population.note else [])
        + (
            [f"with what is missing: {interval(rate.lowest, rate.highest, 'share', digits=digits)}"]
            if not summary.final and rate.lowest is not None and rate.lowest != rate.highest
            else []
        ),
    )
    for found, what in (
        (group.dependable, f"passed every time, {summary.k}/{summary.k}"),
        (group.any, f"passed at least once in {summary.k}"),
    ):
        share = found.share if found.share.value is not None else found.share_defined
        yield Headline(
            shown(share.value, "share", digits=digits),
            what,
            [
                f"{shown(found.count, 'count')} of {group.tasks:,} tasks"
                + (f", {found.undecided} undecided" if found.undecided else ""),
                f"{interval(share.low, share.high, 'share', digits=digits)} ({level}, {share.estimand})"
                if share.low is not None
                else "",
            ],
        )
    yield Headline(
        shown(group.retention.value, "ratio", digits=digits),
        "retention",
        [
            f"{interval(group.retention.low, group.retention.high, 'ratio', digits=digits)} ({level})"
            if group.retention.low is not None
            else "",
            f"share of {summary.k}/{summary.k} tasks / pass@1",
        ],
    )
    rerun = group.repeat.rerun
    yield Headline(
        shown(rerun.value, "number"),
        f"tasks at {summary.k}/{summary.k} in a rerun",
        [
            f"{interval(rerun.low, rerun.high, 'count')} ({level}), expected"
            if rerun.low is not None
            else "expected"
        ],
    )
    silent = group.failures.silent
    yield Headline(
        shown(silent.share.value, "share", digits=digits),
        "silent failures",
        [
            f"{silent.count:,} of {silent.share.n:,} failed attempts"
            if silent.share.n
            else "not told by the source"
        ],
    )
    if summary.cost.basis is not None:
        cost = group.cost
        for found_cost, what in (
            (cost.per_success, "cost a success"),
            (cost.per_dependable, f"cost a {summary.k}/{summary.k} task"),
        ):
            yield Headline(
                shown(found_cost.value, "money"),
                what,
                [
                    interval(found_cost.low, found_cost.high, "money"),
                    found_cost.note or summary.cost.basis,
                ],
            )


def _state(run: Run, *, named: bool) -> Iterator[str]:
    """Whether a run's figures are final, and what else has to be known before reading them."""
    summary = run.summary
    lines = list(summary.completeness.words())
    prefix = f"{run.name}: " if named else ""
    lines[0] = prefix + lines[0]
    yield banner(lines, "done" if summary.final else "open")
    if "(simulated" in policy_words(run):
        yield banner([f"{prefix}The policy is simulated: no model was asked."], "note")
    if summary.notes:
        yield banner([f"{prefix}Notes", *summary.notes], "note")


def _contents(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    links = []
    if len(runs) > 1:
        links += [("runs", "Runs"), *((f"run-{place}", run.name) for place, run in enumerate(runs))]
    else:
        links += [("run-0", "Tables"), ("tasks-of-0", "Tasks")]
    links += [
        (f"comparison-{place}", f"{found.new.name} against {found.base.name}")
        for place, found in enumerate(comparisons)
    ]
    links.append(("method", "Method"))
    return (
        "<nav>"
        + "".join(f'<a href="#{place}">{text(words)}</a>' for place, words in links)
        + "</nav>"
    )


def _together(part: Part) -> Iterator[str]:
    tables = {each.name: table(each, each.name, 2) for each in part.tables}
    cost = tables.pop("cost", "")
    yield from tables.values()
    yield plots(part.pictures)
    yield cost


def _comparison(found: Comparison, part: Part) -> Iterator[str]:
    yield f'<h2 id="{part.name}">{text(part.title)}</h2>'
    kind = "open" if not found.final else "done" if found.pass_1.finding == "better" else "note"
    yield banner(["Verdict", found.verdict], kind)
    for note in found.notes:
        yield f'<p class="dim">{text(note)}</p>'
    yield plots(part.pictures)
    for each in part.tables:
        yield table(each, f"{part.name}-{each.name}")


def _run(run: Run, part: Part, *, alone: bool, digits: int) -> Iterator[str]:
    yield f'<h2 id="{part.name}">{text(part.title)}</h2>'
    if not alone:
        yield headlines(headline_figures(run, digits=digits))
    yield plots(part.pictures)
    wide = [each for each in part.tables if len(each.columns) > _NARROW]
    narrow = [each for each in part.tables if len(each.columns) <= _NARROW]
    yield from (table(each, f"{each.name}-{part.place}") for each in wide)
    drawn = "".join(table(each, f"{each.name}-{part.place}") for each in narrow)
    yield f'<div class="side">{drawn}</div>'
    yield f'<h2 id="tasks-of-{part.place}">Tasks{"" if alone else f" of {text(run.name)}"}</h2>'
    yield (
        '<p class="dim">The interval of a rate is that of this one task. A square is an attempt; '
        "open it to read its transcript. Deeper red: a silent failure.</p>"
    )
    yield tasks_table(run, part.place, digits=digits)


def _method(runs: Sequence[Run]) -> str:
    first = runs[0].summary
    lines = [
        "A system error is no verdict: it stands in no denominator. The last clean try of an "
        "attempt counts, not the best. What is not defined is a dash, never 0.",
        "“These tasks”: the same tasks again, only the luck of the attempts varies. “Population of "
        "tasks”: other tasks of the same kind, so the choice of tasks varies as well.",
        f"Bootstrap: seed {first.seed}, {first.resamples:,} resamples, level {100 * first.level:g} %.",
    ]
    sources = "".join(
        f"<li>{text(run.name)}: {text(source.path)}, {source.rows:,} rows ({text(source.kind)}), "
        f"SHA-256 <code>{text(source.sha256)}</code></li>"
        for run in runs
        for source in run.summary.source
    )
    prices = next((run.summary.cost for run in runs if run.summary.cost.prices_sha256), None)
    if prices is not None:
        sources += (
            f"<li>prices: {text(prices.basis or '')}, SHA-256 "
            f"<code>{text(prices.prices_sha256 or '')}</code></li>"
        )
    return (
        '<footer id="method"><h2>Method</h2>'
        + "".join(f"<p>{text(line)}</p>" for line in lines)
        + f"<ul>{sources}</ul></footer>"
    )
