"""Whether the ledger's tables still match the migrations, before anything is read from them.

A superuser can replace a table so that a checker sees other rows than everybody else: by a view, a
policy, a rule, a child table, a column of another type or a cast. A table that lost a constraint
takes rows twice. An index that was suspended for a moment leads to other rows than the table holds.
A constraint that was never validated lets the planner leave rows out. So the catalogue's whole
description of a table becomes one digest, which a test compares with a fresh database. A ledger
with another digest is not opened, and `fsck` reports it.

Also looked for: rows without a key, which a scan in key order never meets, and rows without a head.

Not here: whether the rows obey. A superuser can change the catalogue back, so `fsck` also counts
the rows (`audit.upkeep.fsck.counts`) and verifies each. Somebody who can load code into the server
or write its files can make it answer anything; only a copy of the rows elsewhere helps against him.
"""

import hashlib
from collections.abc import Mapping

from audit.errors import LedgerWriteError
from audit.store.tables import SCHEMA_REVISION, TupleConnection, schema_revision

TABLES: Mapping[str, str] = {
    "blob": "digest",
    "checkpoint": "size",
    "cosignature": "size, name, key_id",
    "disclosure": "seq, position",
    "entry": "seq",
    "head": "id",
    "tile": "level, n",
}
"""Every table with its key."""
DIGESTS: Mapping[str, str] = {
    "functions in ledger": "43751078ccf66029baf6c514dc60233eb5ccf3d5be0c490f44c820556bf6efd9",
    "ledger.blob": "214f9a1caee0420007aae766bca5ffff239365583bfa8a04dd877c6a42c0ace8",
    "ledger.checkpoint": "0914dc18b44238e7938c791769d6fd66f71893a91f0085035910b61a71080e9c",
    "ledger.cosignature": "9d2b0a5a1b616ba1cdb00bf3afce15c14ef7b80388846d5787c508dc4d284ae0",
    "ledger.disclosure": "776e14a7625e0273a2aad9f4b1894e0143ac55b24f94ae7a6053e77752207e56",
    "ledger.entry": "9b442c51c764dd6626036f8017ea132fa89bd4f66c9449153b4c8c5e8fa40620",
    "ledger.head": "39cdb34fcc0d1e88d6a6edf90a2dc694a79ccb897c25f5fee22cee3188cd2e14",
    "ledger.tile": "1a03820463e6776e8fc8203ec7bad25b950f42c1dd836686e8b4c35769574269",
}
"""Of the migrated schema: SHA-256 over the lines of `_SQL`, by table."""
_SQL = rb"""
WITH t AS (
  SELECT c.*, 'ledger.' || relname AS part FROM pg_class c
  WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p')
)
SELECT part, ROW('itself', relkind, relpersistence, pg_get_userbyid(relowner),
    (SELECT amname FROM pg_am a WHERE a.oid = relam), relchecks, relhasindex, relhastriggers,
    relrowsecurity, relforcerowsecurity)::text
FROM t
UNION ALL
SELECT part, ROW('column', attname, atttypid, atttypmod, attcollation, attnotnull,
    attgenerated, pg_get_expr(adbin, adrelid))::text
FROM pg_attribute JOIN t ON attrelid = t.oid
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped
UNION ALL
SELECT part, ROW('constraint', conname, pg_get_constraintdef(o.oid), convalidated,
    condeferrable, o.coninhcount, o.conislocal)::text
FROM pg_constraint o JOIN t ON conrelid = t.oid WHERE contype <> 'n' OR NOT convalidated
UNION ALL
SELECT part, ROW('index', pg_get_indexdef(indexrelid), indisvalid, indisready,
    indislive, indimmediate, indisprimary,
    (SELECT bool_or(one >= 16384) FROM unnest(indclass) AS one))::text
FROM pg_index JOIN t ON indrelid = t.oid
UNION ALL
SELECT part, ROW('trigger', pg_get_triggerdef(g.oid), tgenabled)::text
FROM pg_trigger g JOIN t ON tgrelid = t.oid
UNION ALL
SELECT part, 'policy ' || polname FROM pg_policy JOIN t ON polrelid = t.oid
UNION ALL
SELECT part, 'rule ' || rulename FROM pg_rewrite JOIN t ON ev_class = t.oid
UNION ALL
SELECT part, 'inherits' FROM pg_inherits JOIN t ON t.oid IN (inhrelid, inhparent)
UNION ALL
SELECT 'functions in ledger', ROW(proname, pg_get_function_arguments(p.oid), lanname,
    prosrc, array_to_string(proconfig, ' '), prosecdef)::text
FROM pg_proc p JOIN pg_language l ON l.oid = prolang
WHERE pronamespace = 'ledger'::regnamespace
UNION ALL
SELECT 'casts of numbers to text', castfunc::text FROM pg_cast
WHERE oid >= 16384 AND casttarget = 'text'::regtype
  AND castsource IN ('bigint'::regtype, 'integer'::regtype)
"""
"""16384 is PostgreSQL's first OID for objects that users make."""
_HEADS_SQL = """
SELECT id <> 1 OR num_nulls(id, origin, size, root, frontier) > 0
  OR size NOT BETWEEN 0 AND 9007199254740991 FROM ledger.head
"""


