"""What to lint and how, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from outcomebox.reward.lint.findings import LintedTask
from outcomebox.reward.thinkingbox.standin import ReplayJudge, StandIn
from outcomebox.sandbox import InputError, ServerSpec
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask

Part: TypeAlias = Literal["clock", "texts", "order", "mutants"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What is tried besides golden and doing nothing, in this order.

``clock``: golden at another moment. ``texts``: other texts. ``order``: harmless reorderings.
``mutants``: mutating calls left out or made twice, and other values in their arguments.
"""
LIMIT = 100
"""Replays a task, at most."""

Observer: TypeAlias = Callable[["Progress"], None]


@dataclass(frozen=True)
class LintSettings:
    """What to lint and how.

    Attributes:
        tasks: The tasks; those tagged ``skip`` are left out.
        specs: The servers by name.
        parts: What to try.
        judge: Answers the checks' questions.
        concurrency: Tasks at a time.
        seed: The servers' seed.
        search_url: A real Typesense; None for the embedded index.
        limit: Replays a task, at most; what is left is reported.
        moment: Where the clock of servers that have no frozen one stands; the present without it.
        other: The other moment of ``clock``; :func:`.moments.other_moment` without it.
    """

    tasks: Sequence[ThinkingBoxTask]
    specs: Mapping[str, ServerSpec]
    parts: Sequence[Part] = PARTS
    judge: ReplayJudge = field(default_factory=lambda: StandIn("yes"))
    concurrency: int = 2
    seed: int = 0
    search_url: str | None = None
    limit: int = LIMIT
    moment: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"write some of {', '.join(PARTS)}", field="parts", value=part)
        if self.limit < 3:
            raise InputError("golden alone can take 3 replays", field="limit", value=self.limit)


@dataclass
class Progress:
    """Where a lint stands.

    Attributes:
        total: Tasks.
        done: Those that are finished.
        replays: Sessions that were opened.
        last: The task that was finished last.
    """

    total: int
    done: int = 0
    replays: int = 0
    last: LintedTask | None = None


@dataclass(frozen=True)
class Linted:
    """A finished lint.

    Attributes:
        tasks: What was found, in the tasks' order; those that could not be linted are left out.
        broken: uid -> type, message and phase of what broke in tasks that could not be linted.
        notes: Facts about the run that are no findings.
        replays: Sessions that were opened.
        skipped: Tasks left out because their tags say so.
        wall_s: Seconds it took.
        cpu_s: Seconds of CPU, the servers' and the checks' included.
    """

    tasks: tuple[LintedTask, ...]
    broken: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...]
    replays: int
    skipped: tuple[str, ...]
    wall_s: float
    cpu_s: float
