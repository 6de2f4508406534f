"""What makes a session a reconciled one: a logon, then time, then a book equal to the broker's.

`serve` records it, so that a mode with money can ask how many there were. A development run is no
session, and neither is one with nothing to reconcile.

Not here: how many are needed (`risk.policy.deployment`), and their count
(`projections.modes`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from audit.sequencer.ledger import Lane
from gateway.walk.journal.session import session_opened, session_reconciled
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import LedgerPort, Tags
from gateway.walk.projections.outbox import Orders

AGAIN_US: Final = 60_000_000
"""How long a check that found the books apart is not repeated."""
SOURCE: Final = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTools:
    """What the proof of a session needs.

    Attributes:
        session: the session's name.
        logon: the number of the logon that is READY; 0 while none is.
        check: compares the whole book with the broker; returns how many differences are open.
        positions: signed lots by account and instrument.
        span_us: the signed policy's span; None if it has none.
        closed: why an instrument's market is closed; empty while it is open.
    """

    ledger: LedgerPort
    orders: Orders
    tags: Tags
    session: str
    logon: Callable[[], int]
    check: Callable[[str], int]
    positions: Callable[[], Mapping[tuple[str, str], int]]
    span_us: Callable[[], int | None]
    closed: Callable[[str], str]
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]


class _Logon(NamedTuple):
    """A logon, the record that says so, and when it was (monotonic)."""

    number: int
    seq: int
    began_us: int


class SessionProof:
    """Records each logon of a served run, and once that it was reconciled."""

    def __init__(self, tools: SessionTools) -> None:
        """Start without a logon."""
        self._tools = tools
        self._logon: _Logon | None = None
        self._again_us = 0

    def opened(self, logon_no: int) -> None:
        """Record a logon that was reconciled with the broker.

        Raises:
            audit.errors.AuditError: the ledger does not take it; then the session does not count.
        """
        tools = self._tools
        if tools.tags.dev:
            return
        draft = session_opened(tools.session, tools.tags, logon_no=logon_no)
        (record,) = tools.ledger.append(draft, lane=Lane.URGENT)
        self._logon, self._again_us = _Logon(logon_no, record.seq, tools.monotonic_us()), 0

    def look(self) -> None:
        """Record that the session is reconciled, once it is; a chore.

        Raises:
            audit.errors.AuditError: the ledger does not take it; the next round tries again.
            NotReadyError: the orders are not folded.
        """
        tools, logon, wanted = self._tools, self._logon, self._tools.span_us()
        if logon is None or wanted is None or tools.logon() != logon.number:
            return
        now_us = tools.monotonic_us()
        span_us = now_us - logon.began_us
        if span_us < wanted or now_us < self._again_us:
            return
        if tools.orders.in_doubt():
            return  # the broker has yet to say what became of one
        ordered = list(self._ordered(logon.seq))
        held = [symbol for (_, symbol), lots in tools.positions().items() if lots]
        if not any(not tools.closed(symbol) for symbol in {*ordered, *held}):
            return  # nothing to reconcile, or no market of it is open
        if tools.check(SOURCE):
            self._again_us = now_us + AGAIN_US
            return
        day = datetime.fromtimestamp(tools.wall_us() / 1_000_000, tz=UTC).date().isoformat()
        draft = session_reconciled(
            tools.session,
            tools.tags,
            logon_no=logon.number,
            span_us=span_us,
            orders=len(ordered),
            positions=len(held),
            trading_day=day,
        )
        tools.ledger.append(draft)
        self._logon = None  # once for each logon

    def _ordered(self, since_seq: int) -> Iterator[str]:
        """Yield the instrument of each order announced after a record that the broker answered."""
        for one in self._tools.orders.placed_here():
            if one.sending is None or one.approving is None or one.report_status is None:
                continue
            if one.sending.seq > since_seq:
                yield VerdictGiven.of(one.approving).instrument
