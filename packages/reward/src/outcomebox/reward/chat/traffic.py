"""What asking models took: requests, retries and waits, counted by role.

The counts belong to whoever opened :func:`counting_traffic` last in the current context, so that
episodes which share an endpoint are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any

from outcomebox.reward.chat.answers import Usage


@dataclass
class Counts:
    """Requests of one role.

    Attributes:
        requests: Requests that were sent, each try of one counted.
        retries: Those of them that repeat one that did not succeed.
        rate_limited: Answers with status 429.
        server_errors: Answers with another status that is worth a retry (408, 409, 425, 5xx).
        broken: Connections that failed, answers that were cut off or unreadable, passed deadlines.
        waited_s: Seconds between the tries of a request.
        cached_tokens: Tokens of prompts that the endpoint had cached, as far as it tells. They are
            not among a row's usage: how full a cache was is nothing that a run found.
        reasoning_tokens: Tokens of answers that were reasoning, as far as it tells.
    """

    requests: int = 0
    retries: int = 0
    rate_limited: int = 0
    server_errors: int = 0
    broken: int = 0
    waited_s: float = 0.0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    def tell(self, usage: Usage) -> None:
        """Add what an answer tells of its tokens."""
        for name in ("cached_tokens", "reasoning_tokens"):
            told = getattr(usage, name)
            if told is not None:
                setattr(self, name, (getattr(self, name) or 0) + told)


@dataclass
class Traffic:
    """Counts by role.

    Attributes:
        roles: ``policy``, ``user`` and ``judge``, as far as they were asked.
    """

    roles: dict[str, Counts] = field(default_factory=dict)

    def of(self, role: str) -> Counts:
        """The counts of a role, made if there are none yet."""
        return self.roles.setdefault(role, Counts())

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Plain JSON values."""
        return {
            role: {
                name: round(value, 3) if name == "waited_s" else value
                for name, value in asdict(counts).items()
                if value is not None
            }
            for role, counts in self.roles.items()
        }


_CURRENT: ContextVar[Traffic | None] = ContextVar("outcomebox_traffic", default=None)


@contextmanager
def counting_traffic() -> Iterator[Traffic]:
    """Count the requests that the body makes, in this context and those that it begins."""
    traffic = Traffic()
    token = _CURRENT.set(traffic)
    try:
        yield traffic
    finally:
        _CURRENT.reset(token)


def counts_of(role: str) -> Counts:
    """Where the requests of a role are counted now; nowhere that lasts, if nobody counts."""
    traffic = _CURRENT.get()
    return Counts() if traffic is None else traffic.of(role)
