"""Running a check's code, and telling what became of it.

None is passed with score 1, a number from 0 to 1 passed with that score; AssertionError is failed;
whatever else ends the code is a system error. Nothing here decides about the episode on the ground
of an exception that is not an AssertionError.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import math
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from outcomebox.reward.thinkingbox.capture import Printed, json_only, shorten
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.fixtures import fixtures_for
from outcomebox.reward.thinkingbox.judging import Judge, JudgeException

BINDING = "__tb_test_fn"
MODULE = "outcomebox_check"


class CheckCodeError(Exception):
    """The code gives no check to run."""


class _Parameters(NamedTuple):
    required: tuple[str, ...]
    optional: tuple[str, ...]
    any_name: bool


def run_check(
    code: str,
    *,
    function: str,
    file: str,
    context: TestContext,
    judge: Judge,
    fixtures: Mapping[str, Any],
) -> dict[str, Any]:
    """Run a check; whatever it does, short of ending this process, comes back as a result.

    Args:
        code: Python source that binds ``__tb_test_fn``.
        function: Name of the check's function, for code that binds nothing.
        file: What the code is called in messages.
        context: What it looks at.
        judge: What it asks.
        fixtures: Configuration of the fixtures it may take.

    Returns:
        ``outcome`` with ``score`` (passed), ``type``, ``message``, ``phase`` (system_error),
        ``message`` (failed), ``file``, ``line`` and ``source`` where an exception came from the
        code; ``printed``, ``metadata``, ``left_out`` and ``judge``.
    """
    module = types.ModuleType(MODULE)
    module.__file__ = file
    sys.modules[MODULE] = module  # dataclasses and pickle look for a class's module there
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    printed = Printed()
    try:
        with _standing_in(printed):
            given = {"x": context, "judge": judge}
            returned = _call(
                code, module, function=function, file=file, fixtures=fixtures, given=given
            )
        result = _returned(returned)
    except BaseException as error:  # noqa: BLE001 -- SystemExit too: it must not pass for an end
        result = _raised(error, module, file)
    metadata, left_out = json_only(context.metadata)
    return {
        **result,
        "printed": printed.text(),
        "metadata": metadata,
        "left_out": left_out,
        "judge": [*json_only({str(n): each for n, each in enumerate(judge.asked)})[0].values()],
    }


def _call(
    code: str,
    module: types.ModuleType,
    *,
    function: str,
    file: str,
    fixtures: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Any:
    tree = ast.parse(code, file)
    parameters = _parameters(tree, function)
    wanted = [each for each in parameters.required if each not in given]
    wanted += [each for each in parameters.optional if each not in given and each in fixtures]
    takes = {*parameters.required, *parameters.optional}
    arguments = {
        name: value for name, value in given.items() if parameters.any_name or name in takes
    }
    with fixtures_for(wanted, fixtures, given) as made:
        exec(compile(tree, file, "exec"), module.__dict__)  # noqa: S102 -- this is what it is for
        check = module.__dict__.get(BINDING, module.__dict__.get(function))
        if not callable(check):
            raise CheckCodeError(f"the code of {file} binds no function to {BINDING}")
        return check(**arguments, **made)
    return None  # a fixture swallowed what the code raised, as every context manager may


def _parameters(tree: ast.Module, function: str) -> _Parameters:
    """The parameters of the check, read before its code runs: fixtures come first."""
    name = function
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Name):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id == BINDING for each in targets):
                name = node.value.id
    if name not in functions:
        return _Parameters((), (), any_name=True)
    given = functions[name].args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    with_default = set(positional[len(positional) - len(given.defaults) :])
    with_default |= {
        each.arg
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default is not None
    }
    every = positional + [each.arg for each in given.kwonlyargs]
    return _Parameters(
        tuple(each for each in every if each not in with_default),
        tuple(each for each in every if each in with_default),
        any_name=given.kwarg is not None,
    )


def _returned(value: Any) -> dict[str, Any]:
    if value is None:
        return {"outcome": "passed", "score": 1.0}
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # A plain number of it: a subclass's own idea of comparing must not decide.
        number = int.__int__(value) if isinstance(value, int) else float.__float__(value)
        if 0 <= number <= 1:
            return {"outcome": "passed", "score": math.fabs(number)}  # minus zero is zero
    return _system_error(
        "TypeError" if not isinstance(value, float) else "ValueError",
        f"the check returned {_words(value, repr)}; return None or a number from 0 to 1, and "
        "raise AssertionError to fail",
    )


def _raised(error: BaseException, module: types.ModuleType, file: str) -> dict[str, Any]:
    place = _place(error, module, file)
    kind, words = type(error).__name__, _words(error, str)
    if isinstance(error, AssertionError):
        return {"outcome": "failed", "message": words, **place}
    if isinstance(error, (SystemExit, KeyboardInterrupt, GeneratorExit)):
        words = f"the check ended its process instead of returning: {kind}({words})"
    return {**_system_error(kind, words, judge=isinstance(error, JudgeException)), **place}


def _system_error(kind: str, message: str, *, judge: bool = False) -> dict[str, Any]:
    phase = "judge" if judge else "check"
    return {"outcome": "system_error", "type": kind, "message": message, "phase": phase}


def _place(error: BaseException, module: types.ModuleType, file: str) -> dict[str, Any]:
    """Where in the check's own code an exception came from, if it did."""
    line = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_globals is module.__dict__:
            line = step.tb_lineno
        step = step.tb_next
    if line is None and isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    if line is None:
        return {}
    source = linecache.getline(file, line).strip()
    return {"file": file, "line": line, "source": shorten(source, 500)}


def _words(value: Any, words: Any) -> str:
    try:
        return shorten(words(value))
    except Exception as error:  # noqa: BLE001 -- a broken __str__ must not hide what happened
        return f"<a {type(value).__name__} whose text cannot be had: {type(error).__name__}>"


@contextlib.contextmanager
def _standing_in(printed: Printed) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = printed.file
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
