"""Which tests some selectors name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.dataset import CONFTEST, META_SUFFIX, Dataset
from outcomebox.sandbox.thinkingbox.near import near


@dataclass(frozen=True)
class Chosen:
    """A test that a selector names.

    Attributes:
        path: Its file, absolute.
        name: Its name in the file.
        by_name: Whether it was asked for by name, which overrides ``skip``.
    """

    path: Path
    name: str
    by_name: bool


def choose(dataset: Dataset, selectors: Sequence[str]) -> Iterator[Chosen | Path]:
    """The tests that selectors name, in their order, as often as they name them.

    Args:
        dataset: Where names are looked up.
        selectors: Each ``file.py:test``, a test file, a YAML list of such, a folder, or a file of
            hydrated rows. Paths are tried as they stand, then in the dataset's ``test_case``.

    Yields:
        The tests, and the paths of the hydrated files.

    Raises:
        InputError: A selector names nothing.
    """
    for selector in selectors:
        path = _path(dataset, selector)
        if path is None:
            yield _by_name(dataset, selector, None)
        elif path.is_dir():
            yield from _folder(dataset, path)
        elif path.suffix == ".jsonl":
            yield path
        elif path.suffix == ".yaml" and (names := _list(dataset, path)) is not None:
            yield from choose_listed(dataset, names, path)
        else:
            yield from _whole(dataset, path)


def choose_listed(dataset: Dataset, names: Sequence[object], file: Path) -> Iterator[Chosen]:
    """The tests of a list of ``file.py:test``.

    Args:
        dataset: Where names are looked up.
        names: The list.
        file: Where it stands.

    Raises:
        InputError: An entry is not of this form or names nothing.
    """
    for number, name in enumerate(names):
        if not isinstance(name, str):
            message = "must be text of the form file.py:test"
            raise InputError(message, file=file, field=str(number), value=name)
        yield _by_name(dataset, name, file)


def read_list(dataset: Dataset, file: Path) -> list[object]:
    """A YAML list of selectors.

    Args:
        dataset: Reads the file.
        file: The list.

    Raises:
        InputError: The file holds something else.
    """
    names = _list(dataset, file)
    if names is None:
        raise InputError("must be a YAML list of file.py:test, one a line with `- `", file=file)
    return names


def _list(dataset: Dataset, file: Path) -> list[object] | None:
    data, _ = dataset.document(file.resolve())
    return data if isinstance(data, list) else None


def _by_name(dataset: Dataset, selector: str, listed_in: Path | None) -> Chosen:
    file, colon, name = selector.partition(":")
    if not (file and colon and name):
        message = (
            f"the selector {selector!r} names no file or folder, and is not file.py:test; "
            f"{near(selector, _known_files(dataset))}"
        )
        raise InputError(message, file=listed_in or dataset.folder)
    path = dataset.find(file) or (Path(file).resolve() if Path(file).is_file() else None)
    if path is None:
        message = f"{selector!r}: there is no test file {file!r}; "
        message += near(file, _known_files(dataset))
        raise InputError(message, file=listed_in or dataset.folder)
    return Chosen(path, dataset.test_file(path).case(name).name, by_name=True)


def _path(dataset: Dataset, selector: str) -> Path | None:
    given = Path(selector).expanduser()
    if selector and given.exists():
        return given.resolve()
    if selector and (dataset.tests / selector).is_dir():
        return (dataset.tests / selector).resolve()
    return dataset.find(selector) if selector else None


def _known_files(dataset: Dataset) -> list[str]:
    return [path.relative_to(dataset.tests).as_posix() for path in _walk(dataset.tests)]


def _folder(dataset: Dataset, folder: Path) -> Iterator[Chosen]:
    files = list(_walk(folder))
    if not files:
        raise InputError("there is no test file (.py or .yaml) in this folder", file=folder)
    for file in files:
        yield from _whole(dataset, file)


def _walk(folder: Path) -> Iterator[Path]:
    """The test files below a folder, sorted by their paths, links to folders not followed."""
    found: list[Path] = []
    for root, _, names in os.walk(folder):
        found += [
            Path(root, name)
            for name in names
            if name.endswith(".py")
            or (name.endswith(".yaml") and not name.endswith(META_SUFFIX) and name != CONFTEST)
        ]
    yield from sorted(found, key=lambda path: path.relative_to(folder).parts)


def _whole(dataset: Dataset, path: Path) -> Iterator[Chosen]:
    for name in dataset.test_file(path.resolve()).cases:
        yield Chosen(path.resolve(), name, by_name=False)
