"""Databases made ahead, what runs leave on the server, and runs beside each other."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import psycopg
import pytest

from outcomebox.sandbox import (
    Domain,
    InputError,
    SessionOpenError,
    find_backend,
    load_domain,
    open_session,
)
from outcomebox.sandbox.backends.postgresql.backend import PostgresqlBackend
from outcomebox.sandbox.backends.postgresql.template import domain_template
from postgresql_server import DSN, VAULT, needed, vault, vault_box

pytestmark = needed

OURS = (
    "SELECT datname FROM pg_database WHERE datname LIKE 'outcomebox\\_s\\_%' "
    "UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'outcomebox\\_r\\_%'"
)
HOLDS_A_SESSION = """
import anyio, sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from outcomebox.sandbox import load_domain
from outcomebox.sandbox.backends.postgresql.backend import PostgresqlBackend

async def hold() -> None:
    backend = PostgresqlBackend({dsn!r}, ready=2)
    async with backend.domain_image(load_domain(Path({folder!r}))).open() as database:
        print(database.address, flush=True)
        time.sleep(600)

anyio.run(hold)
"""


def ours() -> set[str]:
    with psycopg.connect(DSN) as connection:
        return {name for (name,) in connection.execute(OURS)}


def made_by(backend: PostgresqlBackend) -> set[str]:
    """What is one run's: others run beside it on the same server."""
    return {name for name in ours() if run_of(backend) in name}


def run_of(backend: PostgresqlBackend) -> str:
    """What tells the names of a run's databases from those of others."""
    return backend.cluster.role.removeprefix("outcomebox_r_")


@pytest.fixture
def lone(tmp_path: Path) -> Domain:
    """The vault with a template that no other test has, and that may be broken."""
    folder = shutil.copytree(VAULT, tmp_path / "vault")
    with (folder / "schema.postgresql.sql").open("a", encoding="utf-8") as schema:
        schema.write(f"-- {uuid.uuid4()}\n")
    return load_domain(folder)


@contextmanager
def own(ready: int = 4) -> Iterator[PostgresqlBackend]:
    with closing(PostgresqlBackend(DSN, ready=ready)) as backend:
        yield backend


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


def test_what_is_made_ahead_follows_what_is_used_up_to_a_bound() -> None:
    with own(ready=3) as backend:
        image = backend.domain_image(vault())
        pool, template = backend.pool, image.base.template
        until(lambda: pool.ready(template) == 1)
        copies = [pool.take(template) for _ in range(6)]
        until(lambda: pool.ready(template) == 3)
        assert len({copy.name for copy in copies}) == 6
        for copy in copies:
            pool.give_back(copy)
        names = {copy.name for copy in copies}
        until(lambda: not ours() & names)
        assert pool.ready(template) == 3


def test_without_a_pool_each_is_made_when_it_is_taken() -> None:
    with own(ready=0) as backend:
        image = backend.domain_image(vault())
        first = backend.pool.take(image.base.template)
        assert backend.pool.ready(image.base.template) == 0
        assert first.connection.execute("SELECT count(*) FROM items").fetchone() == (3,)


def test_a_copy_whose_connection_broke_is_not_handed_out() -> None:
    with own(ready=1) as backend:
        image = backend.domain_image(vault())
        pool, template = backend.pool, image.base.template
        until(lambda: pool.ready(template) == 1)
        with backend.cluster.admin() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE starts_with(datname, %s)",
                [f"outcomebox_s_{run_of(backend)}_"],
            )
        copy = pool.take(template)
        assert copy.connection.execute("SELECT 1").fetchone() == (1,)


def test_closing_leaves_nothing_but_templates() -> None:
    with own() as backend:
        image = backend.domain_image(vault())
        backend.pool.take(image.base.template)
        assert len(made_by(backend)) > 1  # the role, and databases
    assert made_by(backend) == set()
    backend.close()  # a second time is none


def test_a_template_is_made_once_and_used_by_the_next_run() -> None:
    with own() as backend:
        template = backend.domain_image(vault()).base.template
        number = _oid(template)
    with own() as backend:
        assert backend.domain_image(vault()).base.template == template
        assert _oid(template) == number
        # The row that says how many connect to it: nobody can.
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(DSN, dbname=template)


def test_half_a_template_is_made_anew(lone: Domain) -> None:
    with own() as backend:
        name = domain_template(backend.cluster, lone)
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" IS_TEMPLATE false'.encode())
            connection.execute(f'DROP DATABASE "{name}"'.encode())
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        number = _oid(name)
        assert domain_template(backend.cluster, lone) == name
        assert _oid(name) != number


