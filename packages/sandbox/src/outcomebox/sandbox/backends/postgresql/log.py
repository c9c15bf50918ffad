"""The change log: which rows were written, noted by the database itself.

Row triggers write the primary key of each row that is inserted, updated or deleted (by whatever
statement: cascades, ``COPY`` and ``MERGE`` fire them too) into a table in a schema of ours; a
truncated table is noted as a whole. A session's role may neither see that schema nor alter a table,
so it can neither go around the log nor touch it: the triggers run with their owner's rights.

The log says where to look. What a row holds is read by key when the session has ended.
"""

from __future__ import annotations

from outcomebox.sandbox.backends.postgresql.adapt import SETTINGS
from outcomebox.sandbox.backends.postgresql.catalogue import Table
from outcomebox.sandbox.database import quoted

SCHEMA = "_outcomebox"
TRIGGER = "_outcomebox"
"""Start of the names of the log's triggers."""

START = f"""
CREATE SCHEMA {SCHEMA};
CREATE TABLE {SCHEMA}.log (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    relation text NOT NULL,
    key text[]
);
"""

_FUNCTION = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog {settings} AS $outcomebox$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO {schema}.log (relation) VALUES ({name});
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO {schema}.log (relation, key) VALUES ({name}, ARRAY[{old}]);
    END IF;
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND ARRAY[{old}] <> ARRAY[{new}] THEN
        INSERT INTO {schema}.log (relation, key) VALUES ({name}, ARRAY[{new}]);
    END IF;
    RETURN NULL;
END
$outcomebox$;
REVOKE ALL ON FUNCTION {function}() FROM PUBLIC;
CREATE TRIGGER {trigger}_rows AFTER INSERT OR UPDATE OR DELETE ON {relation}
    FOR EACH ROW EXECUTE FUNCTION {function}();
"""
_TRUNCATE = """
CREATE TRIGGER {trigger}_truncate AFTER TRUNCATE ON {relation}
    FOR EACH STATEMENT EXECUTE FUNCTION {function}();
"""

LAYOUT = START + _FUNCTION + _TRUNCATE
"""All that decides what a log is; part of what a template's name is made from."""


def logging(table: Table) -> str:
    """SQL that has a table's writes logged. The table has a primary key."""
    parts = {
        "function": f"{SCHEMA}.touched_{table.oid}",
        "schema": SCHEMA,
        "trigger": TRIGGER,
        "relation": table.relation,
        "name": _literal(table.info.name),
        "old": ", ".join(f'OLD.{quoted(column)}::text COLLATE "C"' for column in table.info.key),
        "new": ", ".join(f'NEW.{quoted(column)}::text COLLATE "C"' for column in table.info.key),
        "settings": " ".join(f"SET {key} = {_literal(value)}" for key, value in SETTINGS.items()),
    }
    statements = [_FUNCTION.format(**parts)]
    # Rows written through a partition fire its copy of the row trigger; truncating it would not.
    relations = (table.relation, *table.partitions)
    statements += [_TRUNCATE.format(**{**parts, "relation": each}) for each in relations]
    return "".join(statements)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
