"""From `curation.yaml` and flags to `Curation`; errors name file, field, value and mend."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from outcomebox.selection.curation import Curation
from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.yamlfile import read_text, read_yaml, yaml_text

COMMAND_LINE = "command line"

# Fields whose entries are paths, relative to the file that holds them.
_PATH_FIELDS = (
    ("sources", "episodes"),
    ("sources", "reference"),
    ("sources", "reference_model"),
    ("exclude", "lists"),
    ("exclude", "content"),
)

_MENDS = {
    "int_type": "Write a whole number without quotes",
    "float_type": "Write a number without quotes",
    "finite_number": "Write a finite number",
    "string_type": "Write text; put it in quotes if it looks like a number",
    "tuple_type": "Write a list, for example [a, b]",
    "dict_type": "Write a mapping of names to values",
    "model_type": "Write a mapping of fields to values",
    "model_attributes_type": "Write a mapping of fields to values",
    "too_short": "Name at least one entry",
    "string_too_short": "Write at least one character",
}


@dataclass(frozen=True, slots=True)
class ListFile:
    """An exclusion list that was read.

    Attributes:
        name: file name without its folder, so that it means the same on every machine.
        sha256: digest of its bytes, hex.
        uids: the uids it names, sorted.
    """

    name: str
    sha256: str
    uids: tuple[str, ...]


def load_curation(path: Path | None, overrides: Mapping[str, Any] | None = None) -> Curation:
    """Reads settings; flags win over the file, the file over the defaults.

    Args:
        path: `curation.yaml`; None for the defaults alone.
        overrides: dotted field name to value, for example `{"split.seed": 3}`; a value of None
            means that the flag was not given.

    Returns:
        The settings, with the paths of the file made relative to the working folder.

    Raises:
        InputError: naming file, field and value, for the first thing that is wrong.
    """
    plain: Any = {} if path is None else read_yaml(path)
    plain = {} if plain is None else plain
    if not isinstance(plain, dict):
        raise InputError(
            str(path),
            "",
            f"is not a mapping: {shown(plain)}",
            "Write fields such as split: {seed: 1}",
        )
    plain = copy.deepcopy(plain)
    if path is not None:
        _rebase(plain, path.parent)
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    for name, value in given.items():
        _put(plain, name, value)
    try:
        return Curation.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        from_flag = any(field == name or field.startswith(f"{name}.") for name in given)
        where = COMMAND_LINE if from_flag or path is None else str(path)
        raise InputError(where, field, *_problem(first)) from None


def _rebase(plain: dict[Any, Any], folder: Path) -> None:
    """Makes the path entries of a settings file relative to the working folder, in place."""
    for section, field in _PATH_FIELDS:
        entries = plain.get(section)
        if isinstance(entries, dict) and isinstance(entries.get(field), list):
            entries[field] = [
                os.path.normpath(folder / entry) if isinstance(entry, str) and entry else entry
                for entry in entries[field]
            ]
    probe = plain.get("probe")
    if isinstance(probe, dict) and isinstance(probe.get("replay"), str) and probe["replay"]:
        probe["replay"] = os.path.normpath(folder / probe["replay"])
    sources = plain.get("sources")
    if isinstance(sources, dict) and isinstance(sources.get("tasks"), list):
        sources["tasks"] = [
            os.path.normpath(folder / entry) if _looks_like_path(entry) else entry
            for entry in sources["tasks"]
        ]


def _looks_like_path(entry: Any) -> bool:
    """A task source is the name of a domain unless it has a slash or a file ending."""
    return isinstance(entry, str) and ("/" in entry or entry.endswith((".yaml", ".yml", ".jsonl")))


def _path_text(path: str) -> str:
    """A path that does not look like the name of a domain."""
    return path if _looks_like_path(path) else f"./{path}"


def _put(plain: dict[str, Any], dotted: str, value: Any) -> None:
    *sections, field = dotted.split(".")
    for section in sections:
        inner = plain.setdefault(section, {})
        if not isinstance(inner, dict):
            return  # validation names the section that is no mapping
        plain = inner
    plain[field] = value


def _problem(error: ErrorDetails) -> tuple[str, str]:
    """The problem and the mend of one finding."""
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        known = _known_fields(error["loc"][:-1])
        close = get_close_matches(str(error["loc"][-1]), known, n=1)
        hint = f"Write {close[0]}" if close else f"The fields are {', '.join(known)}"
        return f"is no field of the settings (its value is {shown(value)})", hint
    if kind == "value_error":
        problem, _, mend = str(error["ctx"]["error"]).partition("; ")
        found = f" (found {shown(value)})" if not isinstance(value, BaseModel | dict) else ""
        return f"{problem}{found}", mend[:1].upper() + mend[1:]
    message = error["msg"][:1].lower() + error["msg"][1:]
    mend = _MENDS.get(kind) or _bound(error.get("ctx", {})) or "Write one of those values"
    return f"{message}, found {shown(value)}", mend


def _bound(context: Mapping[str, Any]) -> str | None:
    """The mend of a number out of range."""
    for name, words in (
        ("lt", "less than"),
        ("le", "at most"),
        ("gt", "more than"),
        ("ge", "from"),
    ):
        if name in context:
            return f"Write a number {words} {context[name]}"
    return None


def _known_fields(location: Sequence[int | str]) -> list[str]:
    model: type[BaseModel] = Curation
    for part in location:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)


def read_list(path: Path) -> ListFile:
    """Reads an exclusion list.

    Args:
        path: a text file with one uid a line (empty lines and lines that start with `#` are
            skipped), or YAML: a list of uids or a pool.

    Returns:
        The uids with the file's name and digest.

    Raises:
        InputError: if it cannot be read or names no uid.
    """
    uids: list[Any]
    if path.suffix in (".yaml", ".yml"):
        plain = read_yaml(path)
        entries = plain.get("tasks") if isinstance(plain, dict) else plain
        if not isinstance(entries, list):
            raise InputError(
                str(path), "", "is neither a list of uids nor a pool", "Write one - uid a line"
            )
        uids = [entry.get("uid") if isinstance(entry, dict) else entry for entry in entries]
    else:
        uids = [
            line.strip()
            for line in read_text(path).split("\n")
            if line.strip() and not line.startswith("#")
        ]
    for uid in uids:
        if not isinstance(uid, str) or not uid:
            raise InputError(str(path), "uid", f"is not text: {shown(uid)}", "Put it in quotes")
    if not uids:
        raise InputError(str(path), "", "names no uid", "Fill the list or take it out")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ListFile(path.name, digest, tuple(sorted(set(uids))))


def resolve_excluded(curation: Curation) -> tuple[Curation, tuple[ListFile, ...]]:
    """Reads the exclusion lists and writes their uids out.

    Args:
        curation: settings whose `exclude.lists` may name files.

    Returns:
        Settings whose `exclude.uids` holds every excluded uid and whose `exclude.lists` is empty,
        and the lists that were read, sorted by name and digest.

    Raises:
        InputError: if a list cannot be used.
    """
    lists = sorted(
        (read_list(Path(name)) for name in dict.fromkeys(curation.exclude.lists)),
        key=lambda item: (item.name, item.sha256),
    )
    uids = sorted(set(curation.exclude.uids).union(*(item.uids for item in lists)))
    exclude = curation.exclude.model_copy(update={"uids": tuple(uids), "lists": ()})
    return curation.model_copy(update={"exclude": exclude}), tuple(lists)


def curation_text(curation: Curation, folder: Path) -> str:
    """Writes settings as YAML to be saved in a folder, paths relative to it.

    Args:
        curation: settings with paths relative to the working folder.
        folder: where the text is going to lie.
    """
    plain = curation.model_dump(mode="json")
    for section, field in _PATH_FIELDS:
        plain[section][field] = [os.path.relpath(entry, folder) for entry in plain[section][field]]
    plain["sources"]["tasks"] = [
        _path_text(os.path.relpath(entry, folder)) if _looks_like_path(entry) else entry
        for entry in plain["sources"]["tasks"]
    ]
    if plain["probe"]["replay"] is not None:
        plain["probe"]["replay"] = os.path.relpath(plain["probe"]["replay"], folder)
    return "# Resolved settings; paths are relative to this file.\n" + yaml_text(plain)
