"""What a tool server is to the sandbox: how it is started, and what its sessions may use.

``servers.yaml`` is ThinkingBox's file, taken as it is, with fields of ours that it does not have::

    servers:
      ledger:
        type: mcp-process
        command: ["{python}", "-m", "ledger.server"]
        env: {LEDGER_LOCALE: en}
        # ours, all optional:
        mode: fork                  # or process; without it, fork where the command is Python's
        python: /opt/ledger/bin/python
        limits: {memory_mb: 512, open_files: 128}
        network: loopback           # or host
        clock: 2026-01-01T00:00:00Z # frozen, where libfaketime is installed
        inherit: [LEDGER_HOME]      # variables of the runner's own environment
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.errors import InputError, input_error

Mode = Literal["fork", "process", "inprocess"]
"""How sessions of a server come to be: forked from a warm parent, each started anew, or (for
servers of our own) inside the caller's process."""

Network = Literal["loopback", "host"]
"""What network a server has: a loopback of its own and nothing else, or the machine's."""

_DATA = "THINKINGBOX_DATA"
_PLACE = re.compile(r"\{(python|env\[([^\]]*)\])\}")
# Flags of the interpreter that take no argument of their own; others make it a plain process.
_FLAG = re.compile(r"-[bBdEIOPqsSuvx]+\Z")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_tuple)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerLimits(_Model):
    """What one session of a server may use."""

    memory_mb: int = Field(
        default=1024,
        ge=16,
        description="Private writable memory a session may take, in MiB, on top of what it shares.",
    )
    open_files: int = Field(default=256, ge=16, description="Descriptors it may have open.")


class ServerSpec(_Model):
    """A kind of tool server; sessions of one kind share a supervisor and nothing else."""

    name: str = Field(min_length=1)
    command: Words = Field(min_length=1, description="The program and its arguments, as for exec.")
    env: dict[str, str] = Field(default_factory=dict)
    cwd: Path | None = Field(
        default=None, description="Where it is started and serves; else a folder of the session's."
    )
    mode: Mode | None = None
    limits: ServerLimits = Field(default_factory=ServerLimits)
    network: Network = "loopback"
    clock: str | None = Field(default=None, description="Frozen moment, ISO 8601 with an offset.")
    search: bool = Field(
        default=False, description="Whether it gets a search index at 127.0.0.1:8108."
    )
    home: Path | None = Field(default=None, description="Where relative scripts are looked for.")
    search_path: tuple[str, ...] = Field(
        default=(), description="Python's search path for it; empty for its interpreter's own."
    )

    @field_validator("clock")
    @classmethod
    def _moment(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                raise ValueError("write an ISO 8601 moment such as 2026-01-01T00:00:00Z") from None
            if moment.tzinfo is None:
                raise ValueError("give the moment an offset or Z")
        return value

    @cached_property
    def key(self) -> str:
        """What tells kinds apart: equal keys share a supervisor."""
        return self.model_dump_json()

    @property
    def python_arguments(self) -> tuple[int, tuple[str, ...]] | None:
        """Number of words before, and the words from, ``-m`` or the script; None if not Python's.

        Only such a command can be run by the supervisor itself, up to where sessions fork.
        """
        if not re.match(r"python[0-9.]*\Z", Path(self.command[0]).name):
            return None
        for index, word in enumerate(self.command[1:], 1):
            if word == "-m" and len(self.command) > index + 1:
                return index, self.command[index:]
            if not word.startswith("-"):
                return index, self.command[index:]
            if not _FLAG.match(word):
                return None
        return None

    @property
    def wanted_mode(self) -> Mode:
        """The mode asked for, or the cheapest that the command allows."""
        return self.mode or ("fork" if self.python_arguments else "process")


class _Process(_Model):
    type: Literal["mcp-process"] = "mcp-process"
    name: str = ""
    command: Words = Field(min_length=1)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: Path | None = None
    transport: Literal["stdio"] = "stdio"
    mode: Literal["fork", "process"] | None = None
    python: Path | None = None
    limits: ServerLimits = Field(default_factory=ServerLimits)
    network: Network = "loopback"
    clock: str | None = None
    inherit: Words = ()


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    use_internal_servers: bool = True
    servers: dict[str, dict[str, Any]] = Field(default_factory=dict)


def load_servers(
    file: Path, *, python: Path | str | None = None, clock: str | None = None
) -> dict[str, ServerSpec]:
    """The servers that a ``servers.yaml`` names, by name, in the file's order.

    Args:
        file: The file.
        python: What ``{python}`` stands for; a server's own ``python`` wins. This process's own
            interpreter without either.
        clock: Frozen moment of all servers that name none.

    Raises:
        InputError: The file is wrong. Servers of type ``mcp-remote`` are left out: they live
            outside, so nothing of theirs can be isolated.
    """
    data = load_yaml(file)
    try:
        entries = _File.model_validate(data).servers
    except ValidationError as error:
        raise input_error(error, file=file, data=data) from error
    found = {}
    for name, entry in entries.items():
        if entry.get("type") == "mcp-remote":
            continue
        found[name] = _spec(file, name, entry, python=python, clock=clock)
    return found


def _spec(
    file: Path, name: str, entry: Mapping[str, Any], *, python: Path | str | None, clock: str | None
) -> ServerSpec:
    place = f"servers.{name}"
    try:
        given = _Process.model_validate(entry)
        interpreter = str(given.python or python or sys.executable)
        command = tuple(_filled(word, interpreter) for word in given.command)
        return ServerSpec(
            name=name,
            command=command,
            env={**_inherited(given.inherit), **given.env},
            # A supervisor stands elsewhere: the form means the folder that the runner stands in.
            cwd=given.cwd and given.cwd.absolute(),
            mode=given.mode,
            limits=given.limits,
            network=given.network,
            clock=given.clock or clock,
            search=True,
            home=file.resolve().parent,
        )
    except ValidationError as error:
        raise input_error(error, file=file, within=place) from error
    except KeyError as error:
        raise InputError(
            "names an environment variable that is not set; set it",
            file=file,
            field=place,
            value=error.args[0],
        ) from error


def _inherited(names: Sequence[str]) -> dict[str, str]:
    """Variables that a server gets from the runner's own environment, by name and no others."""
    found = {name: os.environ[name] for name in names}
    # Where the form's own servers look for the data they are shipped with: a folder, no secret.
    if _DATA in os.environ:
        found.setdefault(_DATA, os.environ[_DATA])
    return found


def _filled(word: str, python: str) -> str:
    """A word of a command with ``{python}`` and ``{env[NAME]}`` filled in, and nothing else."""

    def value(match: re.Match[str]) -> str:
        return python if match[1] == "python" else os.environ[match[2]]

    return _PLACE.sub(value, word)
