"""The flags of commands that run episodes, and the settings that they decide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from outcomebox.rollout.commands.runsettings import pairs
from outcomebox.rollout.executors import executor_names
from outcomebox.rollout.policies import policy_names
from outcomebox.sandbox import BACKEND_VARIABLE

Tasks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|PATH",
        help="A domain (retail, travel), a task file or folder, or a folder in the ThinkingBox "
        "form; may be repeated. Default: all bundled domains.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"One of: {', '.join(policy_names())}. Default: simulated."),
]
PolicyOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Setting of the policy.")
]
UserOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="base_url, model ... of a model that plays the user. Default: the user is "
        "scripted by the task.",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="model: a model answers what checks ask a judge."),
]
JudgeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Setting of the judge: base_url, model, votes ..."),
]
JudgeCache = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep the judge's votes there, and use them."),
]
Attempts = Annotated[int | None, typer.Option(help="Attempts at each task. Default: 1.", min=1)]
Seed = Annotated[int | None, typer.Option(help="Seed of the run. Default: 0.", min=0)]
Profile = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="How raw output is read. Default: strict."),
]
LimitTasks = Annotated[
    int | None, typer.Option(help="Only so many tasks, the first by uid.", min=1)
]
Only = Annotated[
    list[str] | None, typer.Option(metavar="UID", help="Only this task; may be repeated.")
]
Repetition = Annotated[
    list[int] | None,
    typer.Option(metavar="N", help="Only this attempt, from 0; may be repeated.", min=0),
]
Servers = Annotated[
    Path | None, typer.Option(metavar="FILE", help="servers.yaml, for the ThinkingBox form.")
]
Dataset = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The ThinkingBox folder that --tasks chooses from."),
]
ListFile = Annotated[
    Path | None, typer.Option("--list", metavar="FILE", help="A YAML list of its tasks.")
]
Agent = Annotated[str | None, typer.Option(metavar="NAME", help="Its agent. Default: think.")]
ServerPython = Annotated[
    str | None, typer.Option(metavar="FILE", help="What {python} in servers.yaml stands for.")
]
Clock = Annotated[
    str | None, typer.Option(metavar="TIME", help="Frozen moment of its servers, ISO 8601.")
]
UserMayEnd = Annotated[
    bool | None,
    typer.Option("--user-may-end", help="Its simulated user may end the conversation."),
]
Backend = Annotated[
    str | None,
    typer.Option(
        metavar="sqlite|DSN",
        envvar=BACKEND_VARIABLE,
        show_envvar=True,
        help="Where sessions keep their rows: sqlite (default), or a PostgreSQL server. Never "
        "written down; an address with a password belongs into the variable.",
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"One of: {', '.join(executor_names())}. Default: local."),
]
ExecutorOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Setting of the executor.")
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        help="Episodes at a time, at most; fewer while an endpoint pushes back. Default: 4.",
        min=1,
    ),
]
MinConcurrency = Annotated[
    int | None, typer.Option(help="Episodes at a time, at least. Default: 1.", min=1)
]
Tries = Annotated[
    int | None, typer.Option(help="Tries of an attempt that breaks. Default: 3.", min=1)
]
Patience = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long an endpoint that is down is waited for. Default: 600.",
        min=0,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The run's folder. Default: a new one under runs/."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
Record = Annotated[
    bool | None,
    typer.Option("--record", help="Keep what is said to models and back, for --replay."),
]
Replay = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A recording answers, and no model is asked."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
]


_NAMES = {"patience": "patience_s", "repetition": "repetitions"}


def given(named: Mapping[str, Any]) -> dict[str, Any]:
    """What flags say of a run, by the field that each decides; None where one was not given.

    Args:
        named: Flags by the names above in lower case; others are passed on as they are.

    Raises:
        InputError: A ``NAME=VALUE`` is no such pair.
    """
    found: dict[str, Any] = {}
    for name, value in named.items():
        field = _NAMES.get(name, name)
        if name.endswith("_option"):
            found[f"{field}s"] = pairs(name.replace("_", "-"), value)
        elif name == "repetition":
            found[field] = tuple(sorted(set(value))) if value else None
        elif isinstance(value, list):
            found[field] = tuple(value) or None
        else:
            found[field] = str(value) if isinstance(value, Path) else value
    return found
