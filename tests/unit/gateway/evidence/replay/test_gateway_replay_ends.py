"""Orders that never left, or of which nobody knows, replay too; no leaf of their ends passes."""

from pathlib import Path
from typing import cast

import pytest

from audit.errors import CanonicalError, DraftError, LedgerTimeoutError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.errors import MessageError
from fix.session.link import HandResult
from gateway.errors import ReplayDiffersError, RequestError
from gateway.evidence.replay.replay import STEPS, Step, replay
from inference.errors import ForecastError
from risk.errors import BookError
from tests.doubles.memory_desk import APPROVER, TABLE, MemoryDesk, memory_desk
from tests.doubles.remembered import forged, leaves
from tests.doubles.told_kinds import told_kinds

ENDS = {
    "refused": Kind.ORDER_REFUSED,
    "unknown": Kind.ORDER_UNKNOWN,
    "withdrawn": Kind.ORDER_WITHDRAWN,
    "hold_refused": Kind.APPROVAL_REFUSED,
    "hold_expired": Kind.RESERVATION_RELEASED,
}
WORDS = {
    # words of another process, of a person or of the gateway, and the market's clock
    (Kind.ORDER_REFUSED, ("reason",)),
    (Kind.ORDER_REFUSED, ("market_time_us",)),
    (Kind.ORDER_UNKNOWN, ("reason",)),
    (Kind.ORDER_UNKNOWN, ("market_time_us",)),
    (Kind.ORDER_WITHDRAWN, ("reason",)),
    (Kind.ORDER_WITHDRAWN, ("market_time_us",)),
    (Kind.APPROVAL_REFUSED, ("approver",)),
    (Kind.APPROVAL_REFUSED, ("reason",)),
    (Kind.APPROVAL_REFUSED, ("market_time_us",)),
    (Kind.RESERVATION_RELEASED, ("reason",)),
    (Kind.RESERVATION_RELEASED, ("market_time_us",)),
}


def ended(end: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryDesk, str]:
    """Return a desk, and a decision on it that came to this end."""
    desk = memory_desk(folder, send_within_us=0 if end == "withdrawn" else 10_000_000)
    match end:
        case "refused" | "unknown":
            said = HandResult(outcome=end, reason="killed")
            monkeypatch.setattr(desk.small.broker, "hand", lambda *_: said)
        case "hold_refused":
            decision_id = desk.hold()
            desk.answer(decision_id, approve=False, by=APPROVER, note="too much")
            return desk, decision_id
        case "hold_expired":
            decision_id = desk.hold()
            desk.small.desk.holds.expire(desk.wall() + 10**12)
            return desk, decision_id
        case _:
            pass
    return desk, desk.ask().decision_id


def replayed(desk: MemoryDesk, decision_id: str) -> tuple[str, ...]:
    return replay(cast("LedgerReader", desk.log), TABLE, decision_id).lines


@pytest.mark.parametrize("end", ENDS)
def test_an_order_that_did_not_go_its_way_replays_and_binds_its_end(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, decision_id = ended(end, tmp_path, monkeypatch)
    assert ENDS[end] in desk.kinds(decision_id)
    kinds = [line.split()[0] for line in replayed(desk, decision_id)]
    assert kinds == told_kinds(desk.log, decision_id)
    passed = set()
    for record in desk.log.records(stream=f"decision/{decision_id}"):
        if record.kind in {ENDS[end], Kind.DECISION_SEALED}:
            for path in leaves(record.body):
                desk.log.forged = forged(record, path)
                try:
                    replayed(desk, decision_id)
                except ReplayDiffersError:
                    continue
                passed.add((record.kind, path))
    assert passed <= WORDS


ODD = (
    BookError("of the rules"),
    ForecastError("of the engine"),
    MessageError(problem="of a message"),
    RequestError(problem="of the gateway"),
    CanonicalError("no such bytes"),
    DraftError("no such record"),
    KeyError("missing"),
    IndexError("too short"),
    ZeroDivisionError("nothing"),
    OverflowError("too large"),
    ValueError("not a number"),
    TypeError("not of that type"),
    AttributeError("not there"),
)


@pytest.mark.parametrize("error", ODD, ids=lambda one: type(one).__name__)
def test_whatever_a_recorded_value_breaks_is_named_as_the_step_that_differs(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_desk(tmp_path)
    decision_id = desk.rest().decision_id

    def breaks(*_: object) -> str:
        raise error

    monkeypatch.setitem(cast("dict[Kind, Step]", STEPS), Kind.QUOTE_TAKEN, breaks)
    with pytest.raises(ReplayDiffersError, match="cannot be recomputed") as told:
        replayed(desk, decision_id)
    assert told.value.step == Kind.QUOTE_TAKEN.value
    assert type(error).__name__ in str(told.value)


def test_a_database_that_fails_is_no_step_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = memory_desk(tmp_path)
    decision_id = desk.rest().decision_id

    def fails(*_: object) -> str:
        raise LedgerTimeoutError("no answer", written=False)

    monkeypatch.setitem(cast("dict[Kind, Step]", STEPS), Kind.QUOTE_TAKEN, fails)
    with pytest.raises(LedgerTimeoutError):
        replayed(desk, decision_id)
