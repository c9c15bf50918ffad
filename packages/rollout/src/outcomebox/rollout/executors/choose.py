"""Executors by name: those that come with the package, and those that others offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from outcomebox.rollout.executors.base import Executor, ExecutorFactory
from outcomebox.rollout.executors.local import local_executor
from outcomebox.sandbox import InputError

if TYPE_CHECKING:
    from outcomebox.rollout.spec import Loaded, RunSpec

GROUP = "outcomebox.executors"


def _ray() -> ExecutorFactory:
    try:
        from outcomebox.rollout.executors.ray import (  # noqa: PLC0415 -- Ray is an extra
            ray_executor,
        )
    except ImportError as error:
        raise InputError(
            f"needs Ray ({error}): pip install 'outcomebox-rollout[ray]'",
            field="executor",
            value="ray",
        ) from error
    return ray_executor


LOCAL = "local"
BUILT_IN: Mapping[str, Callable[[], ExecutorFactory]] = {"ray": _ray}


def executor_names() -> list[str]:
    """All executors that can be named here, sorted."""
    return sorted({LOCAL, *BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def open_executor(
    name: str,
    spec: RunSpec,
    *,
    concurrency: int,
    options: Mapping[str, str] | None = None,
    loaded: Loaded | None = None,
) -> AbstractAsyncContextManager[Executor]:
    """The executor of a run, by name.

    Args:
        name: ``local``, ``ray``, or one that an installed package offers.
        spec: What its workers are made from.
        concurrency: Jobs at a time, at most.
        options: Its settings, as text.
        loaded: The run's tasks and actors, of use where episodes run in this process.

    Raises:
        InputError: There is no such executor, what it needs is not installed, or an option is of no
            use.
    """
    if name == LOCAL:
        return local_executor(spec, concurrency=concurrency, options=options or {}, loaded=loaded)
    factory: ExecutorFactory
    if name in BUILT_IN:
        factory = BUILT_IN[name]()
    else:
        for point in entry_points(group=GROUP, name=name):
            factory = point.load()
            break
        else:
            raise InputError(
                f"no such executor; there are {', '.join(executor_names())}",
                field="executor",
                value=name,
            )
    return factory(spec, concurrency=concurrency, options=options or {})
