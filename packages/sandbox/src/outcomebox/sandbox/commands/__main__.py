"""`outcomebox-sandbox`, or `python -m outcomebox.sandbox.commands`."""

import sys


def main() -> None:
    """Runs the program; tells what to install where the extra is missing."""
    try:
        from outcomebox.sandbox.commands.app import main as run  # noqa: PLC0415 -- needs the extra
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing != "typer":
            raise
        sys.exit(f"{missing} is missing; pip install 'outcomebox-sandbox[serve]'")
    run()


if __name__ == "__main__":
    main()
