"""What the checks of one preflight share, each made once and when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from outcomebox.interpret.tokens import ChatTemplate
from outcomebox.rollout import RunSpec
from outcomebox.rollout.stage import Tasks
from outcomebox.sandbox import SQLITE, InputError
from outcomebox.train.launch.plan import Plan
from outcomebox.train.launch.settings import run_spec
from outcomebox.train.preflight.chat import load_template


@dataclass
class Context:
    """A plan with what checks need of it.

    Attributes:
        plan: The run.
    """

    plan: Plan

    def wrong(self, field: str, message: str, value: Any = None) -> InputError:
        """An error of a field of the settings."""
        return InputError(message, file=self.plan.loaded.file, field=field, value=value)

    @property
    def spec(self) -> RunSpec:
        """The episodes' settings."""
        return run_spec(self.plan.config, self.plan.pool)

    @cached_property
    def tasks(self) -> Tasks:
        """The pool's tasks, not started; where they live decides nothing of what is checked.

        Raises:
            InputError: A selector or a task cannot be used.
        """
        return self.spec.tasks_on(SQLITE)

    @cached_property
    def model_config(self) -> Mapping[str, Any]:
        """The model's ``config.json``; of models with more than text, the part for text.

        Raises:
            InputError: There is none, or it is not JSON.
        """
        file = Path(self.plan.config.model.path) / "config.json"
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise self.wrong(
                "model.path",
                f"has no config.json that can be read ({error.strerror}); name the folder of a "
                "checkpoint in Hugging Face form, and download it first if it is on a hub",
                self.plan.config.model.path,
            ) from error
        except ValueError as error:
            raise InputError(f"is not JSON ({error}); download it again", file=file) from error
        text = found.get("text_config", found)
        return {**found, **text}

    @cached_property
    def template(self) -> ChatTemplate:
        """The chat template with the model's tokenizer.

        Raises:
            InputError: One of them cannot be used.
        """
        return load_template(self.plan.config.model, self.plan.loaded.file)
