"""The list of decisions finds an outcome anywhere in the log, and reads no seal twice."""

from collections.abc import Iterator
from typing import Any, cast

from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.store.reader import LedgerReader
from gateway.evidence.decisions import LAST_KINDS
from gateway.surfaces.web.views.lists import BITE, Views
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.small_desk import RUN


class CountingLog(MemoryLedger):
    """A ledger that counts how many seals are read for the whole list."""

    seals_read = 0

    @override
    def records(self, **asked: Any) -> Iterator[Record]:
        for record in super().records(**asked):
            self.seals_read += asked.get("kinds") == LAST_KINDS
            yield record


def _add(log: MemoryLedger, number: int, kind: Kind, **payload: JSON) -> None:
    stream, key = f"decision/d{number}", f"{kind}:{log.size}"
    log.append(Draft(stream=stream, kind=kind, payload=payload, actor="gateway", idem_key=key))


def _begin(log: MemoryLedger, number: int) -> None:
    name = f"d{number}"
    _add(
        log,
        number,
        Kind.INTENT_RECEIVED,
        account="a",
        run_id=RUN,
        mode="paper",
        dev=True,
        decision_id=name,
        client_key=name,
        request={},
    )


def test_a_filter_reads_each_seal_once_and_finds_what_was_reopened_long_after() -> None:
    log = CountingLog()
    for number in range(2 * BITE + 1):
        _begin(log, number)
        _add(log, number, Kind.DECISION_SEALED, outcome="filled" if number else "held")
    _add(
        log,
        1,
        Kind.ORDER_REPORTED,
        account="a",
        cl_ord_id="c",
        session="s",
        inbox_offset=0,
        raw_digest="",
        trade_date="",
        exec_id="",
        report={},
        ord_status="",
        order_state="NEW",
        market_time_us=0,
        terminal=False,
        fill=None,
        last_lots=0,
        reopens=True,
    )
    views = Views(cast("LedgerReader", log))
    shown = {
        outcome: [
            row.decision_id for row in views.decisions(run_id="", outcome=outcome, before=None).rows
        ]
        for outcome in ("open", "held")
    }
    assert shown == {"open": ["d1"], "held": ["d0"]}
    assert log.seals_read == 2 * len(log.of_kind(*LAST_KINDS))
