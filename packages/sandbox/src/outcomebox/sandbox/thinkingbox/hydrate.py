"""From a test as its file has it to a whole task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from outcomebox.sandbox.errors import InputError, input_error
from outcomebox.sandbox.thinkingbox.dataset import Dataset, validated
from outcomebox.sandbox.thinkingbox.history import HistoryRef, normal_messages
from outcomebox.sandbox.thinkingbox.near import near
from outcomebox.sandbox.thinkingbox.tags import Tags
from outcomebox.sandbox.thinkingbox.task import Form, Scenario, ThinkingBoxTask
from outcomebox.sandbox.thinkingbox.testfile import TestCase

_OWN = (
    "query",
    "bot_instructions",
    "user_context",
    "max_user_sim_turns",
    "max_agent_sim_turns",
    "init",
    "format_query",
)


class _Tagged(Form):
    tags: Tags = Tags()


def hydrate(dataset: Dataset, path: Path, case: TestCase, agent: str) -> ThinkingBoxTask:
    """A test with its agent, scenario, history, fixtures and merged tags.

    Args:
        dataset: Where agent, scenario and fixtures are looked up.
        path: The test file, absolute.
        case: The test.
        agent: The agent's name.

    Raises:
        InputError: Something in the test, or in a file that it names, is wrong.
    """
    uid = f"{path.name}:{case.name}"
    config = case.config
    scenario = _scenario(dataset, case, uid)
    tagged = {"tags": config["tags"]} if "tags" in config else {}
    tags = validated(_Tagged, tagged, file=case.where, task=uid).tags
    metadata = config.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError(
            "must be a mapping", file=case.where, task=uid, field="metadata", value=metadata
        )
    row = {key: config[key] for key in _OWN if key in config}
    row |= {
        "uid": uid,
        "agent": dataset.agent(agent),
        "scenario": scenario,
        "history": _history(dataset, path, case, uid),
        "test_code": case.code(),
        "metadata": {
            "scenario": scenario.name,
            **metadata,
            "agent": agent,
            "test_case_file": str(path),
            "test_case_name": case.name,
        },
        "tags": tags.under(scenario.tags),
        "fixtures": {**dataset.fixtures(path), **scenario.fixtures},
    }
    return validated(ThinkingBoxTask, row, file=case.where, task=uid)


def _scenario(dataset: Dataset, case: TestCase, uid: str) -> Scenario:
    name = case.config.get("scenario")
    if not isinstance(name, str) or not name:
        message = "is missing; name a file of the folder scenario, without .yaml"
        raise InputError(message, file=case.where, task=uid, field="scenario", value=name)
    folder = dataset.folder / "scenario"
    if not (folder / f"{name}.yaml").is_file():
        known = sorted(file.stem for file in folder.glob("*.yaml"))
        message = f"there is no scenario {name!r} in the dataset; {near(name, known)}"
        raise InputError(message, file=case.where, task=uid, field="scenario")
    return dataset.scenario(name)


def _history(dataset: Dataset, path: Path, case: TestCase, uid: str) -> list[dict[str, Any]] | None:
    given = case.config.get("history")
    if given is None:
        return None
    try:
        reference = HistoryRef.parse(given)
        messages = dataset.history(path).get(reference.key)
        if messages is not None:
            return normal_messages(reference.cut(messages))
    except InputError:
        raise
    except ValidationError as error:
        raise input_error(error, file=case.where, task=uid) from error
    except ValueError as error:
        raise InputError(
            str(error), file=case.where, task=uid, field="history", value=given
        ) from error
    known = near(reference.key, dataset.history(path))
    message = f"$history has no list {reference.key!r}; {known}"
    raise InputError(message, file=case.where, task=uid, field="history", value=given)
