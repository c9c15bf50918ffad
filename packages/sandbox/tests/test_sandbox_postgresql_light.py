"""What of the PostgreSQL backend needs no server: parameters, blame, values, settings."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import adapt, postgres, pq

from outcomebox.sandbox import SQLITE, InputError, find_backend, find_domain, load_domain
from outcomebox.sandbox.backends.postgresql.adapt import served, stored
from outcomebox.sandbox.backends.postgresql.blame import blame
from outcomebox.sandbox.backends.postgresql.catalogue import shown_name
from outcomebox.sandbox.backends.postgresql.connecting import checked
from outcomebox.sandbox.backends.postgresql.parameters import translate

# Each piece of a statement with what becomes of it; `None` is a parameter.
_QUOTED = st.text("?%'a \n$-/*\\", max_size=8)
_INSIDE = st.text("?% a\n'\"", max_size=8)
PIECES = st.one_of(
    st.sampled_from([("SELECT a", "SELECT a"), ("b % 2", "b %% 2"), ("c ?? 'k'", "c ? 'k'")]),
    st.just(("?", None)),
    _QUOTED.map(lambda text: "'" + text.replace("'", "''").replace("\\", "") + "'").map(
        lambda text: (text, text.replace("%", "%%"))
    ),
    _INSIDE.map(lambda text: '"' + text.replace('"', '""') + '"').map(
        lambda text: (text, text.replace("%", "%%"))
    ),
    st.tuples(st.sampled_from(["$$", "$tag$", "$_1$"]), _INSIDE).map(
        lambda pair: (pair[0] + pair[1] + pair[0], (pair[0] + pair[1] + pair[0]).replace("%", "%%"))
    ),
    st.text("?% a'\"", max_size=6)
    .map(lambda text: "--" + text + "\n")
    .map(lambda text: (text, text.replace("%", "%%"))),
    st.text("?% a'\"\n", max_size=6)
    .map(lambda text: f"/*{text}/*?*/{text}*/")
    .map(lambda text: (text, text.replace("%", "%%"))),
    _QUOTED.map(lambda text: "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'").map(
        lambda text: (text, text.replace("%", "%%"))
    ),
)


@given(st.lists(PIECES, max_size=8))
def test_a_mark_is_a_parameter_but_in_quotes_and_comments(
    pieces: list[tuple[str, str | None]],
) -> None:
    statement = " ".join(text for text, _ in pieces)
    wanted = " ".join("%s" if after is None else after for _, after in pieces)
    values = list(range(sum(after is None for _, after in pieces)))
    assert translate(statement, values) == (wanted, tuple(values))


def test_numbered_parameters_may_be_used_again() -> None:
    assert translate("a = ?2 AND b = ?1 AND c = ?2", ["x", "y"]) == (
        "a = %s AND b = %s AND c = %s",
        ("y", "x", "y"),
    )
    # As in SQLite: a plain mark is one above the greatest before it.
    assert translate("?2, ?, ?1", [1, 2, 3]) == ("%s, %s, %s", (2, 3, 1))


@pytest.mark.parametrize(
    ("statement", "values"), [("SELECT ?", []), ("SELECT 1", [1]), ("SELECT '?'", [1])]
)
def test_parameters_are_counted(statement: str, values: list[int]) -> None:
    with pytest.raises(ValueError, match="parameters"):
        translate(statement, values)


def test_parameters_are_numbered_from_one() -> None:
    with pytest.raises(ValueError, match="numbered from 1"):
        translate("SELECT ?0", [])


@pytest.mark.parametrize(
    ("sqlstate", "whose"),
    [
        ("23505", "refused"),  # a key that is there already
        ("23503", "refused"),  # a reference to nothing
        ("22003", "refused"),  # a number out of range
        ("54000", "refused"),  # a text too long for an index
        ("P0001", "refused"),  # RAISE EXCEPTION in a trigger
        ("42601", "mistake"),  # syntax
        ("42501", "mistake"),  # no privilege
        ("25006", "mistake"),  # a write in a tool that says it has none
        ("57P01", "failed"),  # the server is shut down
        ("53100", "failed"),  # the disk is full
        ("58030", "failed"),  # input or output
        ("08006", "failed"),  # the connection broke
        ("3D000", "failed"),  # no such database
        ("40P01", "failed"),  # a deadlock: somebody else was in the session's database
        ("XX001", "failed"),  # the data are damaged
        (None, "failed"),  # the server said nothing: it is gone
    ],
)
def test_only_what_is_known_to_be_a_statement_s_is_blamed_on_it(
    sqlstate: str | None, whose: str
) -> None:
    assert blame(sqlstate) == whose


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("bool", "t", 1),
        ("bool", "f", 0),
        ("int8", "-9223372036854775808", -(2**63)),
        ("float8", "0.1", 0.1),
        ("float8", "-Infinity", -math.inf),
        ("float8", "NaN", "NaN"),
        ("numeric", "7.50", "7.50"),
        ("numeric", "100", "100"),
        ("timestamptz", "2026-03-02 09:00:00+00", "2026-03-02T09:00:00Z"),
        ("timestamptz", "2026-03-02 09:00:00.25+00", "2026-03-02T09:00:00.25Z"),
        ("timestamptz", "infinity", "infinity"),
        ("timestamptz", "0044-03-15 09:00:00+00 BC", "0044-03-15 09:00:00+00 BC"),
        ("timestamp", "2026-03-02 09:00:00", "2026-03-02T09:00:00"),
        ("date", "2026-03-02", "2026-03-02"),
        ("jsonb", '{"a": 1.0}', '{"a": 1.0}'),
        ("uuid", "6f1c1a1e-0000-4000-8000-000000000000", "6f1c1a1e-0000-4000-8000-000000000000"),
        ("text", "Käthe 🦉", "Käthe 🦉"),
        ("bytea", "\\x00ff", b"\x00\xff"),
    ],
)
def test_stored_values(kind: str, text: str, value: object) -> None:
    found = _loaded(stored(), postgres.types[kind].oid, text)
    assert (type(found), found) == (type(value), value)


def test_values_of_types_that_are_not_known_are_their_text() -> None:
    assert _loaded(stored(), postgres.types["int4"].array_oid, "{1,2}") == "{1,2}"
    assert _loaded(stored(), 987654, "(1,a)") == "(1,a)"


@pytest.mark.parametrize(
    ("text", "value"), [("700", 700), ("-7", -7), ("12.5", 12.5), ("7.00", 7.0), ("NaN", "NaN")]
)
def test_a_tool_reads_sums_as_numbers(text: str, value: object) -> None:
    found = _loaded(served(), postgres.types["numeric"].oid, text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("value", "kind"), [(1, "int4"), (-(2**31), "int4"), (2**31, "int8"), (2**63, "numeric")]
)
def test_a_tool_s_integers_are_as_wide_as_they_must_be(value: int, kind: str) -> None:
    transformer = adapt.Transformer(_Context(served()))
    dumper = transformer.get_dumper(value, adapt.PyFormat.TEXT)
    assert (dumper.oid, bytes(dumper.dump(value) or b"")) == (
        postgres.types[kind].oid,
        str(value).encode(),
    )


def test_a_truth_value_fits_a_boolean_and_a_number() -> None:
    dumper = adapt.Transformer(_Context(served())).get_dumper(True, adapt.PyFormat.TEXT)
    assert (dumper.oid, bytes(dumper.dump(True) or b"")) == (0, b"1")


def test_names_of_tables() -> None:
    assert shown_name("public", "orders") == "orders"
    assert shown_name("billing", "orders") == "billing.orders"
    assert shown_name("public", "billing.orders") == '"billing.orders"'


def test_every_bundled_domain_has_a_schema_and_a_seed() -> None:
    for name in ("desk", "retail", "travel"):
        domain = find_domain(name)
        schema, seed = domain.postgresql_sql
        assert schema.count("CREATE TABLE") == domain.schema_sql.count("CREATE TABLE")
        assert seed == domain.seed_sql


def test_a_domain_without_one_is_told_how_to_have_one(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "domains" / "shelf", tmp_path / "shelf")
    with pytest.raises(InputError, match=r"domain.yaml: postgresql: .*schema.postgresql.sql"):
        _ = load_domain(tmp_path / "shelf").postgresql_sql


def test_another_database_does_not_change_what_a_session_is(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "domains" / "shelf", tmp_path / "shelf")
    before = load_domain(tmp_path / "shelf").hash
    file = tmp_path / "shelf" / "domain.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "\npostgresql: {}\n", encoding="utf-8")
    domain = load_domain(tmp_path / "shelf")
    assert domain.hash == before
    assert domain.on("host").hash == before
    assert (domain.server.network, domain.on("host").server.network) == ("loopback", "host")
    with pytest.raises(InputError, match=r"postgresql.schema: cannot be read.*schema.postgresql"):
        _ = domain.postgresql_sql


def test_backends_by_name() -> None:
    assert find_backend(None) is SQLITE
    assert find_backend("") is SQLITE
    assert find_backend("sqlite") is SQLITE


@pytest.mark.parametrize("text", ["mysql://me:s3cret@host/x", "s3cret", "postgresql://me:s3cret@["])
def test_no_message_repeats_an_address(text: str) -> None:
    with pytest.raises(InputError) as caught:
        find_backend(text)
    assert "postgresql://" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_server_that_is_not_there_is_one_clear_message() -> None:
    with pytest.raises(InputError) as caught:
        find_backend("postgresql://me:s3cret@127.0.0.1:1/x?connect_timeout=2")
    assert "cannot be reached" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_address_is_read_without_a_server() -> None:
    assert checked("postgresql://me@host:5/base?sslmode=require") == {
        "user": "me",
        "host": "host",
        "port": "5",
        "dbname": "base",
        "sslmode": "require",
    }


class _Context:
    connection = None

    def __init__(self, adapters: adapt.AdaptersMap) -> None:
        self.adapters = adapters


def _loaded(adapters: adapt.AdaptersMap, oid: int, text: str) -> Any:
    return adapt.Transformer(_Context(adapters)).get_loader(oid, pq.Format.TEXT).load(text.encode())
