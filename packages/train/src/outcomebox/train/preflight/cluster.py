"""The machines: the right Python and verl on each, enough GPUs, one folder, every secret set."""

from __future__ import annotations

import uuid
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.launch.node import ask_node
from outcomebox.train.launch.plan import Plan, process_environment
from outcomebox.train.preflight.context import Context
from outcomebox.train.preflight.nodes import marked
from outcomebox.train.preflight.secrets import variables_of

_FOLDERS = {
    "missing": "is not there on {host}; put it on storage that all nodes share",
    "other": "is another folder on {host}; put it on storage that all nodes share",
    "closed": "cannot be written on {host}; mend its permissions there",
}


def check_cluster(context: Context) -> str:
    """Every machine has what the run needs.

    Raises:
        InputError: One has not.
    """
    plan = context.plan
    facts = _facts(plan)
    cluster = plan.config.cluster
    for each in facts:
        _check_node(context, each)
    if cluster.device == "cuda":
        fitting = [each for each in facts if each["gpus"] >= cluster.gpus]
        if len(fitting) < cluster.nodes:
            seen = ", ".join(f"{each['host']} {each['gpus']}" for each in facts)
            raise context.wrong(
                "cluster.gpus",
                f"x {cluster.nodes} nodes are not there (GPUs seen: {seen}); lower cluster.nodes "
                "or cluster.gpus, or start Ray on more nodes (outcomebox-train ray-start)",
                cluster.gpus,
            )
    elif len(facts) < cluster.nodes:
        raise context.wrong("cluster.nodes", f"are not there: {len(facts)} are; start Ray on more")
    hosts = ", ".join(each["host"] for each in facts)
    return f"{len(facts)} machines ({hosts}) with verl {plan.source.version} and one folder"


def _check_node(context: Context, facts: dict[str, Any]) -> None:
    plan, host = context.plan, facts["host"]
    if facts["verl"] != plan.source.version:
        raise context.wrong(
            "python",
            f"has verl {facts['verl'] or '(none)'} on {host}, and the run was composed for "
            f"{plan.source.version}; install that there",
            plan.python,
        )
    if facts["versions"]["ray"] is None or facts["versions"]["torch"] is None:
        lacking = " and ".join(name for name in ("ray", "torch") if not facts["versions"][name])
        raise context.wrong(
            "python", f"has no {lacking} on {host}; install the training environment", plan.python
        )
    if facts["unset"]:
        raise context.wrong(
            "secrets",
            f"{facts['unset'][0]} is not set on {host}; export it there before ray-start",
        )
    told = _FOLDERS.get(facts["folder"])
    if told is not None:
        raise context.wrong("out", told.format(host=host), str(plan.out))


def _facts(plan: Plan) -> list[dict[str, Any]]:
    mark = uuid.uuid4().hex
    asked = {
        "address": plan.config.cluster.ray_address,
        "variables": [name for name, _ in variables_of(plan.config)],
        "folder": str(plan.out),
        "mark": mark,
    }
    try:
        with marked(plan.out, mark):
            found: list[dict[str, Any]] = ask_node(plan.python, asked, process_environment(plan))
    except InputError as error:
        raise InputError(str(error), file=plan.loaded.file) from None
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}); name another out",
            file=plan.loaded.file,
            field="out",
            value=str(plan.out),
        ) from error
    return found
