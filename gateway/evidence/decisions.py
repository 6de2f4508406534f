"""The list of decisions, for verbs that take a decision's id."""

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import UnknownDecisionError
from gateway.installation.place import Place
from gateway.walk.journal.decision import DecisionSealed
from gateway.walk.journal.order import OrderReported

PREFIX: Final = "decision/"
FIRST_KINDS: Final = (Kind.INTENT_RECEIVED, Kind.FORECAST_TAKEN)
OPEN: Final = "open"
LAST_KINDS: Final = (Kind.DECISION_SEALED, Kind.ORDER_REPORTED)
"""Kinds that `last_word` reads."""


def list_decisions(place: Place, limit: int) -> int:
    """Print the newest decisions, one a line: id, first record, time, outcome."""
    found = [*_newest(place.reader, limit)]
    width = max((len(_id(start)) for start in found), default=0)
    for start in found:
        at = datetime.fromtimestamp(start.recorded_at_us / 1_000_000, tz=UTC)
        outcome = _outcome(place.reader, start.stream)
        sys.stdout.write(f"{_id(start):{width}}  record {start.seq}  {at:%F %T} UTC  {outcome}\n")
    if not found:
        sys.stderr.write("no decision is on record yet\n")
    return 0


def newest_decision(reader: LedgerReader) -> str | None:
    """Return the id of the decision that began last, or None."""
    return next((_id(start) for start in _newest(reader, 1)), None)


def newest_decisions(reader: LedgerReader) -> Iterator[str]:
    """Yield the ids of decisions, the one that began last first."""
    return map(_id, _newest(reader, sys.maxsize))


def known(place: Place, decision_id: str) -> str:
    """Return the id if there is such a decision.

    Raises:
        UnknownDecisionError: when there is none.
    """
    stream = PREFIX + decision_id
    if next(place.reader.records(stream=stream, limit=1), None) is None:
        raise UnknownDecisionError(
            problem=f"no decision {decision_id}: `countersign decisions` lists them"
        )
    return decision_id


def _newest(reader: LedgerReader, limit: int) -> Iterator[Record]:
    for record in reader.records(kinds=FIRST_KINDS, newest_first=True):
        if record.stream_seq != 0 or not record.stream.startswith(PREFIX):
            continue
        yield record
        limit -= 1
        if limit == 0:
            return


def _id(start: Record) -> str:
    return start.stream.removeprefix(PREFIX)


def last_word(newest_first: Iterable[Record]) -> str:
    """Return how a decision was sealed; empty while it is open or its order works again."""
    for record in newest_first:
        if record.kind is Kind.DECISION_SEALED:
            return DecisionSealed.of(record).outcome
        if record.kind is Kind.ORDER_REPORTED and OrderReported.of(record).reopens:
            return ""
    return ""


def _outcome(reader: LedgerReader, stream: str) -> str:
    return last_word(reader.records(stream=stream, kinds=LAST_KINDS, newest_first=True)) or OPEN
