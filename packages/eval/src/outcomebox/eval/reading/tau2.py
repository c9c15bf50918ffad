"""Result files of tau2-bench: one JSON file, or `results.json` beside a folder `simulations`.

A simulation that infrastructure broke has no verdict, as there. One that its user simulator broke
(``user_error``) is not the agent's failure either: there it has reward 0, here no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.eval.reading.fields import Ids
from outcomebox.eval.reading.frame import Rows, Usage
from outcomebox.eval.reading.lines import json_file
from outcomebox.eval.reading.ours import canonical
from outcomebox.eval.reading.values import (
    Place,
    count,
    mapping,
    optional_count,
    optional_number,
    optional_text,
    text,
    total,
)
from outcomebox.eval.results import Expected, ExpectedTask, Source
from outcomebox.sandbox.errors import InputError

FOLDER = "simulations"
_BROKEN = {"infrastructure_error": "run", "unexpected_error": "run", "user_error": "user"}
_FINISH = {
    "agent_stop": "done",
    "user_stop": "user_done",
    "max_steps": "agent_limit",
    "context_window_exceeded": "token_limit",
}
_CLOSE = 1e-6
"""Tau2's own distance within which a reward is 1."""


def is_tau2(plain: Any) -> bool:
    """Whether a JSON value is a result file."""
    return isinstance(plain, dict) and {"info", "tasks"} <= plain.keys()


def read_tau2(path: Path, into: Rows) -> tuple[Source, Expected]:
    """Read a result file.

    Args:
        path: The file; simulations beside it, in a folder of that name, are read too.
        into: Where rows go.

    Returns:
        The source, and what its run was to do.

    Raises:
        InputError: It cannot be used.
    """
    data, plain = json_file(path)
    if not is_tau2(plain):
        raise InputError("is no result file of tau2-bench: it needs info and tasks", file=path)
    digest = hashlib.sha256(data)
    info = _Info(plain, path)
    ids = Ids()
    tasks: dict[str, ExpectedTask] = {}
    for number, task in enumerate(_list(plain, "tasks", path), 1):
        place = Place(path, number, "task")
        uid = f"{info.domain}/{ids.text(mapping(task, 'task', place).get('id'), 'id', place)}"
        tasks[uid] = ExpectedTask(info.domain)
    rows = 0
    for simulation, place in _simulations(plain, path, digest):
        into.add(_columns(simulation, info, ids, place), place)
        rows += 1
    due = Expected(tasks, tuple(range(info.trials)), f"tasks and trials of {path}")
    return Source(str(path), "tau2", digest.hexdigest(), rows), due


class _Info:
    """What all simulations of a file share."""

    def __init__(self, plain: Mapping[str, Any], path: Path) -> None:
        place = Place(path, 1, "info")
        info = mapping(plain["info"], "info", place)
        agent = mapping(info.get("agent_info"), "agent_info", place)
        user = mapping(info.get("user_info"), "user_info", place)
        environment = mapping(info.get("environment_info"), "environment_info", place)
        self.domain = text(environment.get("domain_name"), "environment_info.domain_name", place)
        self.trials = count(info.get("num_trials"), "num_trials", place, least=1)
        self.agent = optional_text(agent.get("llm"), "agent_info.llm", place)
        self.user = optional_text(user.get("llm"), "user_info.llm", place)
        self.policy = canonical(
            {
                "name": agent.get("implementation"),
                "model": agent.get("llm"),
                "arguments": agent.get("llm_args"),
                "user": {"name": user.get("implementation"), "model": user.get("llm")},
            }
        )
        commit = info.get("git_commit")
        self.versions = None if commit is None else str(commit)[:12]


def _list(plain: Mapping[str, Any], name: str, path: Path) -> Sequence[Any]:
    found = plain.get(name)
    if not isinstance(found, list):
        raise InputError("must be a list; restore the file", file=path, field=name, value=found)
    return found


