"""Compare the row count of every table with those of its indexes, and look for repeated keys.

An index that was marked "not ready" for one statement lacks that statement's rows, so a query by
key and one in order give different rows. So the rows are counted without any index, then through
each one; repeated keys are looked for in the order of their index. One snapshot, one scan each,
constant memory.

Not found: rows moved to other keys while an index was out of service (decision 041).
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
    "incremental_sort=off",  # would use an index that begins with the same column
)
_WORKERS = "max_parallel_workers_per_gather=4"
_ONCE = "entry_once"


def miscounted(connection: TupleConnection, *, keys: bool) -> Iterator[str]:
    """Yield, in words, the differences between a ledger's tables and their indexes.

    The connection must be in a transaction, and keeps its settings. The catalogue must be as the
    migrations made it (`strange_tables`). With `keys` the rows are counted through every index and
    repeated keys are looked for; otherwise only through the primary keys, which the check uses.
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
    return connection.execute(query.encode()).fetchone() or ()


@contextlib.contextmanager
def _only(connection: TupleConnection, ways: Sequence[str]) -> Iterator[None]:
    """Limit the planner to these ways of reading inside the block."""
    settings = (*(f"enable_{way}" for way in ways), _WORKERS, "jit=off")
    with connection.transaction(force_rollback=True):
        connection.execute("; ".join(f"SET LOCAL {one}" for one in settings).encode())
        yield
