"""Test code, looked at and never run."""

from __future__ import annotations

import ast
import warnings

TEST_FUNCTION = "__tb_test_fn"  # what test code binds its test function to


def statements(code: str) -> list[ast.stmt]:
    """The statements of some Python code.

    Raises:
        SyntaxError: It is not Python.
        ValueError: It has null bytes.
        RecursionError: It is nested too deep.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\\d" in somebody's docstring is not our user's news
        return ast.parse(code).body


def reads_judge(code: str) -> bool:
    """Whether the test function that some code binds reads the name ``judge`` in its body."""
    function = _bound(statements(code)) if TEST_FUNCTION in code else None
    return function is not None and any(
        isinstance(node, ast.Name) and node.id == "judge" and isinstance(node.ctx, ast.Load)
        for statement in function.body
        for node in ast.walk(statement)
    )


def _bound(code: list[ast.stmt]) -> ast.FunctionDef | None:
    """The test function, bound by the name of an earlier ``def`` or by ``def`` itself."""
    name = TEST_FUNCTION
    for statement in reversed(code):
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return statement
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Name)
            and any(isinstance(to, ast.Name) and to.id == name for to in statement.targets)
        ):
            name = statement.value.id
    return None
