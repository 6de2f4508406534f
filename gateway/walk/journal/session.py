"""Records of a FIX session: messages, anomalies, resets of its numbers, what reconciled it."""

from collections.abc import Mapping

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from fix.durable.resets import Reset, ResetCause
from gateway.walk.journal.contents import Contents
from gateway.walk.ports import Tags

RESET, RESET_REFUSED = "sequence_reset", "sequence_reset_refused"
OPENED, RECONCILED = "session_opened", "session_reconciled"


def fix_inbound(session: str, *, offset: int, raw: str, msg_type: str, digest: str) -> Draft:
    """One message as it arrived, byte for byte (ISO 8859-1, one character per byte)."""
    return Draft(
        stream=f"session/{session}",
        kind=Kind.FIX_INBOUND,
        payload={"offset": offset, "raw": raw, "msg_type": msg_type, "digest": digest},
        actor="fix",
        idem_key=f"inbound:{offset}",
    )


class FixInbound(Contents, frozen=True, kw_only=True):
    offset: int
    raw: str
    digest: str


def fix_anomaly(session: str, *, offset: int, raw: str, reason: str, detail: str) -> Draft:
    """A message that could not be applied."""
    return Draft(
        stream=f"session/{session}",
        kind=Kind.FIX_ANOMALY,
        payload={"offset": offset, "raw": raw, "reason": reason, "detail": detail[:300]},
        actor="fix",
        idem_key=f"anomaly:{offset}:{reason}",
    )


class FixAnomaly(Contents, frozen=True, kw_only=True):
    reason: str
    detail: str = ""


def session_reset(session: str, run_id: str, one: Reset) -> Draft:
    """A reset of a session's sequence numbers, allowed or refused."""
    return Draft(
        stream=f"session/{session}",
        kind=Kind.SESSION_EVENT,
        payload={
            "event": RESET if one.allowed else RESET_REFUSED,
            "detail": str(one),
            "run_id": run_id,
            "reset_no": one.reset_no,
            "cause": one.cause.value,
            "old_sender": one.old_sender,
            "old_target": one.old_target,
            "new_sender": one.new_sender,
            "new_target": one.new_target,
        },
        actor="fix",
        idem_key=f"reset:{one.reset_no}",
    )


class SessionEvent(Contents, frozen=True, kw_only=True):
    """The contents of `session_event`; only resets have the numbers."""

    event: str
    detail: str
    reset_no: int = 0
    cause: str = ""
    old_sender: int = 0
    old_target: int = 0
    new_sender: int = 0
    new_target: int = 0


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
    return Draft(
        stream=f"session/{session}",
        kind=Kind.SESSION_EVENT,
        payload={**tags.document(), "event": event, "detail": detail, **fields},
        actor="gateway",
        idem_key=f"{event}:{tags.run_id}:{fields['logon_no']}",
    )


class SessionReconciled(Contents, frozen=True, kw_only=True):
    """What `session_opened` and `session_reconciled` say; the first has no numbers."""

    event: str
    run_id: str = ""
    mode: str = ""
    logon_no: int = 0
    span_us: int = 0
    orders: int = 0
    positions: int = 0
    trading_day: str = ""


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
