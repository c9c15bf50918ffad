"""A dataset folder: ``agent/``, ``scenario/`` and ``test_case/``, each file read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from outcomebox.sandbox.errors import InputError, input_error
from outcomebox.sandbox.thinkingbox.near import near
from outcomebox.sandbox.thinkingbox.plain import as_json, loosely
from outcomebox.sandbox.thinkingbox.task import Agent, Fixture, Form, Scenario
from outcomebox.sandbox.thinkingbox.testfile import TestFile, read_test_file
from outcomebox.sandbox.thinkingbox.yaml11 import Document, read_document

CONFTEST = "conftest.yaml"
META_SUFFIX = ".meta.yaml"

_Model = TypeVar("_Model", bound=BaseModel)


class _Conftest(Form):
    fixtures: dict[str, Fixture] = Field(default_factory=dict)


class Dataset:
    """The files of a dataset. What it hands out is shared; nobody may change it.

    Args:
        folder: The dataset's folder.

    Raises:
        InputError: It is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().resolve()
        if not self.folder.is_dir():
            raise InputError("there is no such dataset folder; mend the path", file=folder)
        if not self.tests.is_dir():
            message = "is not a dataset: it has no folder test_case; name the folder that has one"
            raise InputError(message, file=folder)
        self.agent: Callable[[str], Agent] = cache(self._agent)
        self.scenario: Callable[[str], Scenario] = cache(self._scenario)
        self.document: Document = cache(read_document)
        self.test_file: Callable[[Path], TestFile] = cache(self._test_file)
        self.find: Callable[[str], Path | None] = cache(self._find)
        self.history: Callable[[Path], Mapping[str, list[Any]]] = cache(self._history)
        self.fixtures: Callable[[Path], Mapping[str, Any]] = cache(self._fixtures)
        self._conftest: Callable[[Path], Mapping[str, Any]] = cache(self._read_conftest)

    @property
    def tests(self) -> Path:
        """The folder of the test files."""
        return self.folder / "test_case"

    def _fixtures(self, path: Path) -> Mapping[str, Any]:
        """The fixtures of the ``conftest.yaml`` files from ``test_case`` down to a test file.

        Raises:
            InputError: One of the files is wrong.
        """
        found: dict[str, Any] = {}
        if path.is_relative_to(self.tests):
            inner = path.parent.relative_to(self.tests)
            for folder in [*reversed(inner.parents), inner] if inner.parts else [inner]:
                found |= self._conftest(self.tests / folder / CONFTEST)
        return found

    def _test_file(self, path: Path) -> TestFile:
        return read_test_file(path, self.document)

    def _find(self, name: str) -> Path | None:
        """A test file by its name: in ``test_case``, else in a folder named like its beginning.

        For ``a_b_c.py`` these are ``a_b/`` and ``a/``, in this order.
        """
        words = name.split("_")
        prefixes = ["_".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
        for path in [self.tests / name, *(self.tests / prefix / name for prefix in prefixes)]:
            if path.is_file():
                return path.resolve()
        return None

    def _agent(self, name: str) -> Agent:
        return self._named("agent", name, Agent)

    def _scenario(self, name: str) -> Scenario:
        return self._named("scenario", name, Scenario)

    def _named(self, kind: str, name: str, model: type[_Model]) -> _Model:
        path = self.folder / kind / f"{name}.yaml"
        if not path.is_file():
            known = sorted(file.stem for file in path.parent.glob("*.yaml"))
            message = f"there is no {kind} {name!r} in the dataset; {near(name, known)}"
            raise InputError(message, file=path)
        return validated(model, {**_mapping(*read_document(path), path), "name": name}, file=path)

    def _read_conftest(self, path: Path) -> Mapping[str, Any]:
        if not path.is_file():
            return {}
        data, plain = read_document(path)
        if data is None:
            return {}
        return validated(_Conftest, _mapping(data, plain, path), file=path).fixtures

    def _history(self, path: Path) -> Mapping[str, list[Any]]:
        """The message lists beside a test file, by their keys.

        Keys that start with ``#`` and keys without a list are passed over; so is whatever else
        the file has.
        """
        file = path.with_name(f"{path.stem}{META_SUFFIX}")
        if not file.is_file():
            message = f"history needs the file {file.name} beside the test file; add it"
            raise InputError(message, file=path)
        data, _ = read_document(file)
        groups = data.get("$history") if isinstance(data, dict) else None
        if not isinstance(groups, dict):
            message = "must be a mapping of names to lists of messages"
            raise InputError(message, file=file, field="$history", value=groups)
        found = {}
        for key, messages in groups.items():
            if str(key).startswith("#") or messages is None:
                continue
            if not isinstance(messages, list):
                message = "must be a list of messages"
                raise InputError(message, file=file, field=f"$history.{key}", value=messages)
            found[str(key)] = as_json(messages, file=file, field=f"$history.{key}")
        return found


def _mapping(data: Any, plain: bool, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError("must be a YAML mapping, `key: value` lines", file=path, value=data)
    if plain:
        return data
    loose = {**data, "metadata": loosely(data["metadata"])} if "metadata" in data else data
    found: dict[str, Any] = as_json(loose, file=path)
    return found


def validated(
    model: type[_Model], data: Any, *, file: Path | str, task: str | None = None
) -> _Model:
    """A model from plain data.

    Raises:
        InputError: It does not fit; the message names field, value and mend.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise input_error(error, file=file, task=task) from error
