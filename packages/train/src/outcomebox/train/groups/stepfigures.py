"""The figures of one step, under the names that trackers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from outcomebox.train.groups.judging import Attempt, Kind
from outcomebox.train.groups.ledger import StepGroups, phases
from outcomebox.train.groups.logprobs import Difference

PREFIX = "outcomebox/"
"""What every name begins with."""

EPISODE_SECONDS = ("sessions", "tools", "user", "generation")
"""Parts of an episode's time, each the figure ``seconds_<part>``; sums and means are of episodes,
which run side by side, so that they exceed the step's own time."""

STEP_SECONDS: Mapping[str, str] = {
    "rollout": "gen",
    "log_probs": "old_log_prob",
    "update": "update_actor",
    "weights": "update_weights",
    "step": "step",
}
"""Part of a step's wall time -> verl's name of it."""


def group_figures(
    groups: StepGroups, *, predicted_share: float, mixed_chances: Mapping[str, float]
) -> dict[str, float]:
    """What a step's groups were, and what selection had predicted.

    The useful share counts groups without system errors alone, kept or dropped: those that the
    prediction is about. ``useful_share/predicted`` is the pool's, ``.../predicted_for_tried`` the
    mean chance of the very tasks tried. The pass rate and the rewards by band are of the same
    groups, since the ones that are kept after filtering lie near one half by construction.

    Args:
        groups: The step's books.
        predicted_share: Share of mixed groups that the probe predicts for the pool, in [0, 1].
        mixed_chances: Chance of a mixed group by task.
    """
    whole = [each for each in groups.tried if each.kind is not Kind.SYSTEM_ERROR]
    broken = [each for each in groups.tried if each.kind is Kind.SYSTEM_ERROR]
    dropped = Counter(each.kind for each in groups.dropped)
    attempts = [attempt for each in whole for attempt in each.attempts]
    figures: dict[str, float] = {
        "groups/tried": len(groups.tried),
        "groups/trained": len(groups.kept),
        "groups/useful": groups.number(Kind.USEFUL),
        "groups/all_pass": groups.number(Kind.ALL_PASS),
        "groups/all_fail": groups.number(Kind.ALL_FAIL),
        "groups/system_error": len(broken),
        "groups/rounds": groups.rounds,
        "refills/total": len(groups.dropped),
        **{f"refills/{kind}": dropped[kind] for kind in Kind if kind is not Kind.USEFUL},
        "system_errors/total": sum(len(each.faults) for each in broken),
        "wasted/groups": len(groups.dropped),
        "wasted/rollouts": sum(len(each.attempts) + len(each.faults) for each in groups.dropped),
        "wasted/tokens": sum(each.tokens for each in groups.dropped),
        "useful_share/predicted": predicted_share,
    }
    by_phase = Counter(phase for each in broken for phase in phases(each))
    figures |= {f"refills/phase/{phase}": number for phase, number in sorted(by_phase.items())}
    errors = Counter(fault.phase for each in broken for fault in each.faults)
    figures |= {f"system_errors/phase/{phase}": number for phase, number in sorted(errors.items())}
    figures |= _mean("useful_share/seen", [each.kind is Kind.USEFUL for each in whole])
    tasks = [each.task for each in whole if each.task is not None]
    chances = [mixed_chances[task] for task in tasks if task in mixed_chances]
    figures |= _mean("useful_share/predicted_for_tried", chances)
    figures |= _mean("pass_rate", [attempt.score for attempt in attempts])
    for band in sorted({each.band for each in whole if each.band is not None}):
        of_band = [
            attempt.score for each in whole if each.band == band for attempt in each.attempts
        ]
        figures |= _mean(f"reward/band/{band}", of_band)
        figures[f"groups/band/{band}"] = sum(each.band == band for each in whole)
    return _named(figures)


def attempt_figures(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Means and sums over the attempts that a step trains on.

    Args:
        attempts: All of them, each once.
    """
    figures: dict[str, float] = {"attempts/trained": len(attempts)}
    figures |= _mean("reward/mean", [each.score for each in attempts])
    for name, field, highest in (
        ("turns", "turns", True),
        ("tool_calls", "tool_calls", False),
        ("tool_errors", "tool_errors", False),
        ("tokens/prompt", "prompt_tokens", True),
        ("tokens/response", "response_tokens", True),
        ("tokens/sampled", "sampled_tokens", True),
    ):
        values = _values(attempts, field)
        figures |= _mean(f"{name}/mean", values)
        if highest and values:
            figures[f"{name}/max"] = max(values)
    for part in EPISODE_SECONDS:
        figures |= _mean(f"seconds/{part}/mean", _values(attempts, f"seconds_{part}"))
    for name in ("parity_turns", "parity_differences", "restarts"):
        values = _values(attempts, name)
        if values:
            figures[name.replace("parity_", "parity/")] = sum(values)
    ends = Counter(str(each.figures.get("finish_reason", "unknown")) for each in attempts)
    figures |= {f"finish/{reason}": number for reason, number in sorted(ends.items())}
    return _named(figures)


def step_figures(timing: Mapping[str, float], difference: Difference | None) -> dict[str, float]:
    """A step's wall time, and how far rollout and actor are apart.

    Args:
        timing: verl's seconds by name; parts that a step lacks are left out.
        difference: Of log-probabilities; None where the rollout gave none.
    """
    figures: dict[str, float] = {
        f"seconds/{part}": float(timing[name])
        for part, name in STEP_SECONDS.items()
        if name in timing
    }
    if difference is not None:
        figures |= {
            "log_probs/difference/max": difference.highest,
            "log_probs/difference/mean": difference.mean,
            "log_probs/tokens": difference.tokens,
        }
    return _named(figures)


def _named(figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{PREFIX}{name}": value for name, value in figures.items()}


def _values(attempts: Iterable[Attempt], field: str) -> list[float]:
    """A figure of each attempt that has it."""
    found: list[Any] = [each.figures[field] for each in attempts if field in each.figures]
    return [each for each in found if each is not None]


def _mean(name: str, values: Sequence[float]) -> dict[str, float]:
    """The mean under a name; nothing where there is nothing to take it of."""
    return {name: fmean(values)} if values else {}
