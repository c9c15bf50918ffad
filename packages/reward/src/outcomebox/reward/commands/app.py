"""`outcomebox-reward`: derive, lint, play, regrade and judge-audit in one program."""

from __future__ import annotations

import typer

from outcomebox.reward.commands import derive, judge_audit, lint, play, regrade

EXAMPLES = """\
Examples:

  outcomebox-reward derive shop/tasks/refund.yaml
      proposes the `expect` block of each task

  outcomebox-reward derive shop --check
      does golden pass every check?

  outcomebox-reward lint shop
      would the checks notice a wrong end?

  outcomebox-reward play retail/address-change/over-to-treptow
      one task by hand, with the verdict at the end

  outcomebox-reward regrade runs/my-model
      which verdicts moved since the run?

Each command has its own --help, --json and examples.

Exit status: 0 nothing to mend; 1 findings; 2 bad input; 130 interrupted.
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Write, test and re-apply the checks that turn terminal states into verdicts.",
    epilog=EXAMPLES,
)
app.command("derive", epilog=derive.EXAMPLES)(derive.derive)
app.command("lint", epilog=lint.EXAMPLES)(lint.lint)
app.command("play", epilog=play.EXAMPLES)(play.play)
app.command("regrade", epilog=regrade.EXAMPLES)(regrade.regrade)
app.command("judge-audit", epilog=judge_audit.EXAMPLES)(judge_audit.judge_audit)


@app.callback()
def _program() -> None:
    """Write, test and re-apply the checks that turn terminal states into verdicts."""


def main() -> None:
    """Runs the program."""
    app(prog_name="outcomebox-reward")


if __name__ == "__main__":
    main()
