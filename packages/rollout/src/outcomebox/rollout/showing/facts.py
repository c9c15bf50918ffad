"""The figures of an episode, as pairs of a name and a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.view import policy_words


def facts_of(view: Json) -> Iterator[tuple[str, str]]:
    """What is known of an episode besides its conversation; what is not is left out."""
    if view["finish_reason"]:
        words = f": {view['finish']}" if view["finish"] else ""
        yield "end", f"{view['finish_reason']}{words}"
    yield "policy", policy_words(view["policy"])
    for role in ("user", "judge"):
        if view[role]:
            yield role, _named(view[role])
    tokens = "; ".join(_counts(role, counts) for role, counts in view["usage"].items() if counts)
    if tokens:
        yield "tokens", tokens
    times = sorted(view["seconds"].items(), key=lambda item: -item[1])
    if times:
        yield "time", ", ".join(f"{name} {value:.3g} s" for name, value in times)
    traffic = "; ".join(
        _counts(role, {name: number for name, number in counts.items() if number})
        for role, counts in view["traffic"].items()
    )
    if traffic:
        yield "traffic", traffic.replace("waited_s", "seconds waited").replace("_", " ")
    if view["started"]:
        yield "started", str(view["started"])
    if view["seeds"]:
        yield "seed", ", ".join(f"{name} {seed}" for name, seed in view["seeds"].items())
    if view.get("command"):
        yield "again", view["command"]


def _named(about: Any) -> str:
    if isinstance(about, Mapping):
        return str(about.get("model") or about.get("name") or dict(about))
    return str(about)


def _counts(role: str, counts: Mapping[str, Any]) -> str:
    return f"{role} " + ", ".join(f"{number} {name}" for name, number in counts.items())
