"""The workers of a run on a cluster: started, watched, and replaced when they are lost."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc

from outcomebox.reward.secrets import redact
from outcomebox.rollout.executors.base import Job, Tried, WorkerLost
from outcomebox.rollout.executors.ray_actor import end_process, worker_class
from outcomebox.rollout.executors.ray_options import RayOptions
from outcomebox.rollout.record import package_versions
from outcomebox.sandbox import InputError

logger = logging.getLogger(__name__)

STARTS = 5
"""Workers in a row that may be lost before one of them finishes a job; then the run ends."""
BEAT_S = 5.0
TELL_S = 15.0
CLOSE_S = 30.0
_LONGEST_WAIT_S = 30.0


class _Lost(Exception):
    """An actor is gone, or is of no use."""


async def _or_lost(answer: Coroutine[Any, Any, Any], member: Member) -> Any:
    """An answer, for as long as its worker is not lost: one that hangs never gives it.

    Raises:
        _Lost: It is.
    """
    asked = asyncio.ensure_future(answer)
    lost = asyncio.ensure_future(member.lost.wait())
    try:
        await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise _Lost(member.reason)
        return asked.result()
    finally:
        for task in (asked, lost):
            task.cancel()
        await asyncio.gather(asked, lost, return_exceptions=True)


@dataclass(eq=False)
class Member:
    """A worker that takes jobs.

    Attributes:
        actor: Its handle.
        place: Where it runs, for people.
        pid: Its process id there.
        node: Ray's name of its node.
        free: Jobs that it can still take.
        lost: Set once it is gone.
        reason: Why.
    """

    actor: Any
    place: str
    pid: int
    node: str
    free: int
    lost: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""

    def lose(self, reason: str) -> None:
        """Note that it is gone; the first reason counts."""
        if not self.lost.is_set():
            self.reason = reason
            self.lost.set()


class Crew:
    """Workers in actors, as many as were asked for, as far as the cluster has room.

    Args:
        ray: The library, connected.
        options: What workers ask for, and how long they are waited for.
        workers: How many.
        slots: Jobs at a time in each.
        spec: What they are made from, as plain values.
        variables: Environment variables that they get.
        secrets: Values among them that no text may hold.
        tasks: Fingerprint of the tasks, as this machine has them.
    """

    def __init__(
        self,
        ray: Any,
        options: RayOptions,
        *,
        workers: int,
        slots: int,
        spec: Any,
        variables: dict[str, str],
        secrets: tuple[str, ...],
        tasks: str,
    ) -> None:
        self.workers = workers
        self.slots = slots
        self._ray = ray
        self._options = options
        self._given = (spec, variables, secrets)
        self._tasks = tasks
        self._members: list[Member] = []
        self._changed = anyio.Condition()
        self._failure: Exception | None = None
        self._lost_in_a_row = 0
        self._kind = ray.remote(
            # Two more for the questions whether it is alive, and its end.
            max_concurrency=slots + 2,
            max_restarts=0,
            max_task_retries=0,
            **options.demands(),
        )(worker_class())

    # -- jobs --------------------------------------------------------------------------------

    async def attempt(self, job: Job) -> Tried:
        """Run a job in the worker that has most room.

        Raises:
            WorkerLost: It was lost.
            InputError: There are no workers, and there will be none.
        """
        member = await self._take()
        try:
            answer = self._ask(member.actor.attempt, job.uid, job.repetition, job.attempt)
            tried: Tried = await _or_lost(answer, member)
        except _Lost as lost:
            member.lose(str(lost))
            raise WorkerLost(f"the worker on {member.place} was lost: {lost}") from lost
        finally:
            member.free += 1
            with anyio.CancelScope(shield=True):
                await self._tell_all()
        self._lost_in_a_row = 0
        return tried

    async def _take(self) -> Member:
        async with self._changed:
            while True:
                if self._failure is not None:
                    raise self._failure
                member = max(
                    (each for each in self._members if not each.lost.is_set()),
                    key=lambda each: each.free,
                    default=None,
                )
                if member is not None and member.free:
                    member.free -= 1
                    return member
                await self._changed.wait()

    async def ready(self) -> None:
        """Wait for the first worker.

        Raises:
            InputError: There will be none.
        """
        async with self._changed:
            while not self._members:
                if self._failure is not None:
                    raise self._failure
                await self._changed.wait()

    # -- workers -----------------------------------------------------------------------------

    def start(self, group: anyio.abc.TaskGroup) -> None:
        """Bring the workers up, and keep them so until the group is cancelled."""
        for _ in range(self.workers):
            group.start_soon(self._keep)
        group.start_soon(self._watch_all)

    async def _keep(self) -> None:
        """One worker after another, until the run ends or there can be none."""
        generation = 0
        while self._failure is None:
            actor = self._kind.remote()
            member: Member | None = None
            try:
                about = await self._ask(actor.about)
                node: str = await self._ask(actor.node)
                place = f"{about['node']} (process {about['pid']})"
                member = Member(actor, place, about["pid"], node, self.slots)
                await self._bring_up(member, about, check=generation == 0)
                async with self._changed:
                    self._members.append(member)
                    self._changed.notify_all()
                try:
                    await self._watch(member)
                finally:
                    self._members.remove(member)
                await self._note_lost(f"the worker on {member.place} was lost: {member.reason}")
            except _Lost as lost:
                await self._note_lost(f"a worker was lost before it was ready: {lost}")
            except InputError as error:
                await self._fail(error)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._end(actor, member)
            generation += 1
            await anyio.sleep(min(_LONGEST_WAIT_S, 0.5 * 2 ** max(0, self._lost_in_a_row - 1)))

    async def _bring_up(self, member: Member, about: Mapping[str, Any], *, check: bool) -> None:
        if about["missing"]:
            raise InputError(
                f"the node {about['node']} lacks our packages ({about['missing']}): install "
                "outcomebox-rollout there, or ship it with --executor-option runtime_env=FILE",
                field="executor",
            )
        ours = {"python": platform.python_version(), **package_versions()}
        for name, version in about["versions"].items():
            if version != ours.get(name):
                raise InputError(
                    f"{name} is {version} on the node {about['node']} and {ours.get(name)} here: "
                    "install the same on all machines, for every row names them",
                    field="executor",
                )
        try:
            with anyio.fail_after(self._options.wait_s):
                answer = await self._ask(member.actor.start, *self._given, check)
        except TimeoutError:
            member.lose(f"not ready after {self._options.wait_s:g} s")
            raise _Lost(f"{member.place}: {member.reason}") from None
        if "wrong" in answer:
            raise InputError(f"on the node {about['node']}: {answer['wrong']}", field="executor")
        if "broken" in answer:
            raise _Lost(f"{member.place}: {answer['broken']}")
        if answer["tasks"] != self._tasks:
            raise InputError(
                f"the node {about['node']} has other tasks, or other tool servers, than this "
                "machine: bring both to the same state",
                field="executor",
            )

    async def _watch(self, member: Member) -> None:
        """Until it is lost: gone, or without an answer for too long."""
        while not member.lost.is_set():
            with anyio.move_on_after(BEAT_S):
                await member.lost.wait()
                return
            try:
                with anyio.fail_after(self._options.patience_s):
                    alive = await self._ask(member.actor.beat)
            except TimeoutError:
                member.lose(f"no answer for {self._options.patience_s:g} s; it was killed")
            except _Lost as lost:
                member.lose(str(lost))
            else:
                if not alive:
                    member.lose("its sandbox ended")

    async def _end(self, actor: Any, member: Member | None) -> None:
        """Close its sandbox, then end its process; the second alone does for one that is lost."""
        if member is not None and not member.lost.is_set():
            with anyio.move_on_after(CLOSE_S) as scope:
                try:
                    await self._ask(actor.close)
                except _Lost as lost:
                    logger.debug("closing a worker: %s", lost)
            if scope.cancelled_caught:
                member.lose(f"did not close in {CLOSE_S:g} s")
        self._ray.kill(actor, no_restart=True)
        if member is not None and member.lost.is_set():
            await self._end_process(member)

    async def _end_process(self, member: Member) -> None:
        """Kill the process of a worker that may hang, from its own node."""
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        task = self._ray.remote(
            num_cpus=0,
            max_retries=0,
            scheduling_strategy=affinity(node_id=member.node, soft=False),
        )(end_process)
        with anyio.move_on_after(CLOSE_S):
            try:
                ended = await self._ask(task, member.pid, f"ray::{worker_class().__name__}")
                logger.debug("%s: process ended: %s", member.place, ended)
            except (_Lost, InputError) as lost:
                # The node is gone, and its processes with it.
                logger.debug("%s: %s", member.place, lost)

    async def _note_lost(self, message: str) -> None:
        self._lost_in_a_row += 1
        logger.warning("%s", message)
        if self._lost_in_a_row >= STARTS + self.workers:
            await self._fail(
                InputError(
                    f"{self._lost_in_a_row} workers in a row were lost without finishing a job; "
                    f"the last: {message}",
                    field="executor",
                    value="ray",
                )
            )
        await self._tell_all()

    async def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        await self._tell_all()

    async def _tell_all(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _watch_all(self) -> None:
        """Say what is waited for, and end the run where no worker comes."""
        alone, told = 0.0, self.workers
        while self._failure is None:
            await anyio.sleep(TELL_S)
            missing = self.workers - len(self._members)
            if missing and missing != told:
                logger.warning("waiting for %s", self._waited_for(missing))
            told = missing
            alone = 0.0 if self._members else alone + TELL_S
            if alone >= self._options.wait_s:
                waited = self._waited_for(missing)
                await self._fail(
                    InputError(
                        f"for {alone:.0f} s there was no worker: {waited}",
                        field="executor",
                        value="ray",
                    )
                )

    def _waited_for(self, missing: int) -> str:
        has, free = self._ray.cluster_resources(), self._ray.available_resources()
        return (
            f"{missing} of {self.workers} workers, which start or find no room: each asks for "
            f"{self._options.cpus:g} CPUs, and of the cluster's {has.get('CPU', 0):g} are "
            f"{free.get('CPU', 0):g} free"
        )

    # -- Ray ---------------------------------------------------------------------------------

    async def _ask(self, method: Any, *arguments: Any) -> Any:
        """The answer of an actor's method.

        Raises:
            _Lost: There will be none.
            InputError: Ray cannot start such a worker anywhere.
        """
        errors = self._ray.exceptions
        try:
            reference = method.remote(*arguments)
        except errors.RayError as error:
            raise _Lost(_first_line(error)) from error
        try:
            return await asyncio.wrap_future(reference.future())
        except asyncio.CancelledError:
            self._ray.cancel(reference, recursive=False)
            raise
        except (errors.RuntimeEnvSetupError, errors.ActorUnschedulableError) as error:
            raise InputError(
                f"no worker can start: {_first_line(error)}", field="executor", value="ray"
            ) from error
        except errors.RayError as error:
            raise _Lost(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """What a person needs of Ray's message: not the trace, nor what somebody else printed."""
    text = redact(str(error)).partition(" Some common causes")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    cause = [line for line in lines if "reason" in line.lower() or "because" in line.lower()]
    return f"{type(error).__name__}: {(cause or lines or [''])[0]}"[:400]
