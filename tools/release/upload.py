"""What would be uploaded, and whether an index would take it."""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from tools.release.building import Built, run
from tools.release.packages import Package, ReleaseError

_MOST_BYTES = 60 * 1024 * 1024
"""What the public index takes without asking, less some room."""

_ADDRESS = re.compile(r"(?<![\w/])/(?:home|root|tmp|work|Users)/")


class File(NamedTuple):
    """One file of an upload."""

    path: Path
    size: int
    sha256: str


def files(built: Built) -> list[File]:
    """Return the files of a release with what an index asks of them."""
    return [
        File(each, each.stat().st_size, hashlib.sha256(each.read_bytes()).hexdigest())
        for each in built
    ]


def problems(package: Package, built: Built) -> Iterator[str]:
    """Say why an index would refuse the files, or should."""
    yield from _wrong_names(package, built)
    for file in built:
        if file.stat().st_size > _MOST_BYTES:
            yield f"{file.name}: has {file.stat().st_size} bytes; an index takes {_MOST_BYTES}"
    wheel, sdist = _wheel_metadata(built.wheel), _sdist_metadata(built.sdist)
    for file, metadata in ((built.wheel, wheel), (built.sdist, sdist)):
        for problem in _wrong_fields(package, metadata):
            yield f"{file.name}: {problem}"
    if wheel.as_string() != sdist.as_string():
        yield f"{built.sdist.name}: its PKG-INFO is not the wheel's METADATA"


def send(built: list[Built], repository: str) -> str:
    """Upload with twine, which asks for credentials by its own rules; returns what it prints.

    Raises:
        ReleaseError: twine is missing, or fails.
    """
    paths = [str(file) for each in built for file in each]
    return run([sys.executable, "-m", "twine", "upload", "--repository", repository, *paths])


def _wrong_names(package: Package, built: Built) -> Iterator[str]:
    try:
        wheel, sdist = (
            parse_wheel_filename(built.wheel.name),
            parse_sdist_filename(built.sdist.name),
        )
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        yield str(error)
        return
    for name, version in (wheel[:2], sdist):
        if (name, str(version)) != (package.name, package.version):
            yield f"it is called {name} {version}, expected {package.name} {package.version}"


def _wrong_fields(package: Package, metadata: Message) -> Iterator[str]:
    for field in ("Metadata-Version", "Name", "Version", "Summary", "Requires-Python"):
        if not metadata[field]:
            yield f"has no {field}"
    if "\n" in (metadata["Summary"] or ""):
        yield "its Summary has more than one line"
    if metadata["Description-Content-Type"] != "text/markdown":
        yield f"Description-Content-Type is {metadata['Description-Content-Type']!r}"
    description = str(metadata.get_payload())
    if not description.strip():
        yield "has no long description"
    if _ADDRESS.search(description):
        yield "its long description names a path of somebody's machine"
    if (metadata["Name"], metadata["Version"]) != (package.name, package.version):
        yield f"says it is {metadata['Name']} {metadata['Version']}"
    for line in metadata.get_all("Requires-Dist", []):
        try:
            url = Requirement(str(line)).url
        except InvalidRequirement as error:
            yield f"Requires-Dist {line!r}: {error}"
            continue
        if url:
            yield f"Requires-Dist {line!r}: an index takes no address"


def _wheel_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        found = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        return _one(wheel, [archive.read(each) for each in found])


def _sdist_metadata(sdist: Path) -> Message:
    with tarfile.open(sdist) as archive:
        found = [each for each in archive.getmembers() if re.fullmatch("[^/]+/PKG-INFO", each.name)]
        read = [archive.extractfile(each) for each in found]
        return _one(sdist, [each.read() for each in read if each])


def _one(file: Path, found: list[bytes]) -> Message:
    if len(found) != 1:
        raise ReleaseError(f"{file.name}: has {len(found)} files of metadata, expected one")
    return Parser().parsestr(found[0].decode("utf-8"))
