"""YAML as ThinkingBox files are read: YAML 1.1, value for value what ``yaml.safe_load`` gives.

A document is read by the first of three that can: our own reader of plain block YAML, libyaml where
it is known to agree with PyYAML's Python parser, and that parser itself. It alone says what is
wrong with a document, so that there is one definition of right and one source of messages.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.blockyaml import Unusual, printable, read_block

# On these, on tabs and on odd characters the two parsers differ, as random documents showed: tags,
# directives, and a comment right behind the head of a block.
_DISPUTED = re.compile(r"(?:^|[\s,\[{:?-])!|^%|[|>][-+0-9]*#", re.MULTILINE)

# Reads a YAML file: its value, and whether that is known to be plain JSON.
Document = Callable[[Path], tuple[Any, bool]]


def load(text: str, *, indented: bool = False) -> tuple[Any, bool]:
    """The one document of a text, as ``yaml.safe_load`` reads it.

    Args:
        text: The document.
        indented: Whether it is a docstring's, to be dedented first.

    Returns:
        The value, and whether it is known to be plain JSON (text keys, no dates, no NaN); False
        means that nobody looked.

    Raises:
        yaml.YAMLError: It is not one YAML document.
        ValueError: A scalar looks like a date but is none.
        RecursionError: It is nested too deep.
    """
    try:
        return read_block(text, indented=indented), True
    except (Unusual, RecursionError):
        pass
    if indented:
        text = textwrap.dedent(text)
    try:
        return _by_libyaml(text), False
    except (Unusual, yaml.YAMLError, ValueError, RecursionError):
        pass  # PyYAML's own verdict, and its own message, come next
    return yaml.safe_load(text), False


def _by_libyaml(text: str) -> Any:
    """The document of a text, by libyaml.

    Raises:
        Unusual: There is no libyaml, or the two parsers may differ on this text.
        yaml.YAMLError, ValueError, RecursionError: It cannot be read.
    """
    if not hasattr(yaml, "CSafeLoader") or not printable(text) or _DISPUTED.search(text):
        raise Unusual
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
        # In a flow collection libyaml takes question marks for text where PyYAML does not.
        if node is None or ("?" in text and _has_flow(node)):
            raise Unusual
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _has_flow(node: yaml.Node) -> bool:
    """Whether there is a flow collection with something in it."""
    waiting, seen = [node], set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))  # an alias may stand inside of what it stands for
        if node.flow_style and node.value:
            return True
        for one in node.value:  # a pair in a mapping
            waiting += one if isinstance(one, tuple) else [one]
    return False


def read_text(file: Path) -> str:
    """The text of a file, lines ended by line feeds, without a byte order mark.

    Raises:
        InputError: It cannot be read or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: {error}; save it as UTF-8", file=file) from error


def read_document(file: Path) -> tuple[Any, bool]:
    """The one document of a file, as :func:`load`.

    Raises:
        InputError: It cannot be read or is not one YAML document.
    """
    return parse(read_text(file), file)


def parse(
    text: str, file: Path, *, line: int = 1, task: str | None = None, indented: bool = False
) -> tuple[Any, bool]:
    """As :func:`load`, with what is wrong told by its place.

    Args:
        text: The YAML.
        file: Where it stands.
        line: The line of the file on which the text begins.
        task: The test that it belongs to.
        indented: Whether it is a docstring's, to be dedented first.

    Raises:
        InputError: It is not one YAML document.
    """
    try:
        return load(text, indented=indented)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = file if mark is None else f"{file}:{line + mark.line}"
        what = error.problem or error.context
        raise InputError(f"not valid YAML: {what}; mend it", file=where, task=task) from error
    except RecursionError as error:
        raise InputError("nested too deep; make it flatter", file=file, task=task) from error
    except (yaml.YAMLError, ValueError) as error:
        message = f"not valid YAML: {str(error).splitlines()[0]}; mend it"
        raise InputError(message, file=f"{file}:{line}", task=task) from error
