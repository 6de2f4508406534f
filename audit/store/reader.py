"""The read side: records, blobs, heads, checkpoints and proofs, as the reader role.

Reads the primary only. Safe for many threads. A proof takes as many reads as the tree has levels of
tiles.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import psycopg
from psycopg.rows import TupleRow

from audit.errors import LedgerError, LedgerWriteError
from audit.records.chain import StreamHead
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.row_key import RowKey
from audit.store.connection import HEAD_SQL, LogHead, Pool
from audit.store.recent import RecentRecords
from audit.store.row_judge import RowJudge, disavowal_on, refuse_gaps
from audit.store.tables import READER_ROLE, RECORD_SQL, record_from_row
from audit.store.tiles import TileStore
from audit.store.watchdog import Watchdog
from audit.tlog.checkpoint import Checkpoint, parse_checkpoint
from audit.tlog.note import NoteSignature, parse_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.tiles import consistency_from, inclusion_from

_PAGE_ROWS = 500
_TIMEOUT_S = 15.0
_SIZE_SQL = "coalesce((SELECT size FROM ledger.head WHERE id = 1), 0)"
"""The log's end. The writer role can insert rows beyond it, but they are not records.

A column and not a condition: the planner could not estimate the condition, and would read all
records of a kind for one page of it.
"""
_RECORDS_SQL = f"SELECT {RECORD_SQL}, mac, {_SIZE_SQL} FROM ledger.entry WHERE "  # noqa: S608 - constants


class LedgerReader:
    """Answers questions about committed records; holds no lock and writes nothing.

    Every read raises `LedgerError` if the database does not answer.
    """

    def __init__(
        self,
        dsn: str,
        timeout_s: float = _TIMEOUT_S,
        *,
        row_key: RowKey | None = None,
        recent: RecentRecords | None = None,
    ) -> None:
        """Connect to nothing yet; the user may `SET ROLE countersign_reader`.

        `timeout_s` is for one query. `row_key` checks every record before it is returned; it is
        required if answers lead to an effect. None returns what is stored, whoever wrote it.
        `recent` is the end of the log that this process writes; it answers what it can.
        """
        self._watchdog = Watchdog()
        self._pool = Pool(dsn, self._watchdog, READER_ROLE)
        self._timeout_s = timeout_s
        self._recent = recent
        self.row_key = row_key
        self._judge = None if row_key is None else RowJudge(row_key, self._rows)
        self.tiles = TileStore(self._rows)

    def records(
        self,
        *,
        stream: str | None = None,
        kinds: Iterable[Kind] | None = None,
        account: str | None = None,
        after_seq: int = -1,
        before_seq: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[Record]:
        """Yield records in order of `seq`, a page at a time; `account` is the payload's.

        Raises:
            RowRefusedError: with a row key: a row is not the gateway's.
            LedgerUnsafeError: with a row key and without a filter: a record is missing.
        """
        kinds = None if kinds is None else tuple(kinds)
        if (
            self._recent is not None
            and (
                found := self._recent.between(
                    after_seq, before_seq, stream=stream, kinds=kinds, account=account
                )
            )
            is not None
        ):
            yield from islice(reversed(found) if newest_first else found, limit)
            return
        wanted = None if kinds is None else [kind.value for kind in kinds]
        left = limit
        whole = stream is None and kinds is None and account is None and not newest_first
        while left is None or left > 0:
            asked = _PAGE_ROWS if left is None else min(left, _PAGE_ROWS)
            rows = self._rows(
                f"{_RECORDS_SQL} seq > %(after)s"
                " AND (%(before)s::bigint IS NULL OR seq < %(before)s)"
                " AND (%(stream)s::text IS NULL OR stream = %(stream)s)"
                " AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s))"
                " AND (%(account)s::text IS NULL OR account = %(account)s)"
                f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT %(limit)s",
                {
                    "after": after_seq,
                    "before": before_seq,
                    "stream": stream,
                    "kinds": wanted,
                    "account": account,
                    "limit": asked,
                },
            )
            if whole and self._judge is not None:
                refuse_gaps(rows, after_seq)
            records = self._in_log(rows)
            yield from records
            if len(rows) < asked:
                return
            left = None if left is None else left - len(records)
            last = int(rows[-1][0])
            after_seq, before_seq = (after_seq, last) if newest_first else (last, before_seq)

    def record(self, seq: int) -> Record | None:
        """Return a record, or None."""
        return next(self.records(after_seq=seq - 1, before_seq=seq + 1, limit=1), None)

    def leaf(self, seq: int) -> tuple[str, bytes] | None:
        """Return the stream and the leaf of a row in the log, whoever wrote it."""
        rows = self._rows(
            "SELECT stream, leaf FROM ledger.entry WHERE seq = %(seq)s AND seq < %(size)s",
            {"seq": seq, "size": self._size()},
        )
        return (str(rows[0][0]), bytes(rows[0][1])) if rows else None

    def key_of(self, seq: int) -> tuple[str, str] | None:
        """Return the stream and the idempotency key of a row, whoever wrote it."""
        rows = self._rows(
            "SELECT stream, idem_key FROM ledger.entry WHERE seq = %(seq)s", {"seq": seq}
        )
        return (str(rows[0][0]), str(rows[0][1])) if rows else None

    def disavowals(self) -> dict[int, int]:
        """Return the disavowed records, each with the record that disavows it; for display.

        The officers' signatures are not checked here.
        """
        found = self.records(stream="control", kinds=(Kind.RECORD_DISAVOWED,))
        return {said.seq: by.seq for by in found if (said := disavowal_on(by))}

    def by_key(self, stream: str, idem_key: str) -> Record | None:
        """Return the record of an idempotency key, or None."""
        rows = self._rows(
            f"{_RECORDS_SQL} stream = %(stream)s AND idem_key = %(key)s",
            {"stream": stream, "key": idem_key},
        )
        return next(iter(self._in_log(rows)), None)

    def blob(self, digest: str) -> bytes | None:
        """Return a blob by its SHA-256 in hex, or None."""
        rows = self._rows(
            "SELECT data FROM ledger.blob WHERE digest = %(digest)s",
            {"digest": bytes.fromhex(digest)},
        )
        return bytes(rows[0][0]) if rows else None

    def head(self) -> LogHead:
        """Return the stored head; raise LedgerError if no ledger was ever opened here."""
        rows = self._rows(f"SELECT {HEAD_SQL} FROM ledger.head", {})  # noqa: S608 - constants
        if not rows:
            raise LedgerError("the ledger has no head yet")
        return LogHead(*rows[0])

    def log_size(self) -> int:
        """Return the number of committed records."""
        known = None if self._recent is None else self._recent.size
        return self._size() if known is None else known

    def checkpoints(
        self, *, limit: int | None = None, newest_first: bool = True
    ) -> tuple[Checkpoint, ...]:
        """Return stored checkpoints; their signatures are not checked here."""
        order = "DESC" if newest_first else "ASC"
        return self._checkpoints_where(f"ORDER BY size {order} LIMIT %(limit)s", limit=limit)

    def checkpoint_after(self, seq: int) -> Checkpoint | None:
        """Return the smallest stored checkpoint whose tree holds a record."""
        return self._checkpoint_where("WHERE size > %(seq)s ORDER BY size LIMIT 1", seq=seq)

    def checkpoint_not_above(self, seq: int) -> Checkpoint | None:
        """Return the largest stored checkpoint whose tree ends before a record."""
        return self._checkpoint_where("WHERE size <= %(seq)s ORDER BY size DESC LIMIT 1", seq=seq)

    def streams(self, prefix: str = "") -> dict[str, StreamHead]:
        """Return the heads of the streams whose names start with a prefix."""
        rows = self._rows(
            "SELECT DISTINCT ON (stream) stream, stream_seq, leaf FROM ledger.entry"
            " WHERE starts_with(stream, %(prefix)s) AND seq >= 0 AND seq < %(size)s"
            " ORDER BY stream, stream_seq DESC",
            {"prefix": prefix, "size": self._size()},
        )
        return {row[0]: StreamHead(stream_seq=int(row[1]), leaf=bytes(row[2])) for row in rows}

    def kind_counts(self) -> dict[Kind, int]:
        """Return the number of records of each kind."""
        rows = self._rows(
            "SELECT kind, count(*)::bigint FROM ledger.entry"
            " WHERE seq >= 0 AND seq < %(size)s GROUP BY kind",
            {"size": self._size()},
        )
        return {Kind(row[0]): int(row[1]) for row in rows}

    def inclusion_proof(self, seq: int, size: int) -> tuple[bytes, ...]:
        """Return a record's inclusion path in a tree; raise ProofError if it is not in there."""
        return inclusion_from(self.tiles.reader(size), seq, size)

    def consistency_proof(self, old_size: int, size: int) -> tuple[bytes, ...]:
        """Return the consistency path between trees; raise ProofError if the old one is larger."""
        return consistency_from(self.tiles.reader(size), old_size, size)

    def cosigned_note(self, checkpoint: Checkpoint) -> bytes:
        """Return a checkpoint's note with every stored cosignature: the file for outsiders."""
        rows = self._rows(
            "SELECT line FROM ledger.cosignature WHERE size = %(size)s ORDER BY name, key_id",
            {"size": checkpoint.size},
        )
        lines = (NoteSignature.parse(bytes(row[0]).decode()) for row in rows)
        return parse_note(checkpoint.note).with_signatures(*lines).to_bytes()

    def cosigned_after(self, seq: int) -> Checkpoint | None:
        """Return the smallest cosigned checkpoint whose tree holds a record."""
        return self._checkpoint_where(
            "WHERE size = (SELECT min(size) FROM ledger.cosignature WHERE size > %(seq)s)", seq=seq
        )

    def checkpoint_of(self, size: int) -> Checkpoint | None:
        """Return the stored checkpoint of a size."""
        return self._checkpoint_where("WHERE size = %(size)s", size=size)

    def stream_range(self, stream: str, first: int, last: int) -> tuple[Record, ...]:
        """Return the records of a stream by `stream_seq`, both ends included."""
        rows = self._rows(
            f"{_RECORDS_SQL} stream = %(stream)s"
            " AND stream_seq BETWEEN %(first)s AND %(last)s ORDER BY stream_seq",
            {"stream": stream, "first": first, "last": last},
        )
        return self._in_log(rows)

    def cosigned_checkpoints(self, *, limit: int) -> tuple[Checkpoint, ...]:
        """Return the newest cosigned checkpoints, newest first."""
        return self._checkpoints_where(
            "JOIN (SELECT DISTINCT size FROM ledger.cosignature"
            " ORDER BY size DESC LIMIT %(limit)s) AS cosigned USING (size) ORDER BY size DESC",
            limit=limit,
        )

    def quorum_sizes(
        self, policy: QuorumPolicy, start: int, *, newest_first: bool
    ) -> Iterator[int]:
        """Yield the sizes from `start` on whose stored cosignatures are a quorum; not verified.

        `policy` must require a witness. Reads the primary key in order up to the next quorum, in
        bounded memory.
        """
        beyond, order = ("<", "DESC") if newest_first else (">", "ASC")
        met, values = _quorum_sql(policy)
        query = (
            f"SELECT size FROM ledger.cosignature WHERE size {beyond}= %(at)s"  # noqa: S608 - constants
            f" GROUP BY size HAVING {met} ORDER BY size {order} LIMIT 1"
        )
        at = start
        while rows := self._rows(query, {**values, "at": at}):
            yield (size := int(rows[0][0]))
            at = size - 1 if newest_first else size + 1

    def size_bytes(self) -> int:
        """Return the bytes on disk of the ledger's tables, with indexes and blobs."""
        rows = self._rows(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'ledger' AND c.relkind = 'r'",
            {},
        )
        return int(rows[0][0])

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
        self._watchdog.close()

    def _in_log(self, rows: Iterable[TupleRow]) -> tuple[Record, ...]:
        """Return the records of `_RECORDS_SQL` rows, without disavowed and stray ones."""
        judge = self._judge
        inside = (row for row in rows if row[0] is not None and 0 <= row[0] < row[-1])
        if judge is None:
            return tuple(record_from_row(row[:-2]) for row in inside)
        return tuple(judge.sound(row[:-2]) for row in inside if judge.counts(row[:-2], row[-2]))

    def _size(self) -> int:
        """Return the log's end, as a number that the planner can use."""
        return int(self._rows(f"SELECT {_SIZE_SQL}", {})[0][0])

    def _checkpoint_where(self, which: str, **values: int) -> Checkpoint | None:
        return next(iter(self._checkpoints_where(which, **values)), None)

    def _checkpoints_where(self, which: str, **values: int | None) -> tuple[Checkpoint, ...]:
        rows = self._rows(f"SELECT note FROM ledger.checkpoint {which}", values)  # noqa: S608 - constants
        return tuple(parse_checkpoint(bytes(row[0])) for row in rows)

    def _rows(self, query: str, values: Mapping[str, object]) -> list[TupleRow]:
        try:
            with self._pool.connection(self._timeout_s) as connection:
                return connection.execute(query.encode(), values, prepare=False).fetchall()
        except psycopg.Error as error:
            raise LedgerWriteError(f"cannot read the ledger: {error}") from error


def _quorum_sql(policy: QuorumPolicy) -> tuple[str, dict[str, object]]:
    """Return the SQL condition that the rows of one size are a quorum, and its values."""
    values: dict[str, object] = {}
    met: dict[bytes, str] = {}
    for n, witness in enumerate(policy.witnesses):
        values |= {f"name{n}": witness.key.name, f"id{n}": witness.key.key_id}
        met[witness.name] = f"bool_or(name = %(name{n})s AND key_id = %(id{n})s)"
    for group in policy.groups:  # they come after their members
        if policy.quorum in met:
            break
        counted = " + ".join(f"({met.pop(member)})::int" for member in group.members)
        met[group.name] = f"{counted} >= {group.threshold}"
    return met[policy.quorum], values
