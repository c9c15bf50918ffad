"""Test files, parsed: what each test says about itself, and its code.

A test file is Python (functions with a docstring block) or YAML (``test_cases``); either gives the
same :class:`TestFile`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.near import near
from outcomebox.sandbox.thinkingbox.plain import as_json, loosely
from outcomebox.sandbox.thinkingbox.pythonfile import parse_python
from outcomebox.sandbox.thinkingbox.testcode import TEST_FUNCTION, statements
from outcomebox.sandbox.thinkingbox.yaml11 import Document, read_text


@dataclass(frozen=True)
class TestCase:
    """A test as its file has it.

    Attributes:
        name: Its name in the file.
        where: The file with the line, for messages.
        config: Its keys (``scenario``, ``query`` ...), plain JSON.
        code: Gives its test code.
    """

    __test__ = False  # pytest's collector looks at names

    name: str
    where: str
    config: Mapping[str, Any]
    code: Callable[[], str]


@dataclass(frozen=True)
class TestFile:
    """A parsed test file.

    Attributes:
        path: Where it is.
        cases: Its tests by name, in its order.
    """

    __test__ = False

    path: Path
    cases: Mapping[str, TestCase]

    def case(self, name: str) -> TestCase:
        """The test of a name.

        Raises:
            InputError: There is none; the message has names like it.
        """
        try:
            return self.cases[name]
        except KeyError:
            message = f"has no test {name!r}; {near(name, self.cases)}"
            raise InputError(message, file=self.path) from None


def read_test_file(path: Path, document: Document) -> TestFile:
    """All tests of a file: Python if its name ends in ``.py``, else YAML.

    Args:
        path: The file.
        document: Reads YAML files.

    Raises:
        InputError: Something in it is wrong, in whichever of its tests.
    """
    python = path.suffix == ".py"
    cases = _python_cases(path) if python else _yaml_cases(path, *document(path))
    found: dict[str, TestCase] = {}
    for case in cases:
        if case.name in found:
            message = f"stands in {found[case.name].where} too; give each test its own name"
            raise InputError(message, file=case.where, task=f"{path.name}:{case.name}")
        found[case.name] = case
    return TestFile(path, found)


def _python_cases(path: Path) -> list[TestCase]:
    file = parse_python(read_text(path), path)
    return [
        TestCase(
            function.name,
            f"{path}:{function.line}",
            _plain(function.config, path, function.name, known=function.plain),
            lambda function=function: file.code(function),  # type: ignore[misc]
        )
        for function in file.functions
    ]


def _yaml_cases(path: Path, data: Any, plain: bool) -> list[TestCase]:
    given = data.get("test_cases") if isinstance(data, dict) else None
    if not isinstance(given, list):
        raise InputError(
            "is not a test file: it needs a list `test_cases` (or, for a list of tests, one of "
            "file.py:test)",
            file=path,
        )
    cases = []
    for number, item in enumerate(given):
        if not isinstance(item, dict):
            message = "must be a mapping: uid, scenario, query, test_code ..."
            raise InputError(message, file=path, field=f"test_cases.{number}", value=item)
        for field in ("uid", "test_code"):
            if not isinstance(item.get(field), str) or (field == "uid" and not item["uid"]):
                where = f"test_cases.{number}.{field}"
                raise InputError("must be text", file=path, field=where, value=item.get(field))
        name, code = item["uid"], item["test_code"]
        task = f"{path.name}:{name}"
        _check_code(code, path, task)
        keys = {key: value for key, value in item.items() if key not in {"uid", "test_code"}}
        config = _plain(keys, path, name, known=plain)
        cases.append(TestCase(name, str(path), config, lambda code=code: code))  # type: ignore[misc]
    return cases


def _check_code(code: str, path: Path, task: str) -> None:
    """See that the code of a YAML test can be run; empty code means that nothing is checked."""
    try:
        statements(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        message = f"not valid Python: {error}; mend it"
        raise InputError(message, file=path, task=task, field="test_code") from error
    if code.strip() and TEST_FUNCTION not in code:
        message = f"never names its test; end it with `{TEST_FUNCTION} = <function>`"
        raise InputError(message, file=path, task=task, field="test_code")


def _plain(config: Mapping[Any, Any], path: Path, name: str, *, known: bool) -> Mapping[str, Any]:
    if known:
        return config
    loose = {**config, "metadata": loosely(config["metadata"])} if "metadata" in config else config
    plain: dict[str, Any] = as_json(loose, file=path, task=f"{path.name}:{name}")
    return plain
