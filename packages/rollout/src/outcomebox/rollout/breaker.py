"""A circuit breaker: a run whose endpoint is down waits for it, or stops, and burns no rows.

Closed, all tries are made. After a number of failures in a row at one boundary, with no answer
across it in between, it opens: no try is begun, and the endpoint is asked after growing waits
whether it is back. When it answers, one try is let through (half open); if that gets across the
boundary the breaker closes, if not it waits on. What is left of the run's patience bounds it all.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

import anyio

from outcomebox.rollout.errors import ErrorRecord
from outcomebox.rollout.pace import MODEL_PHASES
from outcomebox.rollout.stage import HISTORY
from outcomebox.sandbox import InputError

WATCHED = (*MODEL_PHASES, "open")
"""The boundaries whose failures in a row mean that something all tasks need is down."""

DEFAULT_FAILURES = 10
DEFAULT_PATIENCE_S = 600.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0

Charged = TypeVar("Charged")


class Clock(Protocol):
    """Time, as the breaker has it."""

    def now(self) -> float:
        """Seconds since whenever."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


@dataclass
class Outage:
    """Something that all tasks need is down.

    Attributes:
        boundary: Which: ``policy``, ``user``, ``judge``, or ``open`` for sessions.
        error: The last failure at it.
        since: The clock's time when it was noticed.
        patience_s: Seconds it is waited for.
        asked: Times it was asked whether it is back.
        answers: Whether it answered when it was last asked.
        wait_s: The wait before it is asked again.
        refused: Whether it was up, and refused every request: no waiting mends that.
    """

    boundary: str
    error: ErrorRecord
    since: float
    patience_s: float
    asked: int = 0
    answers: bool = False
    wait_s: float = 0.0
    refused: bool = False


class Stopped(Exception):
    """The run's patience with an outage is at its end, or would be of no use."""

    def __init__(self, outage: Outage) -> None:
        super().__init__(f"{outage.boundary}: {outage.error.message}")
        self.outage = outage


class Breaker(Generic[Charged]):
    """The breaker of a run.

    Args:
        check: Asks what is behind a boundary whether it answers; raises InputError if not.
        failures: Failures in a row that open it.
        patience_s: Seconds that an outage is waited for.
        clock: Time.
        changed: Called when its state has changed.
        seed: Of the jitter of its waits.

    Attributes:
        outage: What is down; None while the breaker is closed.
        outages: Times it has opened.
    """

    def __init__(
        self,
        check: Callable[[str], Awaitable[None]],
        *,
        failures: int = DEFAULT_FAILURES,
        patience_s: float = DEFAULT_PATIENCE_S,
        clock: Clock | None = None,
        changed: Callable[[], None] = lambda: None,
        seed: int | None = None,
    ) -> None:
        self.outage: Outage | None = None
        self.outages = 0
        self._check = check
        self._failures = failures
        self._patience_s = patience_s
        self._clock = clock or WallClock()
        self._tell = changed
        self._random = random.Random(seed)
        self._streaks: dict[str, list[tuple[Charged, bool]]] = {}
        self._turn = anyio.Event()
        self._wanted = False
        self._proof = anyio.Event()
        self._proved: bool | None = None

    async def admit(self) -> bool:
        """Wait until a try may be made.

        Returns:
            Whether it is the one that is to show that the endpoint is back; its end must be told
            with ``proving``, whatever it is.
        """
        while self.outage is not None:
            if self._wanted:
                self._wanted = False
                return True
            await self._turn.wait()
        return False

    def settle(
        self,
        who: Charged,
        error: ErrorRecord | None,
        answered: Collection[str],
        *,
        proving: bool = False,
    ) -> list[Charged]:
        """Take account of a try that has ended.

        Args:
            who: Who made it.
            error: What broke it.
            answered: Boundaries across which there was an answer, and no failure after it.
            proving: What :meth:`admit` gave.

        Returns:
            Whose tries are not to count, one entry a try: the breaker has opened on them, or was
            open already. When ``outages`` has grown, :meth:`recover` is to be run.
        """
        for boundary in answered:
            self._streaks.pop(boundary, None)
        failed = error.phase if error is not None and error.phase in WATCHED else None
        if proving:
            self.prove(failed, answered)
        if failed is None or error is None:
            return []
        if self.outage is not None:
            self.outage.error = error
            return [who]
        streak = self._streaks.setdefault(failed, [])
        streak.append((who, error.refused))
        if len(streak) < self._failures:
            return []
        self._streaks.clear()
        self.outages += 1
        self.outage = Outage(
            failed,
            error,
            self._clock.now(),
            self._patience_s,
            refused=all(refused for _, refused in streak),
        )
        self._tell()
        return [each for each, _ in streak]

    def prove(self, failed: str | None, answered: Collection[str] = ()) -> None:
        """End the proof that :meth:`admit` asked for; neither failed nor answered proves nothing.

        Args:
            failed: The boundary that the try broke at.
            answered: As for :meth:`settle`.
        """
        if self.outage is not None:
            boundary = self.outage.boundary
            self._proved = True if boundary in answered else False if failed else None
        self._proof.set()

    async def recover(self) -> None:
        """Wait for the outage to end, and close.

        Raises:
            Stopped: It did not within the run's patience, or there is nothing to wait for.
        """
        outage = self.outage
        if outage is None:
            return
        if outage.refused:
            raise Stopped(outage)
        for wait in self._waits():
            left = outage.since + outage.patience_s - self._clock.now()
            if left <= 0:
                raise Stopped(outage)
            outage.wait_s = min(wait, left)
            self._tell()
            await self._clock.sleep(outage.wait_s)
            outage.asked += 1
            try:
                await self._check(outage.boundary)
            except InputError:
                outage.answers = False
                continue
            outage.answers = True
            if await self._half_open():
                self.outage = None
                self._wake()
                self._tell()
                return

    async def _half_open(self) -> bool:
        while True:
            self._proof = anyio.Event()
            self._proved = None
            self._wanted = True
            self._wake()
            await self._proof.wait()
            if self._proved is not None:
                return self._proved

    def _wake(self) -> None:
        turn, self._turn = self._turn, anyio.Event()
        turn.set()

    def _waits(self) -> Iterator[float]:
        """Growing waits, each between half of it and all, so that many runs do not ask at once."""
        wait = _FIRST_WAIT_S
        while True:
            yield wait * self._random.uniform(0.5, 1.0)
            wait = min(2 * wait, _LONGEST_WAIT_S)


def answered_in(row: Mapping[str, Any]) -> set[str]:
    """The boundaries across which an episode had answers, but for the one that it broke at.

    Args:
        row: The episode's row.
    """
    found = set()
    if row["messages"]:
        found.add("open")
    for message in row["messages"]:
        if message["role"] == "assistant" and HISTORY not in message:
            found.add("policy")
    for role in ("user", "judge"):
        if row["usage"].get(role) or row.get("traffic", {}).get(role):
            found.add(role)
    error = row["error"]
    return found - ({error["phase"]} if error is not None else set())
