"""Finds the source of a function in the files of a package, without importing it."""

from __future__ import annotations

import ast
import hashlib
from importlib.util import find_spec
from pathlib import Path

from outcomebox.sandbox import InputError

_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def package_folder(name: str) -> Path:
    """Folder of an installed top-level package; it is not imported.

    Raises:
        InputError: There is none.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise InputError(f"is not installed; install {name}", field=name)
    return Path(spec.origin).parent


def package_version(folder: Path) -> str:
    """What verl's own file says that it is.

    Metadata may be of another copy: a folder put before an installed one is what gets imported.

    Args:
        folder: verl's package folder.

    Raises:
        InputError: There is no such file.
    """
    file = folder / "version" / "version"
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}); reinstall verl", file=file) from error


def module_file(folder: Path, module: str) -> Path:
    """File of a module below a package's folder.

    Args:
        folder: The top-level package's folder.
        module: Dotted name, the package's own name first.
    """
    parts = module.split(".")[1:]
    return folder.joinpath(*parts).with_suffix(".py")


def function_digest(file: Path, function: str) -> str:
    """SHA-256 (hex) of a function's source text, its decorators left out.

    Args:
        file: The module's file.
        function: Qualified name within the module, such as ``Engine.step``.

    Raises:
        InputError: The file or the function is not there.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); reinstall verl", file=file, field=function
        ) from error
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for part in function.split("."):
        found = next((one for one in body if isinstance(one, _SCOPES) and one.name == part), None)
        if not isinstance(found, _SCOPES):
            raise InputError("is not there; reinstall verl", file=file, field=function)
        body = found.body
    source = ast.get_source_segment(text, found) if found is not None else None
    if source is None:
        raise InputError("has no source; reinstall verl", file=file, field=function)
    return hashlib.sha256(source.encode()).hexdigest()
