"""The settings of the Ray executor, read from text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from outcomebox.sandbox import InputError

FIELD = "executor-option"

KEEP_CHILDREN = {"RAY_kill_child_processes_on_worker_exit": "false"}
"""Ray kills the children of a worker that it ends. A tool server's supervisor must outlive its
worker for the moment in which it ends the sessions and removes their files."""


def _pairs(text: object) -> object:
    """``a=1,b=2`` as a mapping."""
    if not isinstance(text, str):
        return text
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise ValueError("write NAME=VALUE, several with commas between")
        found[name.strip()] = value.strip()
    return found


def _names(text: object) -> object:
    """``A,B`` as names."""
    if not isinstance(text, str):
        return text
    return tuple(filter(None, (part.strip() for part in text.split(","))))


class RayOptions(BaseModel):
    """What ``--executor-option NAME=VALUE`` may say to the executor ``ray``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str | None = Field(
        default=None,
        description="HOST:PORT of the cluster's head, or `local`: a cluster of this machine alone, "
        "for this run. Default: RAY_ADDRESS, else the cluster that runs on this machine.",
    )
    workers: PositiveInt | None = Field(
        default=None, description="Worker processes. Default: as many as the cluster has room for."
    )
    slots: PositiveInt | None = Field(
        default=None, description="Episodes at a time in each. Default: --concurrency over workers."
    )
    cpus: NonNegativeFloat = Field(default=1.0, description="CPUs that each worker asks Ray for.")
    memory: ByteSize | None = Field(
        default=None, description="Memory that each worker asks Ray for, such as 2GiB."
    )
    resources: Annotated[dict[str, PositiveFloat], BeforeValidator(_pairs)] = Field(
        default_factory=dict, description="Other resources that each worker asks for: NAME=AMOUNT."
    )
    labels: Annotated[dict[str, str], BeforeValidator(_pairs)] = Field(
        default_factory=dict, description="Labels that a worker's node must have: NAME=VALUE."
    )
    env: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        default=(), description="Environment variables of this process that workers get, by name."
    )
    working_dir: str | None = Field(
        default=None, description="Folder that is copied to the nodes; relative paths start there."
    )
    runtime_env: Path | None = Field(
        default=None, description="YAML or JSON file with a Ray runtime environment."
    )
    wait_s: PositiveFloat = Field(
        default=600.0, description="Seconds without any worker before the run ends."
    )
    patience_s: PositiveFloat = Field(
        default=60.0, description="Seconds in which a worker must answer, else it is replaced."
    )

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read them.

        Raises:
            InputError: One is unknown or has a value of no use.
        """
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            name = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                raise InputError(
                    f"the executor ray has no option {name}; its options: "
                    f"{', '.join(cls.model_fields)}",
                    field=FIELD,
                    value=name,
                ) from None
            message = problem["msg"].removeprefix("Value error, ")
            raise InputError(
                f"{name}: {message}", field=FIELD, value=problem.get("input")
            ) from None

    def variables(self) -> dict[str, str]:
        """The variables that workers get, with this process's values.

        Raises:
            InputError: One is not set.
        """
        found = {}
        for name in self.env:
            if name not in os.environ:
                raise InputError(
                    f"env: the environment variable {name} is not set here; set it, or leave it "
                    "out where the nodes have it",
                    field=FIELD,
                )
            found[name] = os.environ[name]
        return found

    def environment(self) -> dict[str, Any]:
        """The runtime environment of the run, as Ray takes it.

        Raises:
            InputError: The file cannot be read, or the folder is not there.
        """
        given: dict[str, Any] = {}
        if self.runtime_env is not None:
            try:
                loaded = yaml.safe_load(self.runtime_env.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
                raise InputError(f"cannot be read: {error}", file=self.runtime_env) from error
            if not isinstance(loaded, dict):
                raise InputError(
                    "must be a mapping, such as working_dir: ...", file=self.runtime_env
                )
            given = loaded
        if self.working_dir is not None:
            if "working_dir" in given:
                raise InputError(
                    "working_dir is an option already; take it out of one of the two",
                    file=self.runtime_env,
                )
            if "://" not in self.working_dir and not Path(self.working_dir).is_dir():
                raise InputError("working_dir: is no folder", field=FIELD, value=self.working_dir)
            given = {**given, "working_dir": self.working_dir}
        return given

    def demands(self) -> dict[str, Any]:
        """What each worker asks Ray for, as ``ray.remote`` takes it."""
        demands: dict[str, Any] = {
            "num_cpus": self.cpus,
            "scheduling_strategy": "SPREAD",
            # Added by Ray to the environment of the run.
            "runtime_env": {"env_vars": dict(KEEP_CHILDREN)},
        }
        if self.memory is not None:
            demands["memory"] = int(self.memory)
        if self.resources:
            demands["resources"] = self.resources
        if self.labels:
            demands["label_selector"] = self.labels
            # Ray takes a label selector or a strategy, not both.
            del demands["scheduling_strategy"]
        return demands
