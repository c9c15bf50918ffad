"""`outcomebox-eval`: benchmark runs, figures of them, comparisons and reports."""

from __future__ import annotations

import typer

from outcomebox.eval.commands import compare, results

EXAMPLES = """\
Each command has its own --help, --json and examples. RESULTS is a run's folder, its episodes.jsonl,
or a file of another system (docs/results.md).

Exit status: 0 done; 1 figures are not final, or there are differences that the command says; 2 bad
input; 130 interrupted.
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Benchmark runs of database agents: honest figures, comparisons, reports.",
    epilog=EXAMPLES,
)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("results", epilog=results.EXAMPLES)(results.results)


@app.callback()
def _program() -> None:
    """Benchmark runs of database agents: honest figures, comparisons, reports."""


def main() -> None:
    """Runs the program."""
    app(prog_name="outcomebox-eval")


if __name__ == "__main__":
    main()
