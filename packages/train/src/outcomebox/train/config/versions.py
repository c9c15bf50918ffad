"""The releases of verl that this package is written for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from outcomebox.sandbox import InputError

SUPPORTED = ("0.9.0", "0.9.1")
"""Each of them is tested; what has to be patched and composed differs in details."""

WHEELS: Mapping[str, str] = {
    "0.9.0": "6e9374db1e2ab346a0aafe9a202bee1b239a042def2f2ccd6db2a4cd04c6308b",
    "0.9.1": "db6e6f2a8d9d5808d9ec32d357a42319fdc6967df688ff9d9810050f49bfdd14",
}
"""SHA-256 of each release's wheel, which is the same for all machines."""


def check_supported(found: str | None, *, file: Path | str | None = None) -> str:
    """See that a verl is one of :data:`SUPPORTED`.

    Args:
        found: Its version; None where there is none.
        file: Where it lies, for the message.

    Returns:
        The version.

    Raises:
        InputError: It is another, or there is none.
    """
    wanted = " or ".join(SUPPORTED)
    if found is None:
        raise InputError(
            f"is not installed; pip install verl=={SUPPORTED[-1]}", file=file, field="verl"
        )
    if found not in SUPPORTED:
        raise InputError(
            f"is not a verl that this version works with; install {wanted}",
            file=file,
            field="verl",
            value=found,
        )
    return found
