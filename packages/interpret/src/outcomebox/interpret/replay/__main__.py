"""`outcomebox-parity`, or `python -m outcomebox.interpret.replay`."""

import sys


def main() -> None:
    """Runs the command; tells what to install where the extra is missing."""
    try:
        from outcomebox.interpret.replay.command import main as run  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in {"rich", "typer"}:
            raise
        sys.exit(f"{missing} is missing; pip install 'outcomebox-interpret[replay]'")
    run()


if __name__ == "__main__":
    main()
