"""Figures of a service in Prometheus's text format."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ENDS = ("created", "failed", "refused", "destroyed", "expired")


class Metrics:
    """Counts what a service does."""

    def __init__(self) -> None:
        self._sessions: Counter[str] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def session(self, event: str) -> None:
        """Count what came of a session.

        Args:
            event: ``created``, ``failed`` (it did not come up), ``refused`` (for want of a place),
                ``destroyed`` (by its client) or ``expired``.
        """
        self._sessions[event] += 1

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[endpoint, status] += 1
        self._seconds[endpoint] += seconds

    def text(self, *, in_use: int, waiting: int, most: int) -> str:
        """All of it, with how many sessions there are now."""
        lines = [
            *_metric("sessions", "gauge", "Sessions that hold a place.", [("", in_use)]),
            *_metric("sessions_waiting", "gauge", "Requests for a place.", [("", waiting)]),
            *_metric("sessions_max", "gauge", "Places.", [("", most)]),
            *_metric(
                "session_events_total",
                "counter",
                "What came of sessions.",
                [(f'{{event="{event}"}}', self._sessions[event]) for event in _ENDS],
            ),
            *_metric(
                "requests_total",
                "counter",
                "Requests answered.",
                [
                    (f'{{endpoint="{endpoint}",status="{status}"}}', count)
                    for (endpoint, status), count in sorted(self._requests.items())
                ],
            ),
            *_metric(
                "request_seconds_total",
                "counter",
                "Seconds spent on them.",
                [
                    (f'{{endpoint="{endpoint}"}}', round(seconds, 6))
                    for endpoint, seconds in sorted(self._seconds.items())
                ],
            ),
        ]
        return "\n".join(lines) + "\n"


def _metric(
    name: str, kind: str, words: str, samples: Iterable[tuple[str, float]]
) -> Iterable[str]:
    full = f"outcomebox_{name}"
    yield f"# HELP {full} {words}"
    yield f"# TYPE {full} {kind}"
    for labels, value in samples:
        yield f"{full}{labels} {value}"
