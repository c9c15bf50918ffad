"""`outcomebox-eval`: benchmark runs, figures of them, comparisons and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

EXAMPLES = """\
Each command has its own --help, --json and examples. RESULTS is a run's folder, its episodes.jsonl,
or a file of another system (docs/results.md).

Exit status: 0 done; 1 figures are not final, or there are differences that the command says; 2 bad
input; 130 interrupted.
"""


class _Command(NamedTuple):
    """A command and its examples."""

    run: Callable[..., None]
    examples: str


def _bench() -> _Command:
    from outcomebox.eval import bench_command as module  # noqa: PLC0415 -- only when it is wanted

    return _Command(module.bench, module.EXAMPLES)


def _report() -> _Command:
    from outcomebox.eval.commands import report as module  # noqa: PLC0415 -- only when wanted

    return _Command(module.report, module.EXAMPLES)


def _compare() -> _Command:
    from outcomebox.eval.commands import compare as module  # noqa: PLC0415 -- only when wanted

    return _Command(module.compare, module.EXAMPLES)


def _results() -> _Command:
    from outcomebox.eval.commands import results as module  # noqa: PLC0415 -- only when wanted

    return _Command(module.results, module.EXAMPLES)


COMMANDS: Mapping[str, Callable[[], _Command]] = {
    "bench": _bench,
    "report": _report,
    "compare": _compare,
    "results": _results,
}
"""Each is imported when it is asked for: what runs episodes is slow to load."""


class Commands(TyperGroup):
    """The commands, none of them loaded before it is wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of their use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = COMMANDS[cmd_name]()
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name, epilog=command.examples)(command.run)
        return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Benchmark runs of database agents: honest figures, comparisons, reports.",
    epilog=EXAMPLES,
)


@app.callback()
def _program() -> None:
    """Benchmark runs of database agents: honest figures, comparisons, reports."""


def main() -> None:
    """Runs the program."""
    app(prog_name="outcomebox-eval")


if __name__ == "__main__":
    main()
