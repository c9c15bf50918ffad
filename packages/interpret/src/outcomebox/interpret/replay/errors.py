"""What a person gave that cannot be used."""

from pathlib import Path


class ReplayError(ValueError):
    """Something given to the replay cannot be used as it is.

    Args:
        message: What is wrong and how to mend it.
        file: Where it stands.
        line: Its line, from 1.
        field: The dotted field or the flag.
        value: The offending value; shown shortened.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> None:
        place = str(file) if file is not None else ""
        if place and line is not None:
            place = f"{place}:{line}"
        shown = "" if value is None else f" (found {shorten(repr(value))})"
        super().__init__(": ".join([*filter(None, (place, field)), f"{message}{shown}"]))
        self.file = file
        self.line = line
        self.field = field
        self.value = value


def shorten(text: str, limit: int = 80) -> str:
    """Return the text, its end replaced by `...` where it is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
