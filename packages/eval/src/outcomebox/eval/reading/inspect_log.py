"""Logs of Inspect: the JSON form as it is, `.eval` files through Inspect's own reader."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Iterator, Mapping
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
)
from outcomebox.eval.results import Expected, ExpectedTask, Source
from outcomebox.sandbox.errors import InputError

FIELDS = ("passed",)
_LABELS = {"C": 1.0, "I": 0.0, "N": 0.0, "P": 0.5}
_FINISH = {
    "message": "agent_limit",
    "turn": "agent_limit",
    "token": "token_limit",
    "context": "token_limit",
}


def is_inspect(plain: Any) -> bool:
    """Whether a JSON value is a log."""
    return isinstance(plain, dict) and {"eval", "status"} <= plain.keys()


def read_inspect(
    path: Path, into: Rows, chosen: Mapping[str, str]
) -> tuple[Source, Expected | None]:
    """Read a log.

    Args:
        path: The file.
        into: Where rows go.
        chosen: ``passed`` -> name of the scorer (or ``scorer.key``) whose score is the verdict.

    Returns:
        The source, and what its run was to do, where it names its samples.

    Raises:
        InputError: It cannot be used, or there are several scorers and none was chosen.
    """
    for column in chosen:
        if column not in FIELDS:
            raise InputError(
                "of Inspect logs only passed can be chosen", field="field", value=column
            )
    if path.suffix == ".eval":
        head, samples = _own_reader(path)
        data = path.read_bytes()
    else:
        data, head = json_file(path, constants=True)
        if not is_inspect(head):
            raise InputError("is no log of Inspect: it needs eval and status", file=path)
        samples = iter(head.get("samples") or ())
    log = _Log(head, path, chosen.get("passed"))
    rows = 0
    for number, sample in enumerate(samples, 1):
        place = Place(path, number, "sample")
        for row in log.rows(mapping(sample, "sample", place), place):
            into.add(row, place)
            rows += 1
    if head["status"] != "success":
        into.notes.append(f"{path}: the status of the log is {head['status']!r}, not success")
    source = Source(str(path), "inspect", hashlib.sha256(data).hexdigest(), rows)
    return source, log.expected()


def _own_reader(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """Head and samples of an `.eval` file, in the JSON form."""
    try:
        log = importlib.import_module("inspect_ai.log")
    except ImportError as error:
        raise InputError(
            "is read by Inspect's own reader: install outcomebox-eval[inspect], or convert the "
            "file with `inspect log dump`",
            file=path,
        ) from error
    try:
        head = log.read_eval_log(str(path), header_only=True).model_dump(exclude_none=True)
        samples = log.read_eval_log_samples(str(path), all_samples_required=False)
        return head, (sample.model_dump(exclude_none=True) for sample in samples)
    except Exception as error:
        # Its errors are of many kinds, from zip files to validation.
        raise InputError(f"cannot be read by Inspect ({error})", file=path) from error


class _Log:
    """What all samples of a log share."""

    def __init__(self, head: Mapping[str, Any], path: Path, scorer: str | None) -> None:
        place = Place(path, 1, "log")
        spec = mapping(head["eval"], "eval", place)
        self.path = path
        self.scorer = scorer
        self.task = text(spec.get("task"), "eval.task", place)
        self.model = text(spec.get("model"), "eval.model", place)
        self.dataset = mapping(spec.get("dataset"), "eval.dataset", place)
        config = mapping(spec.get("config"), "eval.config", place)
        epochs = config.get("epochs")
        self.epochs = 1 if epochs is None else count(epochs, "eval.config.epochs", place, least=1)
        self.roles = {
            str(mapping(value, "eval.model_roles", place).get("model")): role
            for role, value in mapping(spec.get("model_roles"), "eval.model_roles", place).items()
        }
        self.policy = canonical(
            {
                "name": "inspect",
                "model": self.model,
                "solver": spec.get("solver"),
                "arguments": spec.get("model_args"),
                "config": spec.get("model_generate_config"),
            }
        )
        packages = mapping(spec.get("packages"), "eval.packages", place)
        told = canonical({"packages": packages, "task_version": spec.get("task_version")})
        self.versions = hashlib.sha256(told.encode()).hexdigest()[:12]
        self.ids = Ids()

    def expected(self) -> Expected | None:
        """Every sample of the dataset, so many epochs."""
        ids = self.dataset.get("sample_ids")
        if not isinstance(ids, list):
            return None
        place = Place(self.path, 1, "log")
        name = "eval.dataset.sample_ids"
        tasks = {
            self.uid(self.ids.text(each, name, place)): ExpectedTask(self.task) for each in ids
        }
        return Expected(tasks, tuple(range(self.epochs)), f"samples and epochs of {self.path}")

    def uid(self, sample: str) -> str:
        """The uid of a sample."""
        return f"{self.task}/{sample}"

    def rows(self, sample: Mapping[str, Any], place: Place) -> Iterator[dict[str, Any]]:
        """The tries of a sample: those that broke and were made again, and the last."""
        epoch = count(sample.get("epoch"), "epoch", place, least=1)
        shared = {
            "uid": self.uid(self.ids.text(sample.get("id"), "id", place)),
            "repetition": epoch - 1,
            "domain": self.task,
            "tags": [],
            "policy": self.policy,
            "versions_hash": self.versions,
        }
        attempt = 0
        for _ in sample.get("error_retries") or ():
            yield {
                **shared,
                "try": attempt,
                "outcome": "system_error",
                "error_phase": "run",
                "error_type": "retried",
                "usage": [],
            }
            attempt += 1
        score, error = self._verdict(sample, place)
        outcome = "system_error" if error else "passed" if score == 1 else "failed"
        limit = mapping(sample.get("limit"), "limit", place).get("type")
        finish = "done" if limit is None else _FINISH.get(str(limit), f"limit:{limit}")
        usage, cost = self._usage(sample, place)
        seconds = sample.get("total_time")
        yield {
            **shared,
            "try": attempt,
            "outcome": outcome,
            "finish_reason": None if error else finish,
            "score": None if error else score,
            "seconds": optional_number(seconds, "total_time", place),
            "usage": usage,
            "cost": cost,
            "error_phase": None if error is None else error[0],
            "error_type": None if error is None else error[1],
            **_transcript(sample.get("messages"), place),
        }

    def _verdict(
        self, sample: Mapping[str, Any], place: Place
    ) -> tuple[float, tuple[str, str] | None]:
        """The score from 0 to 1; or else where and how the attempt lost its verdict."""
        if sample.get("error") is not None:
            # An error wins over a score that was given all the same.
            return 0.0, ("run", "sample error")
        if sample.get("invalidation") is not None:
            return 0.0, ("run", "invalidated")
        scores = mapping(sample.get("scores"), "scores", place)
        if not scores:
            return 0.0, ("judge", "not scored")
        name, _, key = (self.scorer or "").partition(".")
        if self.scorer is None:
            if len(scores) > 1:
                raise place.refuse(
                    f"there are {len(scores)} scorers ({', '.join(scores)}); choose one with "
                    "--field passed=NAME",
                    field="scores",
                )
            name = next(iter(scores))
        elif self.scorer in scores:
            name, key = self.scorer, ""
        if name not in scores:
            raise place.refuse(
                f"has no scorer of that name; there are {', '.join(scores)}",
                field="scores",
                value=name,
            )
        value = mapping(scores[name], f"scores.{name}", place).get("value")
        where = f"scores.{name}.value"
        if key:
            value, where = mapping(value, where, place).get(key), f"{where}.{key}"
        return _score(value, where, place)

    def _usage(self, sample: Mapping[str, Any], place: Place) -> tuple[list[Usage], float | None]:
        """Tokens a model, and their cost where the log states all of it."""
        usages: list[Usage] = []
        costs: list[float | None] = []
        for model, spent in mapping(sample.get("model_usage"), "model_usage", place).items():
            told = mapping(spent, "model_usage", place)

            def tokens(name: str) -> int | None:
                return optional_count(told.get(name), f"model_usage.{name}", place)  # noqa: B023

            cached, written = tokens("input_tokens_cache_read"), tokens("input_tokens_cache_write")
            fresh = tokens("input_tokens")
            role = "policy" if model == self.model else self.roles.get(model, "other")
            usages.append(
                Usage(
                    role=role,
                    model=model,
                    # There, tokens from the cache are no part of the input.
                    input=None if fresh is None else fresh + (cached or 0) + (written or 0),
                    cached=cached,
                    output=tokens("output_tokens"),
                    reasoning=tokens("reasoning_tokens"),
                )
            )
            costs.append(optional_number(told.get("total_cost"), "model_usage.total_cost", place))
        known = [each for each in costs if each is not None]
        return usages, sum(known) if known and len(known) == len(costs) else None


def _score(value: Any, where: str, place: Place) -> tuple[float, tuple[str, str] | None]:
    if isinstance(value, str) and value in _LABELS:
        return _LABELS[value], None
    if isinstance(value, float) and math.isnan(value):
        return 0.0, ("judge", "not scored")
    if isinstance(value, bool):
        return float(value), None
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value), None
    raise place.refuse(
        "is no verdict: C, I, P, N, true, false or a number from 0 to 1; choose a scorer that "
        "gives one with --field passed=NAME or passed=NAME.KEY",
        field=where,
        value="null" if value is None else value,
    )


def _transcript(messages: Any, place: Place) -> dict[str, Any]:
    if not messages:
        return {}
    turns = calls = errors = 0
    last = False
    for message in messages:
        told = mapping(message, "messages", place)
        role = optional_text(told.get("role"), "messages.role", place)
        if role == "assistant":
            turns += 1
        elif role == "tool":
            calls += 1
            last = told.get("error") is not None
            errors += last
    return {"turns": turns, "tool_calls": calls, "tool_errors": errors, "last_tool_error": last}
