"""From shards to a model that others load: verl's own merger, and what a server needs beside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import Checkpoint

MODULE = "verl.model_merger"
_TEMPLATE = "chat_template.jinja"


@dataclass(frozen=True)
class Merge:
    """A merge to be made.

    Attributes:
        checkpoint: What is merged.
        target: Where the model is to be.
        python: Python of the training environment.
        trust_remote_code: Whether code in the model's folder may run.
    """

    checkpoint: Checkpoint
    target: Path
    python: str
    trust_remote_code: bool = False

    @property
    def command(self) -> list[str]:
        """What is called."""
        more = ["--trust-remote-code"] if self.trust_remote_code else []
        return [
            self.python,
            "-m",
            MODULE,
            "merge",
            "--backend",
            "fsdp",
            "--local_dir",
            str(self.checkpoint.actor),
            "--target_dir",
            str(self.target),
            *more,
        ]


def check_target(target: Path) -> None:
    """See that a merge would not write over anything.

    Raises:
        InputError: It would.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("holds something already; name a new folder with --to", file=target)


def add_template(target: Path, template: Path | None) -> None:
    """Put the template that was trained with beside the merged weights.

    Args:
        target: The merged model.
        template: The file that replaced the model's own; None where none did.

    Raises:
        InputError: It cannot be copied.
    """
    if template is None:
        return
    try:
        shutil.copyfile(template, target / _TEMPLATE)
    except OSError as error:
        raise InputError(
            f"cannot be copied to {target / _TEMPLATE} ({error.strerror}); copy it by hand",
            file=template,
        ) from error


def check_merged(target: Path) -> int:
    """See that a merge left a model.

    Args:
        target: Where it was to be.

    Returns:
        Bytes of its weights.

    Raises:
        InputError: Weights, config or tokenizer are missing.
    """
    weights = [*target.glob("*.safetensors"), *target.glob("pytorch_model*.bin")]
    missing = [
        name for name in ("config.json", "tokenizer_config.json") if not (target / name).is_file()
    ]
    if not weights:
        missing.insert(0, "weights")
    if missing:
        raise InputError(
            f"the merge left no {' and no '.join(missing)}; look at what it told", file=target
        )
    return sum(file.stat().st_size for file in weights)
