"""What goes wrong at the stand-in endpoint, on purpose: seeded, bounded, and counted.

Which request is hit, and how, follows from the seed, the request's digest and how often this
request has come: a retry has luck of its own, and the same retries meet the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from outcomebox.sandbox import InputError

Kind = Literal[
    "rate_limited",
    "rate_limited_bare",
    "server_error",
    "bad_gateway",
    "unavailable",
    "reset_before",
    "stalled",
    "reset_after",
    "slow_body",
    "truncated_body",
    "garbage_body",
    "error_body",
    "slow_stream",
    "truncated_stream",
    "reset_stream",
    "stream_without_done",
    "stream_without_finish",
    "stream_error",
    "garbage_stream",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""All that can go wrong: the first seven with any request, five with whole answers, seven with
streamed ones."""
ANY, WHOLE, STREAMED = KINDS[:7], KINDS[7:12], KINDS[12:]


@dataclass(frozen=True)
class Chaos:
    """What goes wrong, and how often.

    Attributes:
        rate: Share of the requests that are hit, from 0 to 1.
        seed: Decides which.
        kinds: What can happen; each is as likely as the others that fit the request.
        most: Times that one request can be hit; a client that asks once more is answered.
        slow_s: Seconds over which a slow answer is spread.
        stall_s: Seconds of silence before a stalled connection ends.
        retry_after_s: What ``Retry-After`` says.
    """

    rate: float = 0.2
    seed: int = 0
    kinds: tuple[Kind, ...] = KINDS
    most: int = 3
    slow_s: float = 0.2
    stall_s: float = 1.0
    retry_after_s: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.rate <= 1.0:
            raise InputError("give a number from 0 to 1", field="chaos", value=self.rate)

    def describe(self) -> dict[str, Any]:
        """Its settings."""
        kinds = list(self.kinds)
        return {"rate": self.rate, "seed": self.seed, "kinds": kinds, "most": self.most}


def kinds_named(names: list[str] | None) -> tuple[Kind, ...]:
    """Kinds by name; all of them for None.

    Raises:
        InputError: There is no such kind.
    """
    for name in names or ():
        if name not in KINDS:
            raise InputError(
                f"there is no such kind; there are {', '.join(KINDS)}",
                field="chaos-kind",
                value=name,
            )
    return KINDS if names is None else cast("tuple[Kind, ...]", tuple(names))


@dataclass
class Luck:
    """The luck of all requests to one endpoint.

    Attributes:
        chaos: What can happen; None: nothing does.
        injected: How often each kind has happened.
    """

    chaos: Chaos | None
    injected: Counter[str] = field(default_factory=Counter)
    _came: Counter[str] = field(default_factory=Counter)
    _hit: Counter[str] = field(default_factory=Counter)

    def draw(self, digest: str, *, stream: bool) -> Kind | None:
        """What happens to a request that has just come; None: it is answered.

        Args:
            digest: Of the request.
            stream: Whether it asks for a stream.
        """
        chaos = self.chaos
        if chaos is None:
            return None
        came = self._came[digest]
        self._came[digest] += 1
        fitting = (*ANY, *(STREAMED if stream else WHOLE))
        kinds = [kind for kind in fitting if kind in chaos.kinds]
        if not kinds or self._hit[digest] >= chaos.most:
            return None
        drawn = hashlib.sha256(f"{chaos.seed}\0{digest}\0{came}".encode()).digest()
        if int.from_bytes(drawn[:8], "big") / 2**64 >= chaos.rate:
            return None
        self._hit[digest] += 1
        kind = kinds[int.from_bytes(drawn[8:16], "big") % len(kinds)]
        self.injected[kind] += 1
        return kind
