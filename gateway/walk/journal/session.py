"""Records of a FIX session: messages, anomalies, resets of its numbers, what reconciled it."""

from collections.abc import Mapping

from audit.records.canonical import JSON
from audit.records.record import Draft, Record
from audit.records.record_kind import Filing, RecordKind
from fix.durable.resets import Reset, ResetCause
from gateway.walk.ports import Tags

RESET, RESET_REFUSED = "sequence_reset", "sequence_reset_refused"
OPENED, RECONCILED = "session_opened", "session_reconciled"


def fix_inbound(session: str, *, offset: int, raw: str, msg_type: str, digest: str) -> Draft:
    """One message as it arrived, byte for byte (ISO 8859-1, one character per byte)."""
    inbound = FixInbound(offset=offset, raw=raw, msg_type=msg_type, digest=digest)
    return inbound.draft(session=session)


class FixInbound(RecordKind, frozen=True, kw_only=True):
    """A message as it arrived."""

    filing = Filing("session/{session}", "inbound:{offset}", "fix", also="session")

    offset: int
    raw: str
    msg_type: str
    digest: str


def fix_anomaly(session: str, *, offset: int, raw: str, reason: str, detail: str) -> Draft:
    """A message that could not be applied."""
    anomaly = FixAnomaly(raw=raw, reason=reason, offset=offset)
    return FixAnomaly.draft_of({**anomaly.document(), "detail": detail[:300]}, session=session)


class FixAnomaly(RecordKind, frozen=True, kw_only=True):
    """A message that could not be applied."""

    filing = Filing(
        "session/{session}",
        "anomaly:{offset}:{reason}",
        "fix",
        also="cl_ord_id digest report session",
    )

    raw: str
    reason: str
    offset: int | None = None
    detail: str = ""


def session_reset(session: str, run_id: str, one: Reset) -> Draft:
    """A reset of a session's sequence numbers, allowed or refused."""
    event: dict[str, JSON] = {
        "event": RESET if one.allowed else RESET_REFUSED,
        "detail": str(one),
        "run_id": run_id,
        "reset_no": one.reset_no,
        "cause": one.cause.value,
        "old_sender": one.old_sender,
        "old_target": one.old_target,
        "new_sender": one.new_sender,
        "new_target": one.new_target,
    }
    return SessionEvent.draft_of(event, session=session, key=f"reset:{one.reset_no}", actor="fix")


class SessionEvent(RecordKind, frozen=True, kw_only=True):
    """What happened to a session; only resets have the numbers, what reconciled it its own."""

    filing = Filing("session/{session}", "{event}:{run_id}:{logon_no}", also="session")

    event: str
    detail: str
    state: str = ""
    reset_no: int = 0
    cause: str = ""
    old_sender: int = 0
    old_target: int = 0
    new_sender: int = 0
    new_target: int = 0
    logon_no: int = 0
    span_us: int = 0
    orders: int = 0
    positions: int = 0
    trading_day: str = ""
    run_id: str = ""
    mode: str = ""


def session_opened(session: str, tags: Tags, *, logon_no: int) -> Draft:
    """The logon that was reconciled with the broker: from here on orders may leave."""
    return _reconciling(session, tags, OPENED, f"logon {logon_no}", {"logon_no": logon_no})


def session_reconciled(
    session: str,
    tags: Tags,
    *,
    logon_no: int,
    span_us: int,
    orders: int,
    positions: int,
    trading_day: str,
) -> Draft:
    """The whole book equals the broker's messages, `span_us` (monotonic) after the logon.

    `orders` were announced since the logon, `positions` are held, in a market that is open on
    `trading_day` (UTC).
    """
    said = f"logon {logon_no}: {orders} orders, {positions} positions, no open difference"
    fields: dict[str, JSON] = {
        "logon_no": logon_no,
        "span_us": span_us,
        "orders": orders,
        "positions": positions,
        "trading_day": trading_day,
    }
    return _reconciling(session, tags, RECONCILED, said, fields)


def _reconciling(
    session: str, tags: Tags, event: str, detail: str, fields: Mapping[str, JSON]
) -> Draft:
    payload: dict[str, JSON] = {**tags.document(), "event": event, "detail": detail, **fields}
    return SessionEvent.draft_of(payload, session=session)


def reset_in(record: Record) -> Reset | None:
    """Return the reset that a `session_event` records; None for any other event."""
    event = SessionEvent.of(record)
    if event.event not in {RESET, RESET_REFUSED}:
        return None
    return Reset(
        reset_no=event.reset_no,
        cause=ResetCause(event.cause),
        allowed=event.event == RESET,
        old_sender=event.old_sender,
        old_target=event.old_target,
        new_sender=event.new_sender,
        new_target=event.new_target,
        at_us=record.recorded_at_us,
    )
