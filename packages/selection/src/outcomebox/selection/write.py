"""Writes a selection as a folder of files."""

from __future__ import annotations

from pathlib import Path

from outcomebox.selection.atomic import write_files
from outcomebox.selection.curate import Selection
from outcomebox.selection.errors import EmptyPoolError, InputError
from outcomebox.selection.manifest import INPUTS, NAME, inputs_text, manifest_text
from outcomebox.selection.pool import pool_text
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.settings_file import curation_text
from outcomebox.selection.table import bands_csv

SETTINGS = "curation.yaml"


def selection_files(selection: Selection, provenance: Provenance) -> dict[str, bytes]:
    """The files that the manifest vouches for, and the manifest last.

    Args:
        selection: a finished selection.
        provenance: where its inputs came from.

    Returns:
        File name to bytes; the same inputs give the same bytes.
    """
    # matplotlib takes longer to import than everything else takes to run.
    from outcomebox.selection.chart import bands_png  # noqa: PLC0415
    from outcomebox.selection.page import bands_html  # noqa: PLC0415 -- as above

    files = {
        "train.yaml": pool_text(selection, "train", provenance).encode(),
        "test.yaml": pool_text(selection, "test", provenance).encode(),
        "bands.csv": bands_csv(selection).encode(),
        "bands.png": bands_png(selection, provenance),
        "bands.html": bands_html(selection, provenance),
    }
    return files | {NAME: manifest_text(selection, provenance, files).encode()}


def write_selection(
    selection: Selection, out_dir: Path, provenance: Provenance
) -> tuple[Path, ...]:
    """Writes pool, table, chart, settings and manifest into a folder.

    All bytes are made before the first one is written, each file is renamed into place whole, and
    the manifest comes last. The settings (`curation.yaml`) name their sources by paths relative to
    the folder, and `inputs.json` names the files that were read; the manifest does not vouch for
    these two, only for the settings that decide and for what the files hold.

    Args:
        selection: a finished selection.
        out_dir: made if it is not there; files of an earlier selection are replaced.
        provenance: where its inputs came from.

    Returns:
        The paths written.

    Raises:
        EmptyPoolError: if no task is kept; nothing is written.
        InputError: if the folder cannot be written.
    """
    if not selection.kept:
        raise EmptyPoolError(selection)
    settings = curation_text(selection.curation, out_dir).encode()
    contents = {SETTINGS: settings, INPUTS: inputs_text(provenance).encode()}
    contents |= selection_files(selection, provenance)
    try:
        return write_files(out_dir, contents)
    except OSError as error:
        raise InputError(
            str(out_dir), "", f"cannot be written ({error.strerror})", "Choose another folder"
        ) from error
