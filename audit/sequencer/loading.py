"""The state that a sequencer needs of a log before it writes, read with few rows.

Every statement follows an index from its end; none reads the whole table. The streams' ends take
one probe of an index each.
"""

from collections.abc import Iterator

from audit.errors import CanonicalError, LedgerUnsafeError
from audit.records.chain import StreamHead
from audit.records.kinds import KINDS, Kind
from audit.records.record import parse_payload
from audit.sequencer.batch import LogPosition
from audit.store.tables import TupleConnection
from audit.tlog.merkle import Frontier

_LEAVES_AT_ONCE = 8_192
_HASH = 32

_STREAMS_SQL = """
WITH RECURSIVE last AS (
  (SELECT stream, stream_seq, leaf, seq FROM ledger.entry
   ORDER BY stream DESC, stream_seq DESC LIMIT 1)
  UNION ALL
  SELECT before.* FROM last, LATERAL (
    SELECT e.stream, e.stream_seq, e.leaf, e.seq FROM ledger.entry e WHERE e.stream < last.stream
    ORDER BY e.stream DESC, e.stream_seq DESC LIMIT 1
  ) before
)
SELECT stream, stream_seq, leaf, seq FROM last
"""

_SECTIONS_SQL = """
WITH RECURSIVE name AS (
  (SELECT account FROM ledger.entry WHERE account IS NOT NULL ORDER BY account LIMIT 1)
  UNION ALL
  SELECT (SELECT e.account FROM ledger.entry e WHERE e.account > name.account
          ORDER BY e.account LIMIT 1)
  FROM name WHERE name.account IS NOT NULL
)
SELECT name.account, last.seq FROM name, LATERAL (
  SELECT seq FROM ledger.entry e WHERE e.account = name.account AND e.kind = ANY(%s)
  ORDER BY seq DESC LIMIT 1
) last
"""


def refuse_strays(connection: TupleConnection, size: int) -> None:
    """Raise LedgerUnsafeError if a row's number is below zero, beyond the head or NULL."""
    row = connection.execute(
        "SELECT (SELECT min(seq) FROM ledger.entry), (SELECT max(seq) FROM ledger.entry),"
        # not `IS NULL`, which the planner takes to be false for a NOT NULL column
        " (SELECT num_nulls(seq) > 0 FROM ledger.entry ORDER BY seq DESC NULLS FIRST LIMIT 1)"
    ).fetchone()
    lowest, highest, unnumbered = (None, None, False) if row is None else row
    if unnumbered or (lowest is not None and not 0 <= lowest <= highest < size):
        found = "without a number" if unnumbered else f"{lowest if lowest < 0 else highest}"
        raise LedgerUnsafeError(
            f"ledger.entry holds a row {found} outside the log of {size} records: somebody else"
            " wrote to the database; run `countersign fsck`"
        )


def newest_note(connection: TupleConnection) -> bytes | None:
    """Return the stored note of the newest checkpoint."""
    note = connection.execute(
        "SELECT note FROM ledger.checkpoint ORDER BY size DESC LIMIT 1"
    ).fetchone()
    return None if note is None else note[0]


def load(connection: TupleConnection, log: str, frontier: Frontier) -> LogPosition:
    """Return the position of a log with this frontier: stream heads, sections, last time."""
    run = connection.execute
    since = _mapped_from(connection)
    heads: dict[str, StreamHead] = {}
    changed: dict[str, StreamHead] = {}
    for stream, stream_seq, leaf, seq in run(_STREAMS_SQL):
        heads[stream] = StreamHead(stream_seq=stream_seq, leaf=leaf)
        if seq >= since:
            changed[stream] = heads[stream]
    moving = [kind.value for kind, spec in KINDS.items() if spec.section and not spec.firm_wide]
    firm = [kind.value for kind, spec in KINDS.items() if spec.firm_wide]
    sections = {row[0]: row[1] for row in run(_SECTIONS_SQL, (moving,))}
    firm_row = run(
        "SELECT coalesce(max(seq), -1) FROM ledger.entry WHERE kind = ANY(%s)", (firm,)
    ).fetchone()
    last = run("SELECT recorded_at_us FROM ledger.entry ORDER BY seq DESC LIMIT 1").fetchone()
    return LogPosition(
        log=log,
        frontier=frontier,
        heads=heads,
        changed=changed,
        sections=sections,
        firm_seq=-1 if firm_row is None else firm_row[0],
        recorded_at_us=0 if last is None else last[0],
    )


def _mapped_from(connection: TupleConnection) -> int:
    """Return where the newest stream-head map begins, 0 without one.

    A malformed map is skipped. Otherwise somebody who can only append could prevent the log from
    being opened, and so the row from being disavowed.
    """
    for seq, payload in connection.execute(
        "SELECT seq, payload FROM ledger.entry WHERE kind = %s ORDER BY seq DESC",
        (Kind.STREAM_HEADS,),
    ):
        try:
            part = parse_payload(payload)["part"]
        except (CanonicalError, KeyError, TypeError, ValueError):
            continue
        if isinstance(part, int) and 0 <= part <= seq:
            return int(seq) - part
    return 0


def leaves_from(connection: TupleConnection, first: int) -> Iterator[bytes]:
    """Yield leaf hashes in order until the next one is missing, in bounded memory."""
    while True:
        row = connection.execute(
            "SELECT count(*), string_agg(leaf, ''::bytea ORDER BY seq) FROM ledger.entry"
            " WHERE seq >= %s AND seq < %s",
            (first, first + _LEAVES_AT_ONCE),
        ).fetchone()
        if row is None or not row[0]:
            return
        joined = bytes(row[1])
        for at in range(0, len(joined), _HASH):
            yield joined[at : at + _HASH]
        first += _LEAVES_AT_ONCE
