"""Whether every index leads to just the rows that the table holds, and no key is there twice.

An index that was "not ready" for one statement does not know that statement's rows: whoever asks
by key is then answered with another row than whoever asks in order. So the rows are counted
without any index, then through each one, and their keys are folded into one number both ways.

What a superuser cannot do against it with SQL alone: show a row in one index only (the table then
has more rows than the index), hide a row from an index (fewer), let an index lead to a row of other
keys (another fold), or have two records of one key (counted in the order of its index, which by
then is known to hold the table's keys). All in one snapshot, one scan each, constant memory.
The fold is no cryptographic hash: it is for keys that were moved, each row is hashed elsewhere.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from audit.store.defences import EXPECTED
from audit.store.tables import TupleConnection

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """An index that the migrations make."""

    name: str
    keys: str
    where: str

    def counted(self, *, keys: bool) -> str:
        """How its rows are counted and their keys folded; unless keys matter, to nothing."""
        chosen = "" if self.where == "true" else f" FILTER (WHERE {self.where})"
        if not keys:
            return f"count(*){chosen}, 0"
        return (
            f"count(*){chosen}, coalesce(bit_xor(hash_record_extended(ROW({self.keys}), 0))"
            f"{chosen}, 0)"
        )


def miscounted(connection: TupleConnection, *, keys: bool) -> Iterator[str]:
    """Yield what does not add up between a ledger's tables and their indexes, in words.

    Args:
        connection: in a transaction; its settings are left as they were. The catalogue must be as
            the migrations made it (`strange_tables`).
        keys: compare keys as well, through every index, and look for one that is there twice. Else
            rows are counted through the primary keys only, by which the check itself reads them.
    """
    tables: dict[str, list[_Index]] = {}
    for name, made in EXPECTED.items():
        table, what, named = (*name.split(), "", "")[:3]
        found = _INDEX.search(made) if what == "index" else None
        if found is not None and (keys or named.endswith("_pkey")):
            where = found["where"] or "true"
            tables.setdefault(table, []).append(_Index(name=named, keys=found["keys"], where=where))
    held: dict[str, tuple[Any, ...]] = {}
    with _only(connection, _TABLE_ONLY):
        for table, indexes in tables.items():
            counted = ", ".join(index.counted(keys=keys) for index in indexes)
            query = f"SELECT {counted} FROM ledger.{table}"  # noqa: S608 - constants
            held[table] = _row(connection, query)
    with _only(connection, _INDEX_ONLY):
        for table, indexes in tables.items():
            there = zip(held[table][::2], held[table][1::2], strict=True)
            for index, one in zip(indexes, there, strict=True):
                yield from _through(connection, table, index, one, keys=keys)


def _through(
    connection: TupleConnection, table: str, index: _Index, there: tuple[Any, Any], *, keys: bool
) -> Iterator[str]:
    """Hold what is read through an index against what the table has."""
    rows = (
        f"(SELECT {index.keys} FROM ledger.{table} WHERE {index.where}"  # noqa: S608 - constants
        f" ORDER BY {index.keys} OFFSET 0) AS t"
    )
    query = f"SELECT {index.counted(keys=keys)} FROM {rows}"  # noqa: S608 - constants
    plan = connection.execute(f"EXPLAIN (COSTS OFF) {query}".encode()).fetchall()
    if not any(f"using {index.name} on " in line for (line,) in plan):
        yield f"ledger.{table} cannot be read through its index {index.name}"
        return
    count, fold = _row(connection, query)
    if count != there[0]:
        yield f"ledger.{table} has {there[0]} rows, its index {index.name} leads to {count}"
    elif fold != there[1]:
        yield f"ledger.{table} has rows to which its index {index.name} leads by other keys"
    if keys and index.name == _ONCE:
        twice = f"GROUP BY {index.keys} HAVING count(*) > 1 LIMIT 1"
        found = _row(connection, f"SELECT {index.keys} FROM {rows} {twice}")  # noqa: S608 - constants
        if found:
            yield f"ledger.{table} has the same {index.keys} twice: {' '.join(map(repr, found))}"


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
