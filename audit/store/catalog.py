"""Whether the ledger's tables still are the migration's, before fsck and verify read from them.

What a superuser puts in a table's place can show a checker other rows than everybody else: a view,
a policy, a rule, a child table, a column of another type, a cast. So that is a finding itself, and
so is a constraint, index or trigger that is not the migration's (`defences`). A row without a key,
which no reading in order of keys meets, is looked for, and so are rows without the head that every
log has.
"""

from collections.abc import Iterator, Mapping

from audit.errors import LedgerWriteError
from audit.store.defences import strange_defences
from audit.store.tables import SCHEMA_REVISION, TupleConnection, schema_revision

TABLES: Mapping[str, str] = {
    "blob": "digest bytea, data bytea",
    "checkpoint": "size bigint, note bytea",
    "cosignature": "size bigint, name text C, key_id bytea, line bytea, received_at_us bigint",
    "disclosure": "seq bigint, position smallint, subject text C, sealed bytea",
    "entry": "seq bigint, stream text C, stream_seq bigint, kind text C, version integer,"
    " recorded_at_us bigint, actor text C, idem_key text C, account text C, prev bytea,"
    " payload_digest bytea, leaf bytea, header bytea, payload bytea, commitments bytea,"
    " mac bytea",
    "head": "id smallint, origin text C, size bigint, root bytea, frontier bytea, fence bigint",
    "tile": "level smallint, n bigint, hashes bytea",
}
"""Each table's columns with their types; `C` is the collation."""

_SHAPES_SQL = """
SELECT name, coalesce(c.relkind = 'r' AND c.relpersistence = 'p', false), c.relrowsecurity,
  EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid),
  EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent)),
  (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod),
     CASE attcollation WHEN 0 THEN NULL WHEN '"C"'::regcollation THEN 'C'
     ELSE 'of another collation' END,
     CASE WHEN attgenerated <> '' THEN 'computed' END), ', ' ORDER BY attnum)
   FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
FROM unnest(%s::text[]) AS name LEFT JOIN pg_class c
  ON c.relname = name AND c.relnamespace = 'ledger'::regnamespace
ORDER BY name
"""
_CAST_SQL = """
SELECT EXISTS (SELECT FROM pg_cast WHERE oid >= 16384 AND casttarget = 'text'::regtype
  AND castsource IN ('bigint'::regtype, 'integer'::regtype))
"""
"""Of an installation's own casts (16384 is PostgreSQL's first number for them)."""
_KEYS: Mapping[str, str] = {
    "blob": "digest",
    "checkpoint": "size",
    "cosignature": "size, name, key_id",
    "disclosure": "seq, position",
    "entry": "seq",
    "head": "id",
    "tile": "level, n",
}


_HEADS_SQL = """
SELECT id <> 1 OR num_nulls(id, origin, size, root, frontier) > 0
  OR size NOT BETWEEN 0 AND 9007199254740991 FROM ledger.head
"""


def strange_tables(connection: TupleConnection) -> list[str]:
    """Return what is not as the migration made it, in words; nothing more should then be read.

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
        for name, key in _KEYS.items()
        if _keyless(connection, name, key)
    ]


def changed_schema(connection: TupleConnection) -> list[str]:
    """Return what is not as the migrations made it, in words; the rows are not looked at."""
    found = [*_shapes(connection)]
    (cast,) = connection.execute(_CAST_SQL).fetchone() or (False,)
    if cast:
        found.append("a cast that is not PostgreSQL's own turns numbers into text")
    return found or [*strange_defences(connection)]


def headless(connection: TupleConnection) -> str:
    """Say what is wrong with the head: there is one, unless nothing was ever written.

    A log is opened by writing its head, before any other row, and nothing ever deletes it.
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
    """Say whether there are any rows of a table."""
    query = f"SELECT EXISTS (SELECT FROM ledger.{rows})"  # noqa: S608 - this file's constants
    return connection.execute(query.encode()).fetchone() == (True,)


def _keyless(connection: TupleConnection, name: str, key: str) -> bool:
    """Say whether a row lacks a value of its key.

    Never by `IS NULL`, which the planner takes to be false of a column that is said to be NOT NULL.
    A key of one column is asked of its index, at whose end NULL stands.
    """
    if "," in key:
        return _any(connection, f"{name} WHERE num_nulls({key}) > 0")
    order = f"ORDER BY {key} DESC NULLS FIRST LIMIT 1"
    last = f"SELECT num_nulls({key}) > 0 FROM ledger.{name} {order}"  # noqa: S608 - as above
    return connection.execute(last.encode()).fetchone() == (True,)


def _shapes(connection: TupleConnection) -> Iterator[str]:
    """Yield what is strange about each table."""
    for name, plain, filtered, ruled, shared, columns in connection.execute(
        _SHAPES_SQL, (list(TABLES),)
    ).fetchall():
        if not plain:
            yield f"ledger.{name} is not an ordinary table"
            continue
        if filtered:
            yield f"ledger.{name} has row-level security, which hides rows"
        if ruled:
            yield f"ledger.{name} has a rewrite rule"
        if shared:
            yield f"ledger.{name} inherits, or is inherited from"
        if columns != TABLES[name]:
            yield f"ledger.{name} has the columns {columns}, not {TABLES[name]}"
