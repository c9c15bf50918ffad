"""A domain: a folder that holds a database schema, its seed, a policy, a tool server and tasks.

``domain.yaml`` names the parts. The bundled domains are such folders inside this package; a folder
of one's own is used the same way (``--tasks FOLDER``), and an installed package may offer more
through the entry point group ``outcomebox.domains`` (the value is a package that holds the folder).
"""

from __future__ import annotations

import hashlib
import importlib.resources
import importlib.util
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.errors import InputError, input_error
from outcomebox.sandbox.servers import Mode, Network, ServerLimits, ServerSpec

DOMAIN_FILE = "domain.yaml"
BUNDLED = ("retail", "travel")
"""What the commands take where no tasks are named."""
_SHIPPED = (*BUNDLED, "desk")
_GROUP = "outcomebox.domains"
_NOT_HASHED = {"server": {"mode", "limits", "network"}, "changes": True, "postgresql": True}


class ServerSettings(BaseModel):
    """How a domain's tool server starts: a module by name, or a Python file of the folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    module: str | None = Field(default=None, description="Importable module that has `server`.")
    file: str | None = Field(default=None, description="Python file beside domain.yaml.")
    env: dict[str, str] = Field(default_factory=dict, description="More environment variables.")
    mode: Mode | None = Field(
        default=None, description="How sessions come to be: fork (default), process or inprocess."
    )
    limits: ServerLimits = Field(default_factory=ServerLimits)
    network: Network = Field(
        default="loopback", description="The network it has: a loopback of its own, or the host's."
    )

    @model_validator(mode="after")
    def _one_of(self) -> ServerSettings:
        if (self.module is None) == (self.file is None):
            raise ValueError("give exactly one of module and file")
        return self


class PostgresqlSettings(BaseModel):
    """The files with which a domain's sessions run on PostgreSQL."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_file: str = Field(
        default="schema.postgresql.sql", alias="schema", description="The schema's SQL."
    )
    seed_file: str | None = Field(
        default=None, alias="seed", description="The seed's SQL; without it the domain's `seed`."
    )


