"""Test files in Python form.

A test is a function at the top of the file, defined with plain ``def``, whose docstring starts
with ``!``: what follows is YAML. Strings of that form that stand by themselves at the top set keys
for all tests below them. The file is only ever parsed here, never imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.near import near
from outcomebox.sandbox.thinkingbox.testcode import TEST_FUNCTION, statements
from outcomebox.sandbox.thinkingbox.yaml11 import parse

KEYS = (
    "scenario",
    "query",
    "user_context",
    "max_user_sim_turns",
    "max_agent_sim_turns",
    "bot_instructions",
    "history",
    "init",
    "format_query",
    "tags",
)
_OF_THE_FUNCTION = ("uid", "test_code")  # known from the function itself


@dataclass(frozen=True)
class TestFunction:
    """A test of a Python file.

    Attributes:
        name: The function's name.
        line: The line of its ``def``, from 1.
        span: Its first and last line, decorators included.
        config: The keys of the blocks above it and its own.
        plain: Whether ``config`` is known to be plain JSON.
    """

    __test__ = False

    name: str
    line: int
    span: tuple[int, int]
    config: dict[str, Any]
    plain: bool


class PythonFile:
    """The tests of one file and their code.

    Attributes:
        functions: In the order of the file.
    """

    def __init__(self, text: str, functions: Sequence[TestFunction]) -> None:
        self.functions = tuple(functions)
        self._lines = text.split("\n")
        self._blank, self._offsets = self._blanked()

    def code(self, function: TestFunction) -> str:
        """The file with every other test blanked out, line by line, and the binding at its end."""
        first, last = function.span
        at = self._offsets[function.span]
        rest = self._blank[at + last - first + 1 :]
        own = self._cut(first - 1, last)
        return f"{self._blank[:at]}{own}{rest}{TEST_FUNCTION} = {function.name}\n"

    def _blanked(self) -> tuple[str, dict[tuple[int, int], int]]:
        """The text without any test, and where in it each test was."""
        pieces: list[str] = []
        offsets = {}
        size = done = 0
        for first, last in (function.span for function in self.functions):
            kept = self._cut(done, first - 1)
            offsets[first, last] = size + len(kept)
            pieces += [kept, "\n" * (last - first + 1)]
            size += len(kept) + last - first + 1
            done = last
        pieces.append(self._cut(done, len(self._lines)))
        return "".join(pieces), offsets

    def _cut(self, start: int, end: int) -> str:
        """Some lines, each ended."""
        return "\n".join([*self._lines[start:end], ""])


def parse_python(text: str, path: Path) -> PythonFile:
    """The tests of a Python file.

    Raises:
        InputError: It is not Python, two statements share a line, or a block is wrong.
    """
    try:
        found = statements(text)
    except SyntaxError as error:
        message = f"not valid Python: {error.msg}; mend it"
        raise InputError(message, file=f"{path}:{error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid Python: {error}; mend it", file=path) from error
    return PythonFile(text, list(_functions(found, path)))


def _functions(code: Sequence[ast.stmt], path: Path) -> Iterator[TestFunction]:
    shared: dict[str, Any] = {}
    shared_plain = True
    last_line = 0
    for statement in code:
        first = min(
            [statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))]
        )
        last = statement.end_lineno or statement.lineno
        if first <= last_line:
            message = "two statements share this line, so no test can be cut out; use two lines"
            raise InputError(message, file=f"{path}:{first}")
        last_line = last
        if _text_of(statement) is not None:
            block, plain = _block(statement, path, None)
            for key in block or ():
                if not isinstance(key, str) or key in _OF_THE_FUNCTION:
                    message = f"cannot be set for a whole file; the keys are {', '.join(KEYS)}"
                    raise InputError(message, file=f"{path}:{first}", field=str(key))
            shared |= block or {}
            shared_plain = shared_plain and plain
        elif isinstance(statement, ast.FunctionDef):
            name = statement.name
            block, plain = _block(statement.body[0], path, name)
            if block is None:
                continue
            for key in block:
                if key not in KEYS:
                    message = f"unknown key; {near(str(key), KEYS)}"
                    where = f"{path}:{statement.lineno}"
                    raise InputError(
                        message, file=where, task=f"{path.name}:{name}", field=str(key)
                    )
            config = shared | block
            ours, theirs = block.get("tags"), shared.get("tags")
            if isinstance(ours, list) and isinstance(theirs, list):
                config["tags"] = theirs + ours
            yield TestFunction(
                name, statement.lineno, (first, last), config, plain and shared_plain
            )


def _text_of(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


def _block(statement: ast.stmt, path: Path, name: str | None) -> tuple[dict[Any, Any] | None, bool]:
    """The mapping of a ``!`` string; None where there is none or it says nothing."""
    text = _text_of(statement)
    if text is None or not text.startswith("!"):
        return None, True
    task = None if name is None else f"{path.name}:{name}"
    data, plain = parse(text[1:], path, line=statement.lineno, task=task, indented=True)
    if data is not None and not isinstance(data, dict):
        message = "a string that starts with `!` must be a YAML mapping, `key: value` lines"
        raise InputError(message, file=f"{path}:{statement.lineno}", task=task, value=data)
    return data, plain
