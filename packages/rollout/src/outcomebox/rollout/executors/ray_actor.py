"""What runs on a node: one worker of the run, in a Ray actor.

The class is made inside a function, so that it travels by its code: a node that lacks our packages
can then say so, instead of failing to find the class.
"""

from __future__ import annotations

from typing import Any


def worker_class() -> type[Any]:
    """The class of the actor."""

    class OutcomeboxWorker:
        """One worker: a sandbox of its own, and many jobs at a time."""

        def __init__(self) -> None:
            self.worker: Any = None
            self.keeper: Any = None
            self.ending: Any = None

        async def about(self) -> dict[str, Any]:
            """Where this is, and with which versions of what decides a row."""
            import os  # noqa: PLC0415 -- travels by its code
            import platform  # noqa: PLC0415 -- as above
            import socket  # noqa: PLC0415 -- as above

            about: dict[str, Any] = {
                "node": socket.gethostname(),
                "pid": os.getpid(),
                "versions": {"python": platform.python_version()},
                "missing": None,
            }
            try:
                from outcomebox.rollout.record import (  # noqa: PLC0415 -- may not be here
                    package_versions,
                )
                from outcomebox.rollout.spec import RunSpec  # noqa: F401, PLC0415 -- as above
            except ImportError as error:
                about["missing"] = str(error)
            else:
                about["versions"].update(package_versions())
            return about

        async def node(self) -> str:
            """Ray's name of the node."""
            import importlib  # noqa: PLC0415 -- as above

            context = importlib.import_module("ray").get_runtime_context()
            return str(context.get_node_id())

        async def start(
            self, plain: Any, variables: Any, secrets: Any, check: bool
        ) -> dict[str, Any]:
            """Make the worker; what kept it from being made is an answer, not an exception."""
            import asyncio  # noqa: PLC0415 -- as above
            import os  # noqa: PLC0415 -- as above

            from outcomebox.reward.secrets import redact, remember  # noqa: PLC0415 -- as above
            from outcomebox.rollout.errors import classify  # noqa: PLC0415 -- as above
            from outcomebox.rollout.executors.ray_fingerprint import (  # noqa: PLC0415 -- as above
                fingerprint,
            )
            from outcomebox.rollout.spec import RunSpec  # noqa: PLC0415 -- as above
            from outcomebox.sandbox import InputError  # noqa: PLC0415 -- as above

            # Not by Ray's runtime environment, which Ray writes into its logs and shows to all.
            os.environ.update(variables)
            remember(*secrets)
            self.ending = asyncio.Event()
            started: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

            async def keep() -> None:
                # The task that opens the sandbox is the one that has to close it.
                try:
                    async with RunSpec.from_json(plain).open() as worker:
                        started.set_result(worker)
                        await self.ending.wait()
                except BaseException as error:
                    if started.done():
                        raise
                    started.set_exception(error)

            self.keeper = asyncio.ensure_future(keep())
            try:
                self.worker = await started
                if check:
                    setting = self.worker.setting
                    for actor in (setting.policy, setting.user, setting.judge):
                        if actor is not None:
                            await actor.check()
            except InputError as error:
                return {"wrong": redact(str(error))}
            except Exception as error:  # noqa: BLE001 -- told to the driver, whatever it is
                record = classify(error)
                return {"broken": f"{record.type}: {record.message}"}
            return {"tasks": fingerprint(self.worker.tasks)}

        async def attempt(self, uid: str, repetition: int, attempt: int) -> Any:
            """One try."""
            from outcomebox.rollout.executors.base import Job  # noqa: PLC0415 -- as above

            return await self.worker.attempt(Job(uid, repetition, attempt))

        async def beat(self) -> bool:
            """Whether the event loop turns and the sandbox is there."""
            return self.keeper is not None and not self.keeper.done()

        async def close(self) -> None:
            """End the sandbox, with its processes and files."""
            if self.keeper is not None:
                self.ending.set()
                await self.keeper

    return OutcomeboxWorker


def end_process(pid: int, name: str) -> bool:
    """Kill a worker's process, on its node: Ray asks a process to end, and one that hangs does not.

    Args:
        pid: The process.
        name: What its command line must begin with, for the number may be another's by now.
    """
    import os  # noqa: PLC0415 -- travels by its code
    import signal  # noqa: PLC0415 -- as above
    from pathlib import Path  # noqa: PLC0415 -- as above

    try:
        if not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(name.encode()):
            return False
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True
