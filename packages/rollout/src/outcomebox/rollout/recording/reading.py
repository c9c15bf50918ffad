"""A recording: the exchanges of a run, found by try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import Row, unseal
from outcomebox.rollout.recording.requests import (
    Piece,
    ReplayError,
    Requests,
    difference,
    pieces_of,
)
from outcomebox.rollout.storing.groups import Key, groups
from outcomebox.sandbox import InputError

_MEND = "replay with the tasks, the settings and the versions that the run was recorded with"


class Recording:
    """The exchanges of a run in a file, of which those of one try at a time are held.

    Args:
        path: The file.

    Attributes:
        path: The file.
        actors: Who took part, the same in all tries.

    Raises:
        InputError: It cannot be read, is damaged or empty, or is of several runs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[Key, tuple[int, int]] = {}
        actors: Mapping[str, Any] | None = None
        for group in groups(path):
            # A try that is there twice was made again by a run that had been killed.
            self._places[group.key] = (group.start, group.end)
            found = {name: group.closing[name] for name in ("policy", "user", "judge")}
            if actors is not None and found != actors:
                name = next(name for name in found if found[name] != actors[name])
                raise InputError(
                    f"line {group.line} has another {name} than the tries before it; a recording "
                    "is of one run",
                    file=path,
                )
            actors = found
        if actors is None:
            raise InputError("holds no exchange, so there is nothing to replay", file=path)
        self.actors = actors

    def exchanges_of(self, uid: str, repetition: int, attempt: int) -> TryExchanges:
        """The exchanges of a try.

        Raises:
            ReplayError: The recording has no such try.
        """
        place = self._places.get((uid, repetition, attempt))
        if place is None:
            raise ReplayError(
                f"repetition {repetition} try {attempt} is not in the recording; {_MEND}",
                file=self.path,
                task=uid,
            )
        start, end = place
        with self.path.open("rb") as file:
            file.seek(start)
            lines = file.read(end - start).splitlines(keepends=True)
        return TryExchanges(self.path, [unseal(line) for line in lines])


class TryExchanges:
    """The recorded exchanges of one try, which answer its requests.

    Args:
        path: Where they are from.
        exchanges: They, with the one that ends them.

    Attributes:
        row: The row of a try that infrastructure broke; None where models can replay it.
    """

    def __init__(self, path: Path, exchanges: Sequence[Mapping[str, Any]]) -> None:
        self._path = path
        self._closing = exchanges[-1]
        self.row: Row | None = self._closing["row"]
        self._of: dict[str, list[Mapping[str, Any]]] = {}
        for each in exchanges[:-1]:
            self._of.setdefault(each["role"], []).append(each)
        self._asked: Counter[str] = Counter()
        self._requests: dict[str, Requests] = {}
        self._recorded: dict[str, list[Piece]] = {}
        self._now: dict[str, list[Piece]] = {}
        self._used: set[int] = set()

    def answer(self, role: str, request: Sequence[tuple[str, object]]) -> Mapping[str, Any]:
        """The exchange of the next request.

        Raises:
            ReplayError: It is not the one that was recorded.
        """
        n = self._asked[role]
        self._asked[role] += 1
        if role == "judge":
            return self._judged(request, n)
        known = self._of.get(role, [])
        if n >= len(known):
            raise self._error(role, n, f"the recording ends after {len(known)}")
        sketch = self._requests.setdefault(role, Requests()).sketch(request)
        exchange = known[n]
        recorded = self._recorded[role] = pieces_of(self._recorded.get(role, ()), exchange)
        now = self._now[role] = [*self._now.get(role, ())[: sketch.same], *sketch.new]
        if sketch.sha256 != exchange["request"]:
            raise self._error(role, n, difference(recorded, now))
        return exchange

    def close(self, row: Row) -> None:
        """See that the policy was asked all that was recorded.

        Of user and judge that need not be: they may be others than then.

        Raises:
            ReplayError: It ended before.
        """
        asked, known = self._asked["policy"], len(self._of.get("policy", ()))
        if self.row is None and asked < known:
            raise ReplayError(
                f"repetition {row['repetition']} try {row['try']} ended after {asked} requests to "
                f"the policy, where {known} were recorded (finish_reason "
                f"{row['finish_reason']!r}, error {row['error']!r}); {_MEND}",
                file=self._path,
                task=row["uid"],
            )

    def _judged(self, request: Sequence[tuple[str, object]], n: int) -> Mapping[str, Any]:
        """Questions come in any order: each finds its own answer."""
        sketch = Requests().sketch(request)
        known = self._of.get("judge", [])
        for each in known:
            if each["request"] == sketch.sha256 and each["n"] not in self._used:
                self._used.add(each["n"])
                return each
        left = [each for each in known if each["n"] not in self._used]
        if not left:
            raise self._error("judge", n, f"the recording ends after {len(known)}")
        near = max(left, key=lambda each: _alike(pieces_of((), each), sketch.new))
        raise self._error("judge", n, difference(pieces_of((), near), sketch.new))

    def _error(self, role: str, n: int, what: str) -> ReplayError:
        closing = self._closing
        return ReplayError(
            f"repetition {closing['repetition']} try {closing['try']}: request {n} to the {role} "
            f"is not the recorded one: {what}; {_MEND}",
            file=self._path,
            task=closing["uid"],
        )


def _alike(recorded: Sequence[Piece], asked: Sequence[Piece]) -> int:
    return sum(then == now for then, now in zip(recorded, asked, strict=False))