class DomainSettings(BaseModel):
    """What ``domain.yaml`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str = Field(min_length=1)
    description: str = ""
    now: str = Field(description="The frozen clock of every session, ISO 8601 with Z or an offset.")
    schema_file: str = Field(default="schema.sql", alias="schema")
    seed_file: str = Field(default="seed.sql", alias="seed")
    policy_file: str = Field(default="policy.md", alias="policy")
    tasks_folder: str = Field(default="tasks", alias="tasks")
    changes: Literal["log", "full"] = Field(
        default="log",
        description="How a session's changes are found: by the log that triggers keep, or, for a "
        "server that runs SQL of the agent's own, by comparing all rows.",
    )
    postgresql: PostgresqlSettings | None = Field(
        default=None, description="What it takes to run on PostgreSQL too."
    )
    server: ServerSettings

    @field_validator("now")
    @classmethod
    def _has_offset(cls, value: str) -> str:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("write an ISO 8601 moment such as 2026-03-02T09:00:00Z") from None
        if moment.tzinfo is None:
            raise ValueError("give the moment an offset or Z")
        return value


@dataclass(frozen=True)
class Domain:
    """A domain's folder with its settings read.

    Attributes:
        folder: Where ``domain.yaml`` stands.
        settings: What it says.
    """

    folder: Path
    settings: DomainSettings

    @property
    def name(self) -> str:
        """The name that tasks use."""
        return self.settings.name

    def on(self, network: Network) -> Domain:
        """The domain with a server that has at least this network."""
        if network in ("loopback", self.settings.server.network):
            return self
        server = self.settings.server.model_copy(update={"network": network})
        return replace(self, settings=self.settings.model_copy(update={"server": server}))

    @property
    def tasks_folder(self) -> Path:
        """Where the domain's own tasks are."""
        return self.folder / self.settings.tasks_folder

    @cached_property
    def schema_sql(self) -> str:
        """The schema's SQL text."""
        return self._text("schema", self.settings.schema_file)

    @cached_property
    def seed_sql(self) -> str:
        """The seed's SQL text."""
        return self._text("seed", self.settings.seed_file)

    @cached_property
    def postgresql_sql(self) -> tuple[str, str]:
        """Schema and seed for PostgreSQL.

        Raises:
            InputError: The domain has none, or a file of it cannot be read.
        """
        own = self.settings.postgresql
        if own is None:
            raise self._error(
                "postgresql",
                "the domain has no schema for PostgreSQL: write one beside schema.sql and name it, "
                "`postgresql: {schema: schema.postgresql.sql}`, or use the sqlite backend",
                None,
            )
        schema = self._text("postgresql.schema", own.schema_file)
        if own.seed_file is None:
            return schema, self.seed_sql
        return schema, self._text("postgresql.seed", own.seed_file)

    @cached_property
    def policy(self) -> str:
        """The written policy that the agent sees."""
        return self._text("policy", self.settings.policy_file)

    @cached_property
    def server_file(self) -> Path:
        """The server's source file.

        Raises:
            InputError: It is not there.
        """
        server = self.settings.server
        if server.file is not None:
            path = self.folder / server.file
            if not path.is_file():
                raise self._error("server.file", "there is no such file", server.file)
            return path
        try:
            spec = importlib.util.find_spec(server.module or "")
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None:
            raise self._error(
                "server.module", "cannot be found; install its package", server.module
            )
        return Path(spec.origin)

    @cached_property
    def server(self) -> ServerSpec:
        """The domain's tool server, run by this interpreter with what it can import.

        Raises:
            InputError: The server's file or module is not there.
        """
        given = self.settings.server
        file = self.server_file
        what = ("-m", given.module) if given.module else (str(file.resolve()),)
        return ServerSpec(
            name=self.name,
            command=(sys.executable, "-s", "-P", *what),
            env=given.env,
            mode=given.mode,
            limits=given.limits,
            network=given.network,
            search_path=tuple(str(Path(entry or ".").resolve()) for entry in sys.path),
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 over all that decides a session but the task: settings, SQL, policy, server.

        The server is every Python file beside (or below) the one that starts.
        """
        digest = hashlib.sha256()
        folder = self.server_file.parent
        sources = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
        for part in (
            # How a session comes to be, and how its changes are found, does not change what it is;
            # what it is on another database is that database's to say.
            self.settings.model_dump_json(
                exclude={
                    "server": {"mode", "limits", "network"},
                    "changes": True,
                    "postgresql": True,
                }
            ),
            self.schema_sql,
            self.seed_sql,
            self.policy,
            *(f"{name}\n{sources[name].read_text(encoding='utf-8')}" for name in sorted(sources)),
        ):
            digest.update(hashlib.sha256(part.encode()).digest())
        return digest.hexdigest()

    def _text(self, field: str, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise self._error(field, f"cannot be read: {error.strerror}", name) from error

    def _error(self, field: str, message: str, value: object) -> InputError:
        return InputError(message, file=self.folder / DOMAIN_FILE, field=field, value=value)


def load_domain(folder: Path) -> Domain:
    """The domain whose ``domain.yaml`` stands in ``folder``.

    Raises:
        InputError: The file is missing or wrong.
    """
    file = folder / DOMAIN_FILE
    data = load_yaml(file)
    try:
        return Domain(folder, DomainSettings.model_validate(data))
    except ValidationError as error:
        raise input_error(error, file=file, data=data) from error


def find_domain(name: str) -> Domain:
    """A domain by name: a bundled one, or one that an installed package offers.

    Raises:
        InputError: Nobody offers it; the message lists the names that are known.
    """
    offered = _offered()
    if name not in offered:
        raise InputError(
            f"no such domain; known are {', '.join(sorted(offered))}. A domain of your own is a "
            f"folder with {DOMAIN_FILE}: give the folder",
            field="domain",
            value=name,
        )
    return load_domain(_folder_of(offered[name]))


def domain_names() -> list[str]:
    """The names that :func:`find_domain` knows, sorted."""
    return sorted(_offered())


def _offered() -> dict[str, str]:
    found = {point.name: point.value for point in entry_points(group=_GROUP)}
    return found | {name: f"outcomebox.sandbox.domains.{name}" for name in _SHIPPED}


def domain_above(path: Path) -> Domain | None:
    """The domain whose folder ``path`` is or lies in, if any."""
    for folder in (path, *path.parents):
        if (folder / DOMAIN_FILE).is_file():
            return load_domain(folder)
    return None


def _folder_of(package: str) -> Path:
    # A domain is files on disk: SQLite and the server's process need paths.
    return Path(str(importlib.resources.files(package)))
