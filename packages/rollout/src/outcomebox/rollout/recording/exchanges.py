"""The exchanges of one try with its models, as it runs: kept, answered from a recording, or both.

Who is asked does not know which try asks. A context variable does: it holds the try's
:class:`Exchanges`, and every task that the episode starts inherits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from outcomebox.reward.rows import Row
from outcomebox.rollout.recording.reading import TryExchanges
from outcomebox.rollout.recording.requests import ReplayError, Requests
from outcomebox.rollout.storing.groups import TRY

if TYPE_CHECKING:
    from outcomebox.rollout.executors.base import Job

_CURRENT: ContextVar[Exchanges] = ContextVar("exchanges")


class Exchanges:
    """What one try says to models, and hears.

    Attributes:
        known: The try's row, where the recording says that infrastructure broke it and not a
            model: what cannot be replayed is taken over as it was.
    """

    def __init__(
        self, job: Job, *, actors: Mapping[str, Any] | None, recorded: TryExchanges | None
    ) -> None:
        self._job = job
        self._actors = actors
        self._recorded = recorded
        self._requests: dict[str, Requests] = {}
        self._counts: Counter[str] = Counter()
        self._kept: list[dict[str, Any]] = []
        self._mismatch: ReplayError | None = None
        self.known: Row | None = None if recorded is None else recorded.row

    def answer(self, role: str, request: Iterable[tuple[str, object]]) -> Mapping[str, Any]:
        """The recorded exchange of the next request.

        Args:
            role: Who is asked.
            request: What, in parts by name.

        Raises:
            ReplayError: It is not the one that was recorded.
        """
        if self._recorded is None:
            raise ReplayError("a recording can only answer within a run that replays it")
        try:
            return self._recorded.answer(role, list(request))
        except ReplayError as error:
            # Where a check asks, the error becomes a verdict; closing the try raises it again.
            self._mismatch = self._mismatch or error
            raise

    def keep(self, role: str, request: Iterable[tuple[str, object]]) -> dict[str, Any]:
        """A new exchange, in the order of asking; who was asked fills in ``answer`` or ``error``.

        Args:
            role: Who is asked.
            request: What, in parts by name.
        """
        # Questions to a judge come several at a time and have no order.
        requests = Requests() if role == "judge" else self._requests.setdefault(role, Requests())
        exchange = {
            **self._place(role, self._counts[role]),
            **requests.sketch(request).to_json(),
        }
        self._counts[role] += 1
        self._kept.append(exchange)
        return exchange

    def closed(self, row: Row) -> tuple[Mapping[str, Any], ...]:
        """All exchanges of the try, with the one that ends them; empty where none are kept.

        Args:
            row: The try's row.
            actors: Who took part, for the recording; None where none is made.

        Raises:
            ReplayError: The try did not ask what was recorded.
        """
        if self._mismatch is not None:
            raise self._mismatch
        if self._recorded is not None:
            self._recorded.close(row)
        if self._actors is None:
            return ()
        answered = [each for each in self._kept if "answer" in each or "error" in each]
        broken = row["error"] is not None and not any("error" in each for each in answered)
        closing = {
            **self._place(TRY, 0),
            "exchanges": len(answered),
            **self._actors,
            "row": row if broken else None,
        }
        return (*answered, closing)

    def _place(self, role: str, n: int) -> dict[str, Any]:
        job = self._job
        return {
            "uid": job.uid,
            "repetition": job.repetition,
            "try": job.attempt,
            "role": role,
            "n": n,
        }


@contextmanager
def running(exchanges: Exchanges) -> Iterator[Exchanges]:
    """Make them those of the try that is running here."""
    token = _CURRENT.set(exchanges)
    try:
        yield exchanges
    finally:
        _CURRENT.reset(token)


def current() -> Exchanges | None:
    """Those of the try that is running here; None outside of one."""
    return _CURRENT.get(None)
