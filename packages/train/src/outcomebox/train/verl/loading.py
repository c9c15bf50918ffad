"""Makes a process of verl's ready for a training run.

It refuses a verl that this package is not written for, applies the patches that the version needs,
and registers what verl finds by name: our trainer, our tool parsers, and on a machine without GPUs
the platform ``cpu``. All of it is cheap: what belongs to a module of verl's happens when verl
imports that module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path

from outcomebox.train import compat, groups
from outcomebox.train.config.versions import check_supported

CPU = "cpu"
PLATFORM_VARIABLE = "VERL_PLATFORM"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was done in this process.

    Attributes:
        verl: The version.
        applied: Names of the patches.
        platform: The platform that was registered; None for one of verl's own.
    """

    verl: str
    applied: tuple[str, ...]
    platform: str | None


def verl_version() -> str | None:
    """The version of the verl that this process imports; None without one.

    Its own file is read, not its metadata: another verl may have been put before an installed one.
    """
    spec = util.find_spec("verl")
    if spec is None or spec.origin is None:
        return None
    return (Path(spec.origin).parent / "version" / "version").read_text(encoding="utf-8").strip()


def load(environment: Mapping[str, str] | None = None) -> Loaded:
    """Make this process ready.

    Args:
        environment: The environment variables; by default the process's own.

    Raises:
        InputError: verl is not there, or another one.
    """
    environment = os.environ if environment is None else environment
    version = check_supported(verl_version())
    applied = compat.apply(version)
    groups.register()
    import_module("outcomebox.interpret.plugs.for_verl")
    platform = None
    if environment.get(PLATFORM_VARIABLE) == CPU:
        import_module("outcomebox.train.cpu.load").register()
        platform = CPU
    return Loaded(version, tuple(each.name for each in applied), platform)