def test_several_makers_make_one(lone: Domain) -> None:
    backends = [PostgresqlBackend(DSN, ready=0) for _ in range(3)]
    try:
        name = domain_template(backends[0].cluster, lone)
        backends[0].close()
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" IS_TEMPLATE false'.encode())
            connection.execute(f'DROP DATABASE "{name}"'.encode())
        names: list[str] = []

        async def make() -> None:
            async with anyio.create_task_group() as group:
                for backend in backends[1:]:
                    group.start_soon(one, backend)

        async def one(backend: PostgresqlBackend) -> None:
            names.append(await anyio.to_thread.run_sync(domain_template, backend.cluster, lone))

        anyio.run(make)
        assert names == [name, name]
    finally:
        for backend in backends:
            backend.close()


def test_what_a_killed_run_left_is_removed_by_the_next_and_what_a_live_one_holds_is_not() -> None:
    path = [entry for entry in sys.path if entry]
    program = HOLDS_A_SESSION.format(path=path, dsn=DSN, folder=str(VAULT))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        name = address.split("dbname=")[1].split("&")[0]
        role = address.split("user=")[1].split("&")[0].strip()
        with own() as backend:
            backend.domain_image(vault())
            with backend.cluster.admin() as connection:
                backend.cluster.clean(connection)
        assert {name, role} <= ours()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with own():
            until(lambda: not ours() & {name, role})
    finally:
        process.kill()
        process.wait()


@pytest.mark.anyio
async def test_no_database_to_be_had_is_no_fault_of_the_agent() -> None:
    with own(ready=0) as backend:
        image = backend.domain_image(vault())
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute(f'ALTER ROLE "{backend.cluster.role}" CONNECTION LIMIT 0'.encode())
        async with vault_box() as box:
            with pytest.raises(SessionOpenError, match="did not come up"):
                async with open_session(box, vault(), image, seed=1):
                    pass


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("schema", "seed", "text"),
    [
        ("CREATE TABLE t (v text);", "", r"schema.postgresql.sql: .*table t has no primary key"),
        ("CREATE TABLE t (k int PRIMARY KEY);\nnonsense", "", r"the SQL fails: .*\(line 2\)"),
        ("CREATE TABLE t (k int PRIMARY KEY);", "INSERT INTO t VALUES (1), (1);", "seed.sql"),
    ],
)
def test_mistakes_in_a_domain_are_named(tmp_path: Path, schema: str, seed: str, text: str) -> None:
    (tmp_path / "domain.yaml").write_text(
        "name: wrong\ntitle: Wrong\nnow: 2026-01-05T10:00:00Z\npostgresql: {}\n"
        "server: {file: server.py}\n",
        encoding="utf-8",
    )
    (tmp_path / "schema.postgresql.sql").write_text(schema, encoding="utf-8")
    (tmp_path / "seed.sql").write_text(seed, encoding="utf-8")
    with own(ready=0) as backend, pytest.raises(InputError, match=text):
        backend.domain_image(load_domain(tmp_path))


def test_a_user_without_the_rights_is_told_which_to_give() -> None:
    with psycopg.connect(DSN, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS plain")
        connection.execute("CREATE ROLE plain LOGIN")
        try:
            with pytest.raises(InputError, match='ALTER ROLE "plain" CREATEDB CREATEROLE'):
                find_backend(f"{DSN}&user=plain")
        finally:
            connection.execute("DROP ROLE plain")


@pytest.mark.anyio
async def test_a_user_who_is_no_superuser_is_enough() -> None:
    with psycopg.connect(DSN, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS maker")
        connection.execute("CREATE ROLE maker LOGIN CREATEDB CREATEROLE")
    with closing(PostgresqlBackend(f"{DSN}&user=maker")) as backend:
        domain = vault()
        image = backend.domain_image(domain)
        async with vault_box() as box, open_session(box, domain, image, seed=1) as session:
            given = {"statements": ["DELETE FROM children WHERE id = 1"]}
            assert not (await session.call("write", given)).is_error
            (change,) = (await session.close()).changes
            assert (change.op, change.key) == ("delete", {"id": 1})


def _oid(name: str) -> int:
    with psycopg.connect(DSN) as connection:
        found = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", [name])
        row = found.fetchone()
    assert row is not None
    return int(row[0])
