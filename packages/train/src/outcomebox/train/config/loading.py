"""From ``run.yaml`` to :class:`RunConfig`, and back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from outcomebox.sandbox import InputError
from outcomebox.train.config.model import RunConfig
from outcomebox.train.config.presets import merged, preset
from outcomebox.train.config.problems import problem

_PATHS = (
    ("out",),
    ("python",),
    ("model", "path"),
    ("model", "chat_template"),
    ("pool", "path"),
    ("pool", "benchmark"),
    ("episodes", "tasks"),
    ("episodes", "dataset"),
    ("episodes", "servers"),
    ("episodes", "server_python"),
    ("episodes", "list_file"),
    ("episodes", "judge_cache"),
    ("cluster", "ray_temp"),
)
"""Fields that hold paths, relative to the file that names them."""

_NAMES_TOO = {("pool", "benchmark"), ("episodes", "tasks"), ("python",)}
"""Of these, what has neither a slash nor a file's ending is a name: a domain, a program."""

_ENDINGS = (".yaml", ".yml", ".jsonl", ".txt")


@dataclass(frozen=True)
class Loaded:
    """Settings with where they came from.

    Attributes:
        config: The settings, paths made absolute.
        file: The file that was read, for messages.
        preset: The preset below it; None without one.
    """

    config: RunConfig
    file: str
    preset: str | None


def load_config(path: Path) -> Loaded:
    """Read settings; what the file says wins over its preset.

    Args:
        path: ``run.yaml``. Its field ``preset`` names what it starts from.

    Raises:
        InputError: The file cannot be read, or the first field that is wrong, with its mend.
    """
    return parse_config(_read(path), path)


def parse_config(plain: Any, path: Path) -> Loaded:
    """Settings from plain values.

    Args:
        plain: What the file holds.
        path: The file, which paths are relative to.

    Raises:
        InputError: As for :func:`load_config`.
    """
    file = str(path)
    if not isinstance(plain, dict):
        raise InputError(
            "is no mapping; write fields such as preset: 1xgpu", file=file, value=plain
        )
    own = dict(plain)
    name = own.pop("preset", None)
    try:
        whole = merged(preset(name), own) if name is not None else own
    except InputError as error:
        raise InputError(str(error), file=file) from None
    try:
        # In JSON a list is the way to write a tuple, while numbers stay numbers and texts texts.
        config = RunConfig.model_validate_json(json.dumps(whole, default=str))
    except ValidationError as error:
        raise problem(error, RunConfig, file) from None
    absolute = _rebased(config.model_dump(mode="json"), Path(os.path.abspath(path)).parent)  # noqa: PTH100 -- a link stays a link
    return Loaded(RunConfig.model_validate_json(json.dumps(absolute)), file, name)


def config_text(config: RunConfig) -> str:
    """Settings as YAML, whole: no preset is needed to read them again."""
    return yaml.safe_dump(
        config.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100
    )


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); name a settings file with --config", file=path
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 ({error.reason}); save it as UTF-8", file=path) from error
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())
        raise InputError(f"is not YAML ({told}); mend that line", file=path) from error


def _rebased(plain: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same with its paths absolute."""
    for place in _PATHS:
        *sections, field = place
        holder = plain
        for section in sections:
            holder = holder[section]
        value = holder[field]
        keep_names = place in _NAMES_TOO
        if isinstance(value, list):
            holder[field] = [_absolute(each, folder, keep_names) for each in value]
        elif value is not None:
            holder[field] = _absolute(value, folder, keep_names)
    return plain


def _absolute(text: str, folder: Path, keep_names: bool) -> str:
    if keep_names and "/" not in text and not text.endswith(_ENDINGS):
        return text
    # A link stays a link: the Python of a virtual environment is one.
    return os.path.abspath(folder / Path(text).expanduser())  # noqa: PTH100 -- as above
