"""`manifest.json`: what went in, what came out, and with which settings and versions.

It holds no time of day and no folder, so the same files give the same bytes wherever they lie.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from outcomebox.selection.curate import Selection
from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.pool import settings_digest
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.tasks import tasks_digest

FORMAT = "outcomebox-selection/1"
NAME = "manifest.json"
INPUTS = "inputs.json"

# The packages whose version can change a byte of an output.
_PACKAGES = (
    "outcomebox-selection",
    "jinja2",
    "matplotlib",
    "numpy",
    "orjson",
    "polars",
    "pydantic",
    "PyYAML",
    "scipy",
)


def versions() -> dict[str, str]:
    """Installed versions of the packages that make the outputs, and of Python.

    A package that runs from its source folder, not installed, has the version `source`.
    """
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "source"
    return found


def manifest_text(
    selection: Selection, provenance: Provenance, outputs: Mapping[str, bytes]
) -> str:
    """Writes the manifest.

    Args:
        selection: a finished selection.
        provenance: where its inputs came from.
        outputs: file name to bytes of every file that the manifest vouches for.

    Returns:
        JSON text with sorted keys.
    """
    settings = selection.curation.deciding()
    settings["exclude"]["uids"] = len(settings["exclude"]["uids"])
    plain = {
        "format": FORMAT,
        "policy": provenance.policy,
        "simulated": provenance.simulated,
        "inputs": {
            "episodes": {
                "digest": provenance.episodes,
                "rows": provenance.rows,
                "torn_lines": provenance.torn_lines,
                "repeated": provenance.repeated,
                "other_policies": dict(provenance.others),
            },
            "tasks": tasks_digest(decision.task for decision in selection.decisions),
            "reference": provenance.reference,
            "reference_model": provenance.reference_model,
            "content": [
                {"use": use, "name": name, "sha256": sha256}
                for use, name, sha256 in provenance.files
                if use in ("exclude_content", "contents")
            ],
            "exclude_lists": [
                {"name": item.name, "sha256": item.sha256, "uids": len(item.uids)}
                for item in provenance.lists
            ],
            "settings": settings_digest(selection),
        },
        "settings": settings,
        "seed": selection.curation.split.seed,
        "figures": selection.figures,
        "notes": list(selection.notes),
        "outputs": {name: hashlib.sha256(content).hexdigest() for name, content in outputs.items()},
        "versions": versions(),
    }
    return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def inputs_text(provenance: Provenance) -> str:
    """Writes down the files that were read, each by its use, name and SHA-256.

    It stands in a file of its own (`inputs.json`): the same episodes in other files, or in another
    order, are the same inputs to the manifest, and other files to this list.
    """
    plain = [{"use": use, "name": name, "sha256": sha256} for use, name, sha256 in provenance.files]
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a selection.

    Args:
        folder: where `write_selection` wrote.

    Raises:
        InputError: there is none, or it is none of this format.
    """
    path = folder / NAME
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            str(path), "", f"cannot be read ({error.strerror})", "Select the pool anew"
        ) from error
    except ValueError as error:
        raise InputError(str(path), "", f"is not JSON ({error})", "Select the pool anew") from error
    found = plain.get("format") if isinstance(plain, dict) else None
    if found != FORMAT:
        raise InputError(
            str(path), "format", f"must be {FORMAT}, found {shown(found)}", "Select the pool anew"
        )
    return dict(plain)


def verify(folder: Path) -> dict[str, Any]:
    """Checks that the files of a selection are the ones its manifest vouches for.

    Args:
        folder: where `write_selection` wrote.

    Returns:
        The manifest.

    Raises:
        InputError: naming the file that is missing or differs.
    """
    plain = read_manifest(folder)
    for name, digest in plain["outputs"].items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise InputError(
                str(file), "", f"is not the file that {NAME} names", "Select the pool anew"
            )
    return plain