def strange_tables(connection: TupleConnection) -> list[str]:
    """Return what differs from the migrations, in words; read nothing if there is anything.

    Raises:
        LedgerWriteError: the schema is another revision's.
    """
    found = changed_schema(connection)
    if found:
        revision = schema_revision(connection)
        if revision != SCHEMA_REVISION:
            raise LedgerWriteError(f"the schema is {revision}, expected {SCHEMA_REVISION}: migrate")
        return found
    return [
        f"ledger.{name} has a row without {key.replace(',', ' or')}"
        for name, key in TABLES.items()
        if _keyless(connection, name, key)
    ]


def digests(connection: TupleConnection) -> dict[str, str]:
    """Return the digests of a database's catalogue, as in `DIGESTS`."""
    said: dict[str, list[str]] = {}
    for part, line in connection.execute(_SQL).fetchall():
        said.setdefault(part, []).append(line)
    return {
        part: hashlib.sha256("\0".join(sorted(lines)).encode()).hexdigest()
        for part, lines in said.items()
    }


def changed_schema(connection: TupleConnection) -> list[str]:
    """Return what differs from the migrations, in words; does not look at rows."""
    found = digests(connection)
    return [
        f"{part}: not as the migrations made it"
        for part in sorted(DIGESTS.keys() | found.keys())
        if found.get(part) != DIGESTS.get(part)
    ]


def headless(connection: TupleConnection) -> str:
    """Return what is wrong with the head, or an empty text.

    A log's head is written before any other row and never deleted, so only an empty log has none.
    """
    rows = connection.execute(_HEADS_SQL).fetchmany(2)
    if len(rows) > 1:
        return "there are several heads"
    if rows:
        (wrong,) = rows[0]
        return (
            "the head has another id than 1, lacks a value, or states what no log has"
            if wrong
            else ""
        )
    left = [f"ledger.{name}" for name in TABLES if _any(connection, name)]
    return f"there is no head, but there are rows of a log in {', '.join(left)}" if left else ""


def _any(connection: TupleConnection, rows: str) -> bool:
    query = f"SELECT EXISTS (SELECT FROM ledger.{rows})"  # noqa: S608 - this file's constants
    return connection.execute(query.encode()).fetchone() == (True,)


def _keyless(connection: TupleConnection, name: str, key: str) -> bool:
    """Return whether a row lacks a value of its key.

    Not by `IS NULL`, which the planner takes to be false for a NOT NULL column. For a key of one
    column, the end of its index shows a NULL.
    """
    if "," in key:
        return _any(connection, f"{name} WHERE num_nulls({key}) > 0")
    order = f"ORDER BY {key} DESC NULLS FIRST LIMIT 1"
    last = f"SELECT num_nulls({key}) > 0 FROM ledger.{name} {order}"  # noqa: S608 - as above
    return connection.execute(last.encode()).fetchone() == (True,)
