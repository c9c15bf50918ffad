"""`outcomebox-reward judge-audit`: ask a judge what people have answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outcomebox.reward.commands.shared import (
    FINDINGS,
    AsJson,
    alone,
    print_json,
    progress,
    reported,
    stderr,
    stdout,
)
from outcomebox.reward.judging.audit import Audit, Labelled, audit, read_labelled
from outcomebox.reward.judging.rubric import ModelJudge, model_judge
from outcomebox.reward.judging.settings import judge_settings
from outcomebox.sandbox import InputError

EXAMPLES = """\
Examples:

  outcomebox-reward judge-audit labelled.jsonl --judge-option base_url=http://127.0.0.1:8000/v1
      --judge-option model=judge
      how often does the judge say what people said?

  outcomebox-reward judge-audit labelled.jsonl --judge-option votes=5 --judge-option temperature=1
      --judge-option base_url=... --judge-option model=judge --judge-cache votes.sqlite
      and how often does it agree with itself?

A line of the file: {"question": "Is it polite?", "text": "Dear customer ...", "answer": "yes"}

Exit status: 0 at least --least of the examples are right; 1 fewer, or some have no answer; 2 bad
input; 130 interrupted.
"""


def judge_audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled examples, JSON lines.")],
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of the judge: base_url, model, votes, seed ..."
        ),
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the judge's votes there, and use them."),
    ] = None,
    least: Annotated[
        float, typer.Option(metavar="SHARE", help="Accuracy below which it fails.", min=0, max=1)
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Measure how far a judge can be trusted, on questions that people have answered."""
    console = stderr()
    with reported(console, interrupted="Interrupted. Votes in --judge-cache are kept."):
        examples = read_labelled(file)
        judge = model_judge(judge_settings(_options(judge_option)), judge_cache)
        report = anyio.run(_run, judge, examples, console).to_json()
    if as_json:
        print_json(report)
    else:
        _show(report, stdout())
    for each in report["unanswered"][:10]:
        console.print(
            f"  line {each['line']}: {each['error']}", markup=False, soft_wrap=True, style="red"
        )
    if report["errors"] or (report["accuracy"]["value"] or 0.0) < least:
        raise typer.Exit(FINDINGS)


async def _run(judge: ModelJudge, examples: tuple[Labelled, ...], console: Console) -> Audit:
    try:
        await judge.check()
        with progress("judge", console) as tell:
            return await audit(judge, examples, tell)
    finally:
        await judge.aclose()


def _options(given: list[str] | None) -> dict[str, str]:
    found = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals:
            # The whole is not shown: it may be a key.
            raise InputError("write NAME=VALUE", field="judge-option")
        found[name] = value
    return found


def _show(report: dict[str, Any], console: Console) -> None:
    judge = report["judge"]
    table = Table(
        "",
        "right",
        "of",
        "share",
        "95 % interval",
        title=escape(f"Judge {judge['model']}"),
        min_width=60,
    )
    for label, name in (
        ("all", "accuracy"),
        ("where people say yes", "right_where_yes"),
        ("where people say no", "right_where_no"),
    ):
        rate = report[name]
        share = "-" if rate["value"] is None else f"{rate['value']:.1%}"
        table.add_row(
            label,
            str(rate["hits"]),
            str(rate["of"]),
            share,
            f"{rate['low']:.1%}..{rate['high']:.1%}",
        )
    console.print(table)
    consistency = report["self_consistency"]
    if consistency is not None:
        console.print(
            f"{judge['votes']} votes a question: {consistency['agreement']:.1%} agree with the "
            f"majority, all agree on {consistency['unanimous']:.1%} of the questions"
        )
    if report["errors"]:
        console.print(f"{report['errors']} examples have no answer and count nowhere")
    for each in report["wrong"][:10]:
        console.print(
            f"  line {each['line']}: people say {each['answer']}, the judge {each['said']}: "
            f"{each['question'][:100]}",
            markup=False,
            soft_wrap=True,
        )
    if len(report["wrong"]) > 10:
        console.print(f"  ... and {len(report['wrong']) - 10} more (--json has all)")


def main() -> None:
    """Runs the command."""
    alone(judge_audit, "judge-audit", EXAMPLES)


if __name__ == "__main__":
    main()
