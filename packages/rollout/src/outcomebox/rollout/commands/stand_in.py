"""`outcomebox-rollout stand-in`: try the way to a real endpoint where there is no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from outcomebox.rollout.commands.shared import reported, say, stderr
from outcomebox.rollout.policies.simulated import simulated_policy
from outcomebox.rollout.standin import KINDS, Chaos, known_tasks, standin
from outcomebox.rollout.standin.chaos import kinds_named
from outcomebox.sandbox import InputError

EXAMPLES = """\
Examples:

  outcomebox-rollout stand-in --port 8765
      then, elsewhere: outcomebox-rollout run --policy openai
      --policy-option base_url=http://127.0.0.1:8765/v1 --policy-option model=stand-in

  outcomebox-rollout stand-in --tasks retail --port 8765 --chaos 0.3
      three requests of ten go wrong: 429, 5xx, resets, cut-off and garbage answers

  outcomebox-rollout stand-in --chaos 1 --chaos-kind truncated_stream

It is no model, and every answer says so. What has gone wrong is told at ADDRESS/stand-in.

Exit status: 0 ended by --seconds; 2 bad input; 130 interrupted.
"""


def stand_in(  # noqa: PLR0917 -- typer reads the parameters as flags
    tasks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|PATH", help="Tasks it knows; repeatable. Default: bundled."),
    ] = None,
    port: Annotated[
        int, typer.Option(help="TCP port on loopback; 0: a free one.", min=0, max=65535)
    ] = 0,
    chaos: Annotated[
        float, typer.Option(metavar="SHARE", help="Requests that go wrong.", min=0.0, max=1.0)
    ] = 0.0,
    chaos_kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help=f"Only so; repeatable. {', '.join(KINDS)}."),
    ] = None,
    chaos_seed: Annotated[int, typer.Option(help="Decides which go wrong.", min=0)] = 0,
    delay: Annotated[
        float, typer.Option(metavar="SECONDS", help="Wait before each answer.", min=0.0)
    ] = 0.0,
    skill: Annotated[str, typer.Option(help="Above 1 it slips less, below 1 more.")] = "1.0",
    malformed: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Calls that first come malformed.", min=0.0, max=1.0),
    ] = 0.05,
    parallel: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Calls that the next comes with.", min=0.0, max=1.0),
    ] = 0.2,
    yes: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Judge's questions told yes.", min=0.0, max=1.0),
    ] = 1.0,
    seconds: Annotated[
        float | None, typer.Option(help="End after so long. Default: at Ctrl-C.", min=0.0)
    ] = None,
    address_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the address there once it is answered."),
    ] = None,
) -> None:
    """Serve the simulated policy as if it were a model behind an OpenAI-compatible endpoint.

    It is no model: it follows each task's golden calls and slips at stated rates. It answers as
    stand-in (calls read), stand-in-raw (raw output), stand-in-user and stand-in-judge. Answers
    follow from the request alone, so it can be killed and started again.
    """
    with reported(stderr()):
        wrong = Chaos(rate=chaos, seed=chaos_seed, kinds=kinds_named(chaos_kind))
        settings: dict[str, Any] = {
            "chaos": wrong if chaos else None,
            "port": port,
            "policy": simulated_policy(skill),
            "malformed": malformed,
            "parallel": parallel,
            "delay_s": delay,
            "yes": yes,
        }
        anyio.run(_serve, tuple(tasks or ()), settings, seconds, address_file)


async def _serve(
    tasks: tuple[str, ...],
    settings: Mapping[str, Any],
    seconds: float | None,
    address_file: Path | None,
) -> None:
    console = stderr()
    known = await known_tasks(tasks)
    async with standin(known, **settings) as endpoint:
        say(console, "A stand-in, no model: it knows each task's golden calls.", "yellow")
        for uid in known.ambiguous:
            say(console, f"{uid} begins like another task, for which it will be taken.", "yellow")
        typer.echo(endpoint.address)
        if address_file is not None:
            await _write(address_file, endpoint.address)
        with anyio.move_on_after(seconds):
            await anyio.sleep_forever()


async def _write(file: Path, address: str) -> None:
    try:
        part = anyio.Path(file.with_name(f".{file.name}.part"))
        await part.write_text(f"{address}\n", encoding="utf-8")
        await part.replace(file)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}); name another", field="address-file", file=file
        ) from error
