"""What every process of a training run reads: one file, written by the launcher before the start.

verl starts its processes on several machines and hands none of our settings on. So the launcher
writes ``worker.json`` into the run's folder, which all nodes share, and names it in the environment
variable :data:`SETTINGS_VARIABLE`. Whoever reads it checks that the pool is still the file whose
digest was written down: a pool that changed under a run would be another experiment.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from outcomebox.rollout import RunSpec
from outcomebox.sandbox import InputError
from outcomebox.sandbox.errors import input_error

SETTINGS_VARIABLE = "OUTCOMEBOX_TRAIN_SETTINGS"
"""The environment variable that names the file."""

SETTINGS_FILE = "worker.json"
"""Its name in the run's folder."""

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class PoolSettings(_Frozen):
    """The pool that is trained on.

    Attributes:
        path: Absolute path of its ``train.yaml``.
        sha256: Digest of that file, hex.
        test_path: Of its ``test.yaml``; None where nothing is validated.
        test_sha256: Digest of that file, hex.
        bands: Band of each task by uid, both sides; None where the probe gave none.
        mixed_chances: Predicted chance that a group of a task is mixed, by uid, both sides.
    """

    path: str
    sha256: str
    test_path: str | None = None
    test_sha256: str | None = None
    bands: Mapping[str, str | None]
    mixed_chances: Mapping[str, Share]

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.test_path is None) != (self.test_sha256 is None):
            raise ValueError("test_path and test_sha256 go together; give both or none")
        if set(self.bands) != set(self.mixed_chances):
            raise ValueError("bands and mixed_chances name different tasks; write both anew")
        return self


class RefillSettings(_Frozen):
    """How long a batch is tried to be filled.

    Attributes:
        max_rounds: Rounds of sampling for one step, the first included.
        max_wasted_groups: Groups of one step that may be thrown away (not mixed, or broken).
        max_silence_s: Seconds without a group that ends: its process is gone, or hangs.
    """

    max_rounds: Positive
    max_wasted_groups: Annotated[int, Field(ge=0)]
    max_silence_s: Positive


class WorkerSettings(_Frozen):
    """All that decides a rollout and its reward, as plain values; it holds no secret.

    Attributes:
        run_id: Names the run in rows and trackers.
        out: Absolute path of the run's folder, the same on every node.
        spec: ``RunSpec.to_json()`` of rollout: tasks, servers, user, judge, seed, profile.
        pool: The pool.
        model_path: Folder of the base checkpoint with its tokenizer.
        format: How the model writes calls and reasoning, as the interpreter names it.
        chat_template: File that replaces the model's own template; None for its own.
        enable_thinking: Of the template; None where it is not told.
        max_turns: Assistant turns of an episode; None for each task's own limit.
        turn_tokens: Most tokens of one turn.
        prompt_tokens: Most tokens of the first prompt.
        response_tokens: Most tokens behind it: all turns, tool answers and user messages.
        context_tokens: Most tokens of prompt and response together.
        temperature: Of sampling.
        top_p: Of sampling.
        top_k: Of sampling; 0 for off.
        group_size: Attempts at one task in a step.
        groups_per_step: Groups of which a step's batch consists.
        predicted_useful_share: Share of mixed groups that the probe predicts, in [0, 1].
        refill: Bounds of refilling.
        verl_version: The verl that the run was composed for.
        versions: Package -> version, of the launcher's environment.
        inputs: File -> SHA-256 (hex) of what else decides the run (template, servers, tasks).
    """

    run_id: Annotated[str, Field(min_length=1)]
    out: str
    spec: Mapping[str, Any]
    pool: PoolSettings
    model_path: str
    format: str = "qwen3_xml"
    chat_template: str | None = None
    enable_thinking: bool | None = None
    max_turns: Positive | None = None
    turn_tokens: Positive
    prompt_tokens: Positive
    response_tokens: Positive
    context_tokens: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    top_k: Annotated[int, Field(ge=0)]
    group_size: Annotated[int, Field(ge=2)]
    groups_per_step: Positive
    predicted_useful_share: Share
    refill: RefillSettings
    verl_version: str
    versions: Mapping[str, str]
    inputs: Mapping[str, str] = Field(default_factory=dict)

    @property
    def run_spec(self) -> RunSpec:
        """The episodes' settings as rollout takes them."""
        return RunSpec.from_json(self.spec)

    @property
    def rows(self) -> Path:
        """Folder of the rows; each process writes a file of its own there."""
        return Path(self.out) / "rows"

    @property
    def steps(self) -> Path:
        """The log of steps."""
        return Path(self.out) / "steps.jsonl"

    def to_text(self) -> str:
        """As the file has it: the same settings give the same bytes."""
        plain = self.model_dump(mode="json")
        return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, hex.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); name a file that is there", file=path
        ) from error


def load_settings(path: Path | str | None = None) -> WorkerSettings:
    """Read the settings of this process's run, and see that its inputs are still the same.

    Args:
        path: The file; by default what :data:`SETTINGS_VARIABLE` names.

    Raises:
        InputError: There is no such file, it cannot be used, or the pool or another input is not
            the file that the run was started with.
    """
    given = path if path is not None else os.environ.get(SETTINGS_VARIABLE)
    if not given:
        raise InputError(
            "is not set, so this process does not know its run; start training by outcomebox-train",
            field=SETTINGS_VARIABLE,
        )
    file = Path(given)
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); the run's folder must be the same on every node",
            file=file,
        ) from error
    except ValueError as error:
        raise InputError(f"is not JSON ({error}); start the run anew", file=file) from error
    try:
        settings = WorkerSettings.model_validate(plain)
    except ValidationError as error:
        raise input_error(error, file=file, data=plain) from error
    pool = settings.pool
    _same(file, "pool.sha256", Path(pool.path), pool.sha256)
    if pool.test_path is not None and pool.test_sha256 is not None:
        _same(file, "pool.test_sha256", Path(pool.test_path), pool.test_sha256)
    for name, digest in settings.inputs.items():
        _same(file, f"inputs.{name}", Path(name), digest)
    return settings


def _same(file: Path, field: str, path: Path, digest: str) -> None:
    found = file_digest(path)
    if found != digest:
        raise InputError(
            f"{path} is not the file that this run was started with; restore it, or start a run "
            "in another folder",
            file=file,
            field=field,
            value=found,
        )