def _simulations(
    plain: Mapping[str, Any], path: Path, digest: Any
) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """All simulations of the run, with their places."""
    for number, simulation in enumerate(plain.get("simulations") or (), 1):
        place = Place(path, number, "simulation")
        yield mapping(simulation, "simulation", place), place
    folder = path.parent / FOLDER
    index = plain.get("simulation_index")
    if index is None and not folder.is_dir():
        return
    there = {file.stem: file for file in sorted(folder.glob("*.json"))}
    told = {
        str(mapping(entry, "simulation_index", Place(path, number, "entry")).get("id"))
        for number, entry in enumerate(index or (), 1)
    }
    if index is not None and told != there.keys():
        lost, more = sorted(told - there.keys()), sorted(there.keys() - told)
        raise InputError(
            f"its index and the folder {FOLDER} differ: {len(lost)} files are missing {lost[:3]}, "
            f"{len(more)} are in no index {more[:3]}; restore them",
            file=path,
            field="simulation_index",
        )
    for file in there.values():
        data, simulation = json_file(file)
        digest.update(data)
        place = Place(file, 1, "simulation")
        yield mapping(simulation, "simulation", place), place


def _columns(run: Mapping[str, Any], info: _Info, ids: Ids, place: Place) -> dict[str, Any]:
    task = ids.text(run.get("task_id"), "task_id", place)
    trial = run.get("trial")
    if trial is None and info.trials == 1:
        trial = 0
    ended = text(run.get("termination_reason"), "termination_reason", place)
    reward, judged = _reward(run, place)
    phase = _BROKEN.get(ended) or (None if judged else "check")
    outcome = "system_error" if phase else "passed" if abs(reward - 1) <= _CLOSE else "failed"
    return {
        "uid": f"{info.domain}/{task}",
        "repetition": count(trial, "trial", place),
        "try": 0,
        "outcome": outcome,
        "domain": info.domain,
        "tags": [],
        "finish_reason": None if phase else _FINISH.get(ended, ended),
        "score": None if phase else reward,
        "seconds": optional_number(run.get("duration"), "duration", place),
        "cost": _cost(run, info, place),
        "error_phase": phase,
        "error_type": ended if ended in _BROKEN else "not graded" if phase else None,
        "policy": info.policy,
        "versions_hash": info.versions,
        **_transcript(run.get("messages"), info, place),
    }


def _reward(run: Mapping[str, Any], place: Place) -> tuple[float, bool]:
    """The reward, and whether there is one."""
    told = run.get("reward_info")
    if told is None:
        return 0.0, False
    reward = optional_number(
        mapping(told, "reward_info", place).get("reward"), "reward_info.reward", place
    )
    if reward is None:
        raise place.refuse("is missing; restore the file", field="reward_info.reward")
    if reward > 1 + _CLOSE:
        raise place.refuse("must be from 0 to 1", field="reward_info.reward", value=reward)
    return reward, True


def _cost(run: Mapping[str, Any], info: _Info, place: Place) -> float | None:
    """Both sides' cost; null while a side that a model played has none."""
    agent = optional_number(run.get("agent_cost"), "agent_cost", place)
    user = optional_number(run.get("user_cost"), "user_cost", place)
    if agent is None or (user is None and info.user is not None):
        return None
    return agent + (user or 0)


def _transcript(messages: Any, info: _Info, place: Place) -> dict[str, Any]:
    if messages is None:
        return {"usage": []}
    if not isinstance(messages, list):
        raise place.refuse("must be a list", field="messages", value=messages)
    turns = calls = errors = 0
    last = False
    asked: dict[str, list[Mapping[str, Any]]] = {}
    for message in messages:
        told = mapping(message, "messages", place)
        role = told.get("role")
        if role == "assistant":
            turns += 1
        if role in {"assistant", "user"} and told.get("usage") is not None:
            asked.setdefault(role, []).append(mapping(told["usage"], "messages.usage", place))
        # Several answers at once stand in one message.
        for answer in told.get("tool_messages") or ([told] if role == "tool" else ()):
            if answer.get("requestor", "assistant") == "assistant":
                calls += 1
                last = answer.get("error") is True
                errors += last
    models = {"assistant": ("policy", info.agent), "user": ("user", info.user)}

    def summed(spent: Iterable[Mapping[str, Any]], field: str) -> int | None:
        return total(optional_count(each.get(field), f"usage.{field}", place) for each in spent)

    usages = [
        Usage(
            role=models[role][0],
            model=models[role][1],
            input=summed(spent, "prompt_tokens"),
            cached=None,
            output=summed(spent, "completion_tokens"),
            reasoning=None,
        )
        for role, spent in asked.items()
    ]
    return {
        "turns": turns,
        "tool_calls": calls,
        "tool_errors": errors,
        "last_tool_error": last,
        "usage": usages,
    }
