"""Bars and events that feeds delivered, kept over a restart: plain tables outside the ledger.

Its role has no right in the ledger; bars and events are added and read, never changed. The place up
to which a followed file is read is changed, and so is what a source delivered before its close. It
is no evidence: what a decision saw is a blob in the ledger.

Not here: whether a bar is sound (`gateway.feeds.live.conditions`).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from audit.store.connection import Pool
from audit.store.tables import TABLES_ROLE, DatabaseError
from audit.store.watchdog import Watchdog
from gateway.errors import NotReadyError
from gateway.feeds.live.items import BarItem
from gateway.feeds.news.posted import EventItem, parse_event

TIMEOUT_S: Final = 5.0
_COLUMNS: Final = (
    "source, instrument, sequence, close_us, open_ticks, high_ticks, low_ticks, close_ticks"
)
_KEEP: Final = (
    f"INSERT INTO market.bar ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 - constants
    " ON CONFLICT DO NOTHING"
)
_NEWEST: Final = f"""
SELECT {_COLUMNS} FROM (
  SELECT *, row_number() OVER (PARTITION BY instrument, source ORDER BY sequence DESC) AS place
  FROM market.bar WHERE instrument = ANY(%s)
) AS numbered
WHERE place <= %s ORDER BY instrument, source, sequence
"""  # noqa: S608 - constants

EVENTS_MAX: Final = 4096
_KEEP_EVENT: Final = (
    "INSERT INTO market.event (source, sequence, received_us, document) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT DO NOTHING"
)
_EVENTS: Final = """
SELECT document FROM (
  SELECT *, row_number() OVER (PARTITION BY source ORDER BY sequence DESC) AS place,
    max(received_us) OVER (PARTITION BY source) AS newest_us
  FROM market.event
) AS numbered
WHERE place <= %s AND newest_us >= %s ORDER BY source, sequence
"""
_POSITION: Final = "SELECT document FROM market.position WHERE source = %s"
_KEEP_POSITION: Final = (
    "INSERT INTO market.position (source, document) VALUES (%s, %s)"
    " ON CONFLICT (source) DO UPDATE SET document = excluded.document"
)
_WAITING: Final = "waiting "
"""Before a source's name, of the position that holds its early bars; no feed has this name."""
_EARLY: Final = "SELECT source, document FROM market.position WHERE starts_with(source, %s)"
_AROUND: Final = f"""
SELECT {_COLUMNS} FROM market.bar WHERE instrument = %(instrument)s AND source = %(source)s
  AND sequence BETWEEN
    coalesce((SELECT max(sequence) FROM market.bar WHERE instrument = %(instrument)s
      AND source = %(source)s AND sequence < %(first)s), %(first)s)
    AND coalesce((SELECT min(sequence) FROM market.bar WHERE instrument = %(instrument)s
      AND source = %(source)s AND sequence > %(last)s), %(last)s)
"""  # noqa: S608 - constants


class KeptTables:
    """The tables of bars and events. Thread-safe; a hanging database is left after `TIMEOUT_S`."""

    def __init__(self, dsn: str, timeout_s: float = TIMEOUT_S) -> None:
        self._watchdog = Watchdog()
        self._pool = Pool(dsn, self._watchdog, role=TABLES_ROLE)
        self._timeout_s = timeout_s

    def keep(self, bars: Sequence[BarItem]) -> None:
        """Keep bars durably; one that is kept already stays as it is.

        Raises:
            NotReadyError: the database does not answer or refuses; nothing was kept.
        """
        self._add(_KEEP, [_row(bar) for bar in bars])

    def newest(self, instruments: Iterable[str], count: int) -> tuple[BarItem, ...]:
        """Return the `count` newest bars of each instrument and source, in order.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        with self._answering(), self._pool.connection(self._timeout_s) as lent:
            found = lent.execute(_NEWEST, (sorted(instruments), count)).fetchall()
        return tuple(_bar(*row) for row in found)

    def around(self, instrument: str, source: str, first: int, last: int) -> tuple[BarItem, ...]:
        """Return the bars from one sequence to another, and the next one on each side.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        given = {"instrument": instrument, "source": source, "first": first, "last": last}
        with self._answering(), self._pool.connection(self._timeout_s) as lent:
            found = lent.execute(_AROUND, given).fetchall()
        return tuple(_bar(*row) for row in found)

    def keep_events(self, events: Sequence[EventItem], received_us: int) -> None:
        """Keep events durably; one that is kept already stays as it is.

        Raises:
            NotReadyError: the database does not answer or refuses; nothing was kept.
        """
        rows = [(e.source, e.sequence, received_us, e.document) for e in events if e.document]
        self._add(_KEEP_EVENT, rows)

    def events(self, since_us: int) -> tuple[EventItem, ...]:
        """Return the newest events of each source that delivered since a time, in order.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        with self._answering(), self._pool.connection(self._timeout_s) as lent:
            found = lent.execute(_EVENTS, (EVENTS_MAX, since_us)).fetchall()
        return tuple(parse_event(json.loads(document)) for (document,) in found)

    def position(self, name: str) -> dict[str, Any] | None:
        """Return where a followed file is read up to, None if nobody kept it.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        with self._answering(), self._pool.connection(self._timeout_s) as lent:
            found = lent.execute(_POSITION, (name,)).fetchone()
        document = None if found is None else json.loads(found[0])
        return document if isinstance(document, dict) else None

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        """Keep where a followed file is read up to, in place of what was kept.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        self._add(_KEEP_POSITION, [(name, json.dumps(document))])

    def keep_waiting(self, source: str, bars: Sequence[BarItem]) -> None:
        """Keep which bars of a source wait for their close, in place of what was kept.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        document = json.dumps([_row(bar)[1:] for bar in bars], separators=(",", ":"))
        self._add(_KEEP_POSITION, [(_WAITING + source, document)])

    def waiting(self) -> tuple[BarItem, ...]:
        """Return the bars that waited for their close, of every source.

        Raises:
            NotReadyError: the database does not answer or refuses.
        """
        with self._answering(), self._pool.connection(self._timeout_s) as lent:
            found = lent.execute(_EARLY, (_WAITING,)).fetchall()
        return tuple(
            _bar(name.removeprefix(_WAITING), *row)
            for name, document in found
            for row in json.loads(document)
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
        self._watchdog.close()

    def _add(self, statement: str, rows: Sequence[tuple[str | int, ...]]) -> None:
        if not rows:
            return
        with (
            self._answering(),
            self._pool.connection(self._timeout_s) as lent,
            lent.transaction(),
            lent.cursor() as cursor,
        ):
            cursor.executemany(statement.encode(), rows)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            raise NotReadyError(
                part="the table of the feeds", state=f"away ({type(error).__name__}): post again"
            ) from error


def _row(bar: BarItem) -> tuple[str | int, ...]:
    prices = (bar.open_ticks, bar.high_ticks, bar.low_ticks, bar.close_ticks)
    return (bar.source, bar.instrument, bar.sequence, bar.event_us, *prices)


def _bar(source: str, instrument: str, sequence: int, event_us: int, *prices: int) -> BarItem:
    open_ticks, high_ticks, low_ticks, close_ticks = prices
    return BarItem(
        source=source,
        instrument=instrument,
        sequence=sequence,
        event_us=event_us,
        open_ticks=open_ticks,
        high_ticks=high_ticks,
        low_ticks=low_ticks,
        close_ticks=close_ticks,
    )
