"""`outcomebox-rollout`: run episodes, look at them, and keep what they found."""

from __future__ import annotations

import typer

from outcomebox.rollout.commands import digest, export, html, merge, run, show, stand_in, verify

EXAMPLES = """\
Each command has its own --help, --json and examples. RUN is a run's folder or its episodes.jsonl.

Exit status: 0 done; 1 attempts left without a verdict, or faults found; 2 bad input; 130
interrupted.
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Run episodes, look at them, and keep what they found.",
    epilog=EXAMPLES,
)
app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("show", epilog=show.EXAMPLES)(show.show)
app.command("html", epilog=html.EXAMPLES)(html.html)
app.command("export", epilog=export.EXAMPLES)(export.export)
app.command("merge", epilog=merge.EXAMPLES)(merge.merge)
app.command("verify", epilog=verify.EXAMPLES)(verify.verify)
app.command("stand-in", epilog=stand_in.EXAMPLES)(stand_in.stand_in)
app.command("digest", epilog=digest.EXAMPLES)(digest.digest)


@app.callback()
def _program() -> None:
    """Run episodes, look at them, and keep what they found."""


def main() -> None:
    """Runs the program."""
    app(prog_name="outcomebox-rollout")


if __name__ == "__main__":
    main()
