"""`outcomebox-train`: from a pool to a trained model that is served."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

EXAMPLES = """\
A first argument that is an option means `run`: outcomebox-train --config run.yaml --dry-run.
Each command has its own --help, --json and examples.

Exit status: 0 done; 1 training ended before its last step, or a checkpoint has faults; 2 bad input;
130 interrupted.
"""
_HELP = "Train on a selected pool with the terminal-state verdict as reward."
_CHECKPOINT_HELP = "Look at what verl saved, and make a model of it."
_MODULES = "outcomebox.train.commands"


class _Lazy(TyperGroup):
    """Commands that are loaded when they are wanted, in the order of their use."""

    named: ClassVar[Mapping[str, str]] = {}
    """Name -> ``module:function`` below ``commands``; the module has ``EXAMPLES`` too."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        del ctx
        return [*self.named, *self.commands]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if there is none."""
        if cmd_name not in self.named:
            return super().get_command(ctx, cmd_name)
        name, _, function = self.named[cmd_name].partition(":")
        module = import_module(f"{_MODULES}.{name}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name, epilog=module.EXAMPLES)(getattr(module, function))
        return typer.main.get_command(alone)


class _Commands(_Lazy):
    named: ClassVar[Mapping[str, str]] = {
        "presets": "presets:presets",
        "fetch-verl": "fetch:fetch",
        "run": "run:run",
        "ray-start": "ray_start:ray_start",
        "serve": "serve:serve",
    }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` before a first argument that is an option."""
        if args and args[0].startswith("-") and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


class _Checkpoint(_Lazy):
    named: ClassVar[Mapping[str, str]] = {
        "verify": "verify:verify_command",
        "merge": "merge:merge",
    }


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help=_HELP,
    epilog=EXAMPLES,
)
checkpoint = typer.Typer(
    cls=_Checkpoint,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help=_CHECKPOINT_HELP,
)


@app.callback()
def _program() -> None:
    """Train on a selected pool with the terminal-state verdict as reward."""


@checkpoint.callback()
def _checkpoint_program() -> None:
    """Look at what verl saved, and make a model of it."""


app.add_typer(checkpoint, name="checkpoint")


def main() -> None:
    """Runs the program."""
    app(prog_name="outcomebox-train")


if __name__ == "__main__":
    main()
