"""The page from top to bottom: what is final, the headline figures, pictures, tables, tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.report.contents import Part, Report
from outcomebox.eval.report.headlines import headline_figures, policy_words, sentence
from outcomebox.eval.report.html import banner, headlines, plots, table
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.taskrows import tasks_table
from outcomebox.reward.pages.parts import text

_NARROW = 4
"""Columns up to which tables stand side by side."""


def sections(report: Report) -> Iterator[str]:
    """The body of a report's page, part by part."""
    runs, comparisons, digits = report.runs, report.comparisons, report.digits
    yield '<a class="skip" href="#main">To the figures</a>\n<header>'
    yield f"<h1>{text(report.title)}</h1>"
    yield f'<p class="dim">{text(sentence(runs))}</p>'
    for run in runs:
        yield from _state(run, named=len(runs) > 1)
    yield _contents(runs, comparisons)
    yield '</header>\n<main id="main">'
    if len(runs) == 1:
        yield headlines(headline_figures(runs[0], digits=digits))
    for part in report.parts:
        if part.kind == "together":
            yield from _together(part)
        elif part.kind == "comparison":
            yield from _comparison(comparisons[part.place], part)
        else:
            yield from _run(runs[part.place], part, alone=len(runs) == 1, digits=digits)
    yield "</main>"
    yield _method(runs)
    yield '<dialog id="attempt"><div id="attempt-head"></div><div id="attempt-body"></div></dialog>'


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
    lines = (
        "A system error is no verdict: it stands in no denominator.",
        "The last clean try of an attempt counts, not the best.",
        "What is not defined is a dash, never 0.",
        "“These tasks”: the same tasks again, only the luck of the attempts varies.",
        "“Population of tasks”: other tasks of the same kind; their choice varies as well.",
        f"Bootstrap: seed {first.seed}, {first.resamples:,} resamples, level {first.level:g}.",
    )
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
