"""What a check prints, kept up to a bound; and values of its own making, as bounded JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any, TextIO

from outcomebox.reward.thinkingbox.records import Record

MAX_PRINTED = 20_000  # bytes
MAX_METADATA = 100_000  # characters of JSON
MAX_MESSAGE = 8_000  # characters
_MAX_DEPTH = 64


class _Bounded(io.RawIOBase):
    def __init__(self) -> None:
        self.kept = bytearray()
        self.dropped = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with memoryview(data) as view:
            size = view.nbytes
            room = MAX_PRINTED - len(self.kept)
            self.kept += bytes(view[: max(room, 0)])
        self.dropped += max(size - room, 0) if room > 0 else size
        return size


class Printed:
    """Stands in for standard output and error while a check runs."""

    def __init__(self) -> None:
        self._raw = _Bounded()
        self.file: TextIO = io.TextIOWrapper(
            self._raw,  # type: ignore[type-var] # raw will do, nothing is held back
            encoding="utf-8",
            errors="backslashreplace",
            write_through=True,
        )

    def text(self) -> str:
        """What was printed; if it was too much, its beginning and how much was left out."""
        text = self._raw.kept.decode("utf-8", "replace")
        return f"{text}\n[{self._raw.dropped} bytes more]" if self._raw.dropped else text


def shorten(text: str, limit: int = MAX_MESSAGE) -> str:
    """A text of bounded length that every encoding takes."""
    if len(text) > limit:
        text = f"{text[:limit]} [{len(text) - limit} characters more]"
    return text.encode("utf-8", "backslashreplace").decode()


def json_only(values: Any) -> tuple[dict[str, Any], list[str]]:
    """The entries that are JSON and fit, and the names of the others with what is wrong."""
    if not isinstance(values, Mapping):
        return {}, [f"all: a {type(values).__name__} has no entries"]
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    room = MAX_METADATA
    for name, value in [*values.items()]:
        if not isinstance(name, str):
            left_out.append(shorten(f"{name}: not named by text", 200))
            continue
        walk = _Walk(room)
        try:
            kept[walk.json(name)] = walk.json(value)
        except (TypeError, ValueError) as error:
            left_out.append(shorten(f"{name}: {error}", 200))
        else:
            room = walk.room
    return kept, left_out


class _Walk:
    """Copies a value as plain JSON, for as long as there is room.

    Attributes:
        room: Characters of JSON that may still be taken, roughly.
    """

    def __init__(self, room: int) -> None:
        self.room = room

    def json(self, value: Any, depth: int = 0) -> Any:
        """The value as plain JSON.

        Raises:
            TypeError: It is no JSON value.
            ValueError: It is too large, nested too deep, or a number that JSON does not have.
        """
        self._take(2)
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            self._take(value.bit_length() // 3)
            return value
        if isinstance(value, str):
            self._take(len(value))
            return value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError(f"{value} is not JSON")
            self._take(20)
            return value
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise TypeError("an object's names must be text")
            return {self.json(key): self.json(each, depth + 1) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.json(each, depth + 1) for each in value]
        if isinstance(value, Record):
            return self.json(value.model_dump(), depth + 1)
        raise TypeError(f"a {type(value).__name__} is not JSON")

    def _take(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise ValueError("too large")
