"""Checks verl's source against the pins and has the changes made."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

from outcomebox.sandbox import InputError
from outcomebox.train.compat.hooks import after_import
from outcomebox.train.compat.patches import PATCHES, Patch
from outcomebox.train.compat.source import (
    function_digest,
    module_file,
    package_folder,
    package_version,
)
from outcomebox.train.compat.telling import speak_up
from outcomebox.train.config.versions import check_supported

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Applied:
    """What became of one change.

    Attributes:
        name: The change.
        why: The fault that it mends; for one that is not needed, why not.
        where: The function of verl.
        digest: SHA-256 (hex) of that function's source, as found and as pinned.
        state: ``patched``: made as soon as this process imports the module. ``not needed``: this
            release is right as it is.
    """

    name: str
    why: str
    where: str
    digest: str
    state: Literal["patched", "not needed"]

    def __str__(self) -> str:
        """One line for a log."""
        return f"{self.name}: {self.state} in {self.where} ({self.digest[:12]}): {self.why}"


_applied: set[tuple[str, str]] = set()


def check(
    version: str | None = None, *, folder: Path | None = None, patches: Sequence[Patch] = PATCHES
) -> list[Applied]:
    """See what would be changed in a verl; nothing is.

    Args:
        version: Its version; by default what its own file says.
        folder: Its package folder; by default of the verl installed here.
        patches: The changes.

    Raises:
        InputError: The version is not one of ours, or a function is not the one that a change was
            written for. It names the function and the digest found.
    """
    root = folder if folder is not None else package_folder("verl")
    known = check_supported(version if version is not None else package_version(root))
    return [_checked(patch, known, root) for patch in patches]


def apply(
    version: str | None = None, *, folder: Path | None = None, patches: Sequence[Patch] = PATCHES
) -> list[Applied]:
    """Have all changes made that a verl needs; called once more, it changes nothing more.

    Args:
        version: Its version; by default what its own file says.
        folder: Its package folder; by default of the verl installed here.
        patches: The changes.

    Returns:
        What was done, one entry for each change, those not needed included.

    Raises:
        InputError: As of :func:`check`; nothing was changed then.
    """
    root = folder if folder is not None else package_folder("verl")
    done = check(version, folder=root, patches=patches)
    speak_up()
    for patch, applied in zip(patches, done, strict=True):
        key = (patch.name, applied.digest)
        if key not in _applied:
            _applied.add(key)
            file = module_file(root, patch.module)
            after_import(patch.module, partial(_install, patch, applied, file))
    return done


def _checked(patch: Patch, version: str, root: Path) -> Applied:
    file = module_file(root, patch.module)
    found = function_digest(file, patch.function)
    pinned = patch.digests.get(version)
    if found != pinned:
        raise InputError(
            f"is not the source that the change {patch.name!r} was written for in verl {version}; "
            f"reinstall verl=={version} unchanged",
            file=file,
            field=patch.function,
            value=found,
        )
    reason = patch.not_needed.get(version)
    return Applied(
        name=patch.name,
        why=patch.why if reason is None else reason,
        where=patch.where,
        digest=found,
        state="patched" if reason is None else "not needed",
    )


def _install(patch: Patch, applied: Applied, file: Path, module: ModuleType) -> None:
    """Change a module that verl has just imported, where that is needed, and say so."""
    origin = Path(module.__file__ or "")
    if origin.resolve() != file.resolve():
        raise InputError(
            f"was imported, but {file} was checked; put one verl on the path",
            file=origin,
            field=patch.module,
        )
    if applied.state == "patched":
        name, _, function = patch.installer.partition(":")
        installer = cast(Callable[[ModuleType], None], getattr(import_module(name), function))
        installer(module)
    logger.info("%s", applied)
