"""All that a database's schema consists of, so that whatever was created, dropped or altered shows.

The roles of a session may not alter a domain's schema, but what a schema's author allows them, and
functions that run with its author's rights, may.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from outcomebox.sandbox.backends.postgresql.catalogue import Connection, shown_name

Parts: TypeAlias = Mapping[tuple[str, str], tuple[str, str]]
"""(kind, name) -> (table, definition), as :attr:`DatabaseState.schema` has it."""

Fingerprint: TypeAlias = tuple[tuple[int, str | None], ...]

# Rows (kind, schema, table or None, name, definition, whether it is the change log's own). All in
# one statement: it is asked at the end of each session. Internal triggers (of foreign keys) are
# there for their state: whoever disables them takes the key away. Numbers of objects are the same
# in every copy of a template.
_PARTS = r"""
WITH spaces AS (
    SELECT oid, nspname, nspname = '_outcomebox' AS own FROM pg_namespace
    WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'
), relations AS (
    SELECT c.*, s.nspname, s.own FROM pg_class c JOIN spaces s ON s.oid = c.relnamespace
)
SELECT 'schema', nspname, NULL, nspname, concat_ws(' ', n.nspowner, n.nspacl), own
FROM spaces JOIN pg_namespace n USING (oid, nspname)
UNION ALL
SELECT CASE relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' WHEN 'm' THEN 'view'
        WHEN 'c' THEN 'type' ELSE 'table' END, nspname, NULL, relname,
    concat_ws(' ', r.oid, relkind, relpersistence, relowner, relacl, relrowsecurity,
        relforcerowsecurity, reloptions, pg_get_expr(relpartbound, r.oid),
        (SELECT string_agg(inhparent::text, ' ' ORDER BY inhseqno) FROM pg_inherits
         WHERE inhrelid = r.oid),
        CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(r.oid) END,
        (SELECT concat_ws(' ', seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcycle)
         FROM pg_sequence WHERE seqrelid = r.oid),
        (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
             attidentity, attgenerated, attcollation, attacl, pg_get_expr(adbin, adrelid)),
             ', ' ORDER BY attnum)
         FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = r.oid AND attnum > 0 AND NOT attisdropped)),
    own
FROM relations r WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
UNION ALL
SELECT 'index', nspname, t.relname, r.relname,
    concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisready), own
FROM relations r JOIN pg_index ON indexrelid = r.oid JOIN pg_class t ON t.oid = indrelid
UNION ALL
SELECT 'constraint', nspname, relname, conname,
    concat_ws(' ', pg_get_constraintdef(c.oid), condeferrable, condeferred, convalidated), own
FROM pg_constraint c JOIN relations r ON r.oid = conrelid
UNION ALL
SELECT 'trigger', nspname, relname, tgname, concat_ws(' ', pg_get_triggerdef(t.oid), tgenabled),
    own OR tgname LIKE '\_outcomebox%'
FROM pg_trigger t JOIN relations r ON r.oid = tgrelid
UNION ALL
SELECT 'rule', nspname, relname, rulename, concat_ws(' ', pg_get_ruledef(w.oid), ev_enabled), own
FROM pg_rewrite w JOIN relations r ON r.oid = ev_class WHERE rulename <> '_RETURN'
UNION ALL
SELECT 'policy', nspname, relname, polname,
    concat_ws(' ', polcmd, polpermissive, polroles, pg_get_expr(polqual, polrelid),
        pg_get_expr(polwithcheck, polrelid)), own
FROM pg_policy JOIN relations r ON r.oid = polrelid
UNION ALL
SELECT 'function', nspname, NULL,
    concat(proname, '(', pg_get_function_identity_arguments(p.oid), ')'),
    concat_ws(' ', p.oid, proowner, prolang, prosecdef, provolatile, proisstrict, prorettype,
        proacl, proconfig, prosrc, probin), own
FROM pg_proc p JOIN spaces s ON s.oid = pronamespace
UNION ALL
SELECT 'type', nspname, NULL, typname,
    concat_ws(' ', t.oid, typowner, typtype, typbasetype, typnotnull, typdefault,
        (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum
         WHERE enumtypid = t.oid),
        (SELECT string_agg(pg_get_constraintdef(oid), ' ' ORDER BY oid) FROM pg_constraint
         WHERE contypid = t.oid)), own
FROM pg_type t JOIN spaces s ON s.oid = typnamespace WHERE typtype IN ('d', 'e', 'r')
UNION ALL
SELECT 'extension', 'public', NULL, extname, extversion, false FROM pg_extension
UNION ALL
SELECT 'event trigger', 'public', NULL, evtname,
    concat_ws(' ', evtevent, evtfoid, evtenabled), false
FROM pg_event_trigger
UNION ALL
SELECT 'large object', 'public', NULL, concat('large object ', oid),
    concat_ws(' ', lomowner, lomacl, md5(lo_get(oid))), false
FROM pg_largeobject_metadata
"""

# A catalogue's rows are never changed, only replaced, and a new one carries the number of the
# transaction that made it, which is greater than that of any row of the template. So equal counts
# and equal sums mean equal rows. Objects of the system's own are numbered below 16384.
_CATALOGUES = (
    *("pg_class", "pg_constraint", "pg_trigger", "pg_rewrite", "pg_policy", "pg_proc", "pg_type"),
    *("pg_enum", "pg_attrdef", "pg_namespace", "pg_extension", "pg_event_trigger"),
    "pg_largeobject_metadata",
)
_KEYED_BY_RELATION = {
    "pg_attribute": "attrelid",
    "pg_index": "indexrelid",
    "pg_inherits": "inhrelid",
    "pg_sequence": "seqrelid",
}
# Few rows, some of which are the system's and may be altered.
_WHOLE = ("pg_namespace", "pg_extension")
_FINGERPRINT = " UNION ALL ".join(
    f"SELECT count(*), sum(xmin::text::bigint)::text FROM pg_catalog.{name}"
    + ("" if name in _WHOLE else f" WHERE {number} >= 16384")
    for name, number in [*((name, "oid") for name in _CATALOGUES), *_KEYED_BY_RELATION.items()]
)


def fingerprint(connection: Connection) -> Fingerprint:
    """What is the same in two copies of a template as long as neither's schema was touched.

    Cheap, where :func:`read_parts` is not. It may differ for schemas that are the same.

    Raises:
        psycopg.Error: It cannot be read.
    """
    return tuple(connection.execute(_FINGERPRINT.encode()).fetchall())


def read_parts(connection: Connection) -> tuple[Parts, Parts]:
    """The parts of the database's schema, and those of the change log.

    Raises:
        psycopg.Error: They cannot be read.
    """
    schema: dict[tuple[str, str], tuple[str, str]] = {}
    own: dict[tuple[str, str], tuple[str, str]] = {}
    for kind, space, table, name, definition, of_log in connection.execute(_PARTS):
        place = shown_name(space, table or name)
        # Names of constraints, triggers, rules and policies are their table's own.
        scoped = kind in ("constraint", "trigger", "rule", "policy")
        shown = f"{place}.{name}" if scoped else shown_name(space, name)
        if kind == "schema":
            place = shown = name
        (own if of_log else schema)[kind, shown] = (place, definition)
    return schema, own
