"""Which harmless reorderings of a task's golden calls the check does not accept."""

from __future__ import annotations

from dataclasses import dataclass, field

from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint_thinkingbox import words
from outcomebox.reward.lint_thinkingbox.alike import alike
from outcomebox.reward.lint_thinkingbox.golden import Golden
from outcomebox.reward.lint_thinkingbox.replays import Replays
from outcomebox.reward.lint_thinkingbox.tables import tables_of


@dataclass
class Orders:
    """What became of the pairs of mutating calls that follow one another.

    Attributes:
        dependent: One needs the other's answer: not tried.
        refused: A call was refused in the other order.
        different: The end means something else: order matters.
        accepted: Harmless, and accepted.
        findings: Harmless, and not accepted.
        unknown: No verdict, or the comparison of the ends hit its bound.
    """

    dependent: int = 0
    refused: int = 0
    different: int = 0
    accepted: int = 0
    findings: list[Finding] = field(default_factory=list)
    unknown: int = 0


async def orders_of(replays: Replays, golden: Golden) -> Orders:
    """Try each reordering of two mutating calls that follow one another."""
    found = Orders()
    calls = replays.task.golden
    for first, second, reordering in golden.told.reorderings(golden.mutating):
        if reordering is None:
            found.dependent += 1
            continue
        played = await replays.play(
            [calls[index] for index in reordering.order],
            adapt=golden.told.adapted(reordering.order),
        )
        if played is None:
            continue
        if played.refused:
            found.refused += 1
            continue
        if played.verdict is None or played.verdict.error is not None or played.effects is None:
            found.unknown += 1
            continue
        end = tables_of(played.effects)
        same = alike(golden.start, golden.end, end, known=golden.given)
        if same is None:
            found.unknown += 1
        elif not same:
            found.different += 1
        elif played.failed:
            reason = played.verdict.reasons[0].message
            found.findings.append(words.order_dependence(first, second, calls, reason))
        else:
            found.accepted += 1
    return found
