"""Checks a written selection against its manifest, and makes it again from its inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from outcomebox.selection.errors import InputError
from outcomebox.selection.inputs import read_inputs
from outcomebox.selection.manifest import INPUTS, NAME, read_manifest, versions
from outcomebox.selection.settings_file import load_curation
from outcomebox.selection.write import SETTINGS, selection_files


@dataclass(frozen=True)
class Rerun:
    """What became of a selection that was made again.

    Attributes:
        files: files that the manifest names.
        differences: what differs, as sentences; none if every byte is the same.
    """

    files: int
    differences: tuple[str, ...]


def rerun(folder: Path) -> Rerun:
    """Makes a selection again from the settings and inputs that it names; writes nothing.

    Args:
        folder: where `write_selection` wrote.

    Raises:
        InputError: the folder holds no selection, or an input cannot be read any more.
        EmptyPoolError: no task is kept any more.
    """
    manifest = read_manifest(folder)
    differences = []
    for name, digest in manifest["outputs"].items():
        file = folder / name
        if not file.is_file():
            differences.append(f"{file} is missing.")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            differences.append(f"{file} is not the file that {NAME} names.")
    settings = folder / SETTINGS
    if not settings.is_file():
        raise InputError(str(settings), "", "is missing", "Select the pool anew")
    inputs = read_inputs(load_curation(settings))
    before = _files(folder / INPUTS)
    now = set(inputs.provenance.files)
    # Excluded uids were written out into the settings, so that their lists are no longer needed.
    gone = {file for file in before - now if file[0] != "exclude_lists"}
    differences += [
        f"The input {name} ({use}) is not there as it was." for use, name, _ in sorted(gone)
    ]
    differences += [f"The input {name} ({use}) is new." for use, name, _ in sorted(now - before)]
    selection = inputs.select(inputs.tries())
    made = selection_files(selection, inputs.provenance)
    for name, digest in manifest["outputs"].items():
        if name not in made or hashlib.sha256(made[name]).hexdigest() != digest:
            differences.append(f"{name} comes out otherwise.")
    if differences and manifest["versions"] != versions():
        was, is_now = manifest["versions"], versions()
        names = sorted(name for name in was | is_now if was.get(name) != is_now.get(name))
        differences.append(
            "Made with other versions: "
            + ", ".join(f"{name} {was.get(name)}, now {is_now.get(name)}" for name in names)
            + "."
        )
    return Rerun(len(manifest["outputs"]), tuple(differences))


def _files(path: Path) -> set[tuple[str, str, str]]:
    try:
        return {(f["use"], f["name"], f["sha256"]) for f in json.loads(path.read_bytes())}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            str(path), "", f"cannot be read ({error})", "Select the pool anew"
        ) from None
