"""What a model was asked, as a number and a sketch: enough to say where another request differs.

A request is a list of pieces (a seed, the tools, each message), most of which the request before it
had too. An exchange keeps the SHA-256 of the whole and, of each new piece, its name, a short
digest, its length and its first characters, so that a recording grows with the conversation and not
with its square, and holds no text of any length.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from outcomebox.sandbox import InputError

HEAD = 300
"""Characters of each piece that are kept."""
_AROUND = 30


class ReplayError(InputError):
    """A request that is not the one that was recorded, or one that never was."""


class Piece(NamedTuple):
    """A part of a request.

    Attributes:
        name: Such as ``seed`` or ``messages[3]``.
        digest: Of its canonical JSON.
        length: Characters of that.
        head: The first of them.
    """

    name: str
    digest: str
    length: int
    head: str


class Sketch(NamedTuple):
    """A request as an exchange holds it.

    Attributes:
        sha256: Of all pieces.
        same: How many pieces of the request before stand at its beginning.
        new: The pieces behind them.
    """

    sha256: str
    same: int
    new: tuple[Piece, ...]

    def to_json(self) -> dict[str, Any]:
        """As an exchange has it."""
        return {"request": self.sha256, "same": self.same, "new": [list(each) for each in self.new]}


class Requests:
    """The requests to one model in one try, one after the other."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._made: dict[tuple[str, int], tuple[object, Piece]] = {}

    def sketch(self, request: Iterable[tuple[str, object]]) -> Sketch:
        """The sketch of the next request.

        Args:
            request: Its parts by name, in order.
        """
        pieces = [self._piece(name, value) for name, value in request]
        same = 0
        for old, new in zip(self._pieces, pieces, strict=False):
            if old != new:
                break
            same += 1
        self._pieces = pieces
        return Sketch(_sha256(pieces), same, tuple(pieces[same:]))

    def _piece(self, name: str, value: object) -> Piece:
        # A message once said stays as it is, so it is written down once and not in every request.
        known = self._made.get((name, id(value)))
        if known is None:
            known = self._made[name, id(value)] = (value, _piece(name, value))
        return known[1]


def pieces_of(before: Sequence[Piece], exchange: Mapping[str, Any]) -> list[Piece]:
    """All pieces of a recorded request.

    Args:
        before: Those of the recorded request before it.
        exchange: The exchange.
    """
    return [*before[: exchange["same"]], *(Piece(*each) for each in exchange["new"])]


def difference(recorded: Sequence[Piece], asked: Sequence[Piece]) -> str:
    """The first place where two requests differ, in words."""
    for then, now in zip(recorded, asked, strict=False):
        if then.name != now.name:
            return f"it has {now.name} where the recorded one has {then.name}"
        if then.digest != now.digest:
            return _within(then, now)
    if len(asked) > len(recorded):
        return f"{asked[len(recorded)].name} is more than was recorded"
    return f"{recorded[len(asked)].name} was recorded and is not there now"


def _within(then: Piece, now: Piece) -> str:
    place = next(
        (
            at
            for at, (one, other) in enumerate(zip(then.head, now.head, strict=False))
            if one != other
        ),
        min(len(then.head), len(now.head)),
    )
    if place >= HEAD:
        return (
            f"{now.name} differs somewhere after its first {HEAD} characters (recorded "
            f"{then.length}, now {now.length} characters)"
        )
    start, end = max(0, place - _AROUND), place + _AROUND
    return (
        f"{now.name} differs at character {place + 1}: recorded {then.head[start:end]!r}, now "
        f"{now.head[start:end]!r}"
    )


def _piece(name: str, value: object) -> Piece:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return Piece(name, hashlib.sha256(text.encode()).hexdigest()[:16], len(text), text[:HEAD])


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _sha256(pieces: Sequence[Piece]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(f"{piece.name}\0{piece.digest}\0".encode())
    return total.hexdigest()
