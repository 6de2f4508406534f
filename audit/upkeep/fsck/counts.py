"""Whether every index leads to as many rows as the table holds, and no key is there twice.

An index that was "not ready" for one statement does not know that statement's rows: whoever asks
by key is then answered with another row than whoever asks in order. So the rows are counted without
any index, then through each one; a key that a record has twice is looked for in the order of its
index. All in one snapshot, one scan each, constant memory.

Not found: rows that were moved to other keys while an index was not told (see
docs/decisions/041-one-digest-of-the-catalogue.md).
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.store.tables import TupleConnection

_INDEXES_SQL = b"""
SELECT t.relname, i.relname, pg_get_indexdef(indexrelid)
FROM pg_index JOIN pg_class t ON t.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
WHERE t.relnamespace = 'ledger'::regnamespace AND (indisprimary OR %s) ORDER BY 1, 2
"""
_INDEX = re.compile(r"USING btree \((?P<keys>[^)]*)\)(?: WHERE \((?P<where>[^)]*)\))?")
_TABLE_ONLY = ("seqscan=on", "indexscan=off", "indexonlyscan=off", "bitmapscan=off")
_INDEX_ONLY = (
    "seqscan=off",
    "indexscan=on",
    "indexonlyscan=on",
    "bitmapscan=off",
    "sort=off",
    "incremental_sort=off",  # of an index that begins with the same column
)
_WORKERS = "max_parallel_workers_per_gather=4"
_ONCE = "entry_once"


def miscounted(connection: TupleConnection, *, keys: bool) -> Iterator[str]:
    """Yield what does not add up between a ledger's tables and their indexes, in words.

    Args:
        connection: in a transaction; its settings are left as they were. The catalogue must be as
            the migrations made it (`strange_tables`).
        keys: count through every index, and look for a key that is there twice. Else through the
            primary keys only, by which the check itself reads.
    """
    counted: dict[str, tuple[Any, ...]] = {}
    for table, index, made in connection.execute(_INDEXES_SQL, (keys,)).fetchall():
        found = _INDEX.search(made)
        columns, where = (found["keys"], found["where"] or "true") if found else ("", "")
        rows = f"FROM ledger.{table} WHERE {where}"
        ordered = f"FROM (SELECT {columns} {rows} ORDER BY {columns} OFFSET 0) AS t"
        if rows not in counted:
            with _only(connection, _TABLE_ONLY):
                counted[rows] = _row(connection, f"SELECT count(*) {rows}")
        with _only(connection, _INDEX_ONLY):
            plan = connection.execute(f"EXPLAIN (COSTS OFF) SELECT count(*) {ordered}".encode())
            if not any(f"using {index} on " in line for (line,) in plan.fetchall()):
                yield f"ledger.{table} cannot be read through its index {index}"
                continue
            held, led = counted[rows][0], _row(connection, f"SELECT count(*) {ordered}")[0]
            if led != held:
                yield f"ledger.{table} has {held} rows, its index {index} leads to {led}"
            if keys and index == _ONCE:
                twice = f"{ordered} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"
                if again := _row(connection, f"SELECT {columns} {twice}"):
                    key = " ".join(map(repr, again))
                    yield f"ledger.{table} has the same {columns} twice: {key}"


def _row(connection: TupleConnection, query: str) -> tuple[Any, ...]:
    """Return a query's first row."""
    return connection.execute(query.encode()).fetchone() or ()


@contextlib.contextmanager
def _only(connection: TupleConnection, ways: Sequence[str]) -> Iterator[None]:
    """Let the planner read in these ways only, for a while."""
    settings = (*(f"enable_{way}" for way in ways), _WORKERS, "jit=off")
    with connection.transaction(force_rollback=True):
        connection.execute("; ".join(f"SET LOCAL {one}" for one in settings).encode())
        yield
