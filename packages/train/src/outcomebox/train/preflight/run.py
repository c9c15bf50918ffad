"""All checks of a run, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from outcomebox.sandbox import InputError
from outcomebox.train.launch.plan import Plan
from outcomebox.train.preflight.actors import check_actors, check_endpoints
from outcomebox.train.preflight.changes import check_changes
from outcomebox.train.preflight.cluster import check_cluster
from outcomebox.train.preflight.context import Context
from outcomebox.train.preflight.folder import check_folder
from outcomebox.train.preflight.lengths import check_lengths
from outcomebox.train.preflight.modelfiles import check_model
from outcomebox.train.preflight.secrets import check_set, check_written
from outcomebox.train.preflight.tasks import check_benchmark, check_pool
from outcomebox.train.preflight.template import check_reading, check_template

State = Literal["passed", "failed", "left out", "at the start", "not reached"]


@dataclass(frozen=True, slots=True)
class Check:
    """Something that is looked at.

    Attributes:
        name: What it is called, also for ``--skip``.
        run: Looks; returns what it saw, or raises ``InputError``.
        live: Whether it needs the machines and services of the run, not only its files.
        needs: Checks without whose passing it says nothing.
    """

    name: str
    run: Callable[[Context], str]
    live: bool = False
    needs: tuple[str, ...] = ()


CHECKS = (
    Check("folder", check_folder),
    Check("written", check_written),
    Check("changes", check_changes),
    Check("model", check_model),
    Check("reading", check_reading),
    Check("template", check_template, needs=("model", "reading")),
    Check("pool", check_pool),
    Check("benchmark", check_benchmark, needs=("pool",)),
    Check("actors", check_actors, needs=("pool", "written")),
    Check("lengths", check_lengths, needs=("pool", "template")),
    Check("secrets", check_set, live=True),
    Check("endpoints", check_endpoints, live=True, needs=("actors", "secrets")),
    Check("cluster", check_cluster, live=True, needs=("folder", "secrets")),
)
"""Those of files first: they cost nothing, and tell most."""

NAMES = tuple(check.name for check in CHECKS)


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a check.

    Attributes:
        name: Which one.
        state: What became of it.
        told: What it saw, or what is wrong.
    """

    name: str
    state: State
    told: str


def preflight(
    plan: Plan,
    *,
    live: bool,
    skip: Collection[str] = (),
    tell: Callable[[str], None] | None = None,
) -> list[Seen]:
    """Make every check; one that fails does not keep the others from being made.

    Args:
        plan: The run.
        live: Whether machines and services are looked at too.
        skip: Names of checks that are left out.
        tell: Told the name of each check before it is made.

    Raises:
        InputError: There is no check of a name in ``skip``.
    """
    for name in skip:
        if name not in NAMES:
            raise InputError(
                f"is no check; write one of {', '.join(NAMES)}", field="--skip", value=name
            )
    context = Context(plan)
    found: dict[str, Seen] = {}
    for check in CHECKS:
        found[check.name] = _made(check, context, found, live=live, skip=skip, tell=tell)
    return list(found.values())


def _made(
    check: Check,
    context: Context,
    found: dict[str, Seen],
    *,
    live: bool,
    skip: Collection[str],
    tell: Callable[[str], None] | None,
) -> Seen:
    if check.name in skip:
        return Seen(check.name, "left out", "by --skip")
    if check.live and not live:
        return Seen(check.name, "at the start", "it needs the machines of the run")
    lacking = [name for name in check.needs if found[name].state != "passed"]
    if lacking:
        return Seen(check.name, "not reached", f"it needs {' and '.join(lacking)}")
    if tell is not None:
        tell(check.name)
    try:
        return Seen(check.name, "passed", check.run(context))
    except InputError as error:
        return Seen(check.name, "failed", str(error))
