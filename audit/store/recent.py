"""The newest committed records, kept by the process that commits them.

Who decides reads what was committed a moment ago, many times. These are the same records as the
database has, kept before their writer is answered, so a reader of this process never finds less
here than it wrote.

Not here: older records, and whoever else reads the log (`reader`).
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.row import Row

KEPT: Final = 2_048
"""Records; one of a decision takes some 3 kB."""


class RecentRecords:
    """The end of the log; safe from any thread."""

    def __init__(self, size: int, most: int = KEPT) -> None:
        """Start at a log's end, with nothing kept."""
        self._most, self._size = most, size
        self._rows: deque[tuple[Record, str | None]] = deque()
        self._streams: dict[str, deque[tuple[Record, str | None]]] = {}
        self._ended = False
        self._lock = threading.Lock()

    @property
    def size(self) -> int | None:
        """The number of committed records; None once this process does not write them."""
        return None if self._ended else self._size

    def end(self) -> None:
        """Answer nothing any more: the log may go on by another process."""
        self._ended = True

    def landed(self, rows: Sequence[Row], size: int) -> None:
        """Keep a committed batch that ends at `size`.

        A disavowal says that a row is no record: what was kept is forgotten, and read again.
        """
        with self._lock:
            for row in rows:
                kept = (row.record, row.account)
                self._rows.append(kept)
                self._streams.setdefault(row.record.stream, deque()).append(kept)
            forgotten = any(row.record.kind is Kind.RECORD_DISAVOWED for row in rows)
            while len(self._rows) > (0 if forgotten else self._most):
                self._forget_oldest()
            self._size = size

    def _forget_oldest(self) -> None:
        stream = self._rows.popleft()[0].stream
        own = self._streams[stream]
        own.popleft()
        if not own:
            del self._streams[stream]

    def between(
        self,
        after_seq: int,
        before_seq: int | None,
        *,
        stream: str | None,
        kinds: Iterable[Kind] | None,
        account: str | None,
    ) -> list[Record] | None:
        """Return matching records, oldest first; None if not all of that stretch are kept."""
        wanted = None if kinds is None else frozenset(kinds)
        with self._lock:
            rows = self._rows if stream is None else self._streams.get(stream, deque())
            begun = stream is not None and bool(rows) and rows[0][0].stream_seq == 0
            if self._ended or (after_seq + 1 < self._size - len(self._rows) and not begun):
                return None
            found = [
                record
                for record, of_account in _after(rows, after_seq)
                if (before_seq is None or record.seq < before_seq)
                and (wanted is None or record.kind in wanted)
                and (account is None or of_account == account)
            ]
        return found[::-1]


def _after(
    rows: deque[tuple[Record, str | None]], after_seq: int
) -> Iterator[tuple[Record, str | None]]:
    """Yield the rows after a record, the newest first."""
    return takewhile(lambda row: row[0].seq > after_seq, reversed(rows))
