"""Records of an order: announced, handed out, reported, ended."""

from audit.records.canonical import JSON
from audit.records.record import Draft
from audit.records.record_kind import ACCOUNT, Contents, Filing, RecordKind
from fix.session.link import HandResult
from fix.wire.messages import CL_ORD_ID
from fix.wire.reports import ExecutionReport
from gateway.walk.journal.contents import Fill, Reservation
from gateway.walk.journal.decision import GATEWAY, decision_sealed
from gateway.walk.journal.standing import BookedTrade, Standing


def order_draft(standing: Standing, said: RecordKind, *, key: str = "", actor: str = "") -> Draft:
    """Return a draft in the stream of an order's decision, with its account and mode."""
    return said.draft(tags=order_tags(standing), key=key, actor=actor)


def order_tags(standing: Standing) -> dict[str, JSON]:
    """Return the fields by which a record names its order's decision."""
    tags: dict[str, JSON] = {"account": standing.account, "decision_id": standing.decision_id}
    return {**tags, "mode": standing.mode} if standing.mode else tags


def sealed(standing: Standing, outcome: str) -> Draft:
    """The last record of a decision that a verdict was given on."""
    return decision_sealed(
        f"decision/{standing.decision_id}",
        outcome,
        mode=standing.mode,
        account=standing.account,
        again=standing.seals,
    )


def order_sending(
    standing: Standing,
    fields: tuple[tuple[int, str], ...],
    *,
    session: str,
    kill_epoch: int,
    send_before_us: int,
    market_now_us: int,
    decided_us: int,
) -> Draft:
    """The announcement; committed before the FIX child hears of the order.

    A `session` of "" is that of a ledger from before sessions were named.
    """
    if standing.approving is None:
        raise AssertionError("an order is sent only for an approving record")
    sending = OrderSending(
        cl_ord_id=dict(fields)[CL_ORD_ID],
        session=session,
        approving_seq=standing.approving.seq,
        approving_leaf=standing.approving.leaf.hex(),
        fields=fields,
        kill_epoch=kill_epoch,
        send_before_us=send_before_us,
        market_now_us=market_now_us,
        decided_us=decided_us,
    )
    return order_draft(standing, sending)


class OrderSending(RecordKind, frozen=True, kw_only=True):
    """An order that is announced, with its message's fields."""

    filing = Filing(
        "decision/{decision_id}",
        "sending:{cl_ord_id}",
        tags=ACCOUNT,
        section=True,
        loose="market_now_us",
        also="instrument intent policy_digest verdict",
    )

    cl_ord_id: str
    session: str = ""
    approving_seq: int
    approving_leaf: str = ""
    fields: tuple[tuple[int, str], ...]
    kill_epoch: int
    send_before_us: int
    market_now_us: int
    decided_us: int = 0


def handed(
    standing: Standing,
    result: HandResult,
    *,
    raw_digest: str,
    decision_to_wire_us: int,
    market_time_us: int,
) -> Draft:
    """The FIX child's answer: sent, refused by its guard, or unknown."""
    name = standing.cl_ord_id
    match result.outcome:
        case "sent":
            sent = OrderSent(
                cl_ord_id=name,
                msg_seq_num=result.msg_seq_num,
                raw=result.raw,
                raw_digest=raw_digest,
                decision_to_wire_us=decision_to_wire_us,
                session_epoch=result.epoch,
            )
            return order_draft(standing, sent)
        case "refused":
            refused = OrderRefused(
                cl_ord_id=name, reason=result.reason, market_time_us=market_time_us
            )
            return order_draft(standing, refused)
        case _:
            return order_unknown(standing, result.reason, market_time_us=market_time_us)


class OrderSent(RecordKind, frozen=True, kw_only=True):
    """An order that left; before the first reset the epoch is 0."""

    filing = Filing("decision/{decision_id}", "sent:{cl_ord_id}", also="session")

    cl_ord_id: str
    raw: str
    raw_digest: str
    msg_seq_num: int
    decision_to_wire_us: int | None = None
    session_epoch: int = 0
    mode: str = ""


class OrderRefused(RecordKind, frozen=True, kw_only=True):
    """An order that the FIX child did not let out."""

    filing = Filing(
        "decision/{decision_id}",
        "refused:{cl_ord_id}",
        tags=ACCOUNT,
        section=True,
        loose="market_time_us",
        also="session",
    )

    cl_ord_id: str
    reason: str
    market_time_us: int


class ChildAnswer(Contents, frozen=True, kw_only=True):
    """The measured values in the FIX child's answer, whichever kind it is."""

    decision_to_wire_us: int = 0
    market_time_us: int = 0


def order_unknown(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """Whether the order left is unknown; it is never sent again."""
    unknown = OrderUnknown(
        cl_ord_id=standing.cl_ord_id, reason=reason or "no answer", market_time_us=market_time_us
    )
    return order_draft(standing, unknown)


class OrderUnknown(RecordKind, frozen=True, kw_only=True):
    """An order of which nobody knows whether it left."""

    filing = Filing(
        "decision/{decision_id}",
        "unknown:{cl_ord_id}",
        tags=ACCOUNT,
        section=True,
        loose="market_time_us",
        also="session",
    )

    cl_ord_id: str
    reason: str
    market_time_us: int


def order_withdrawn(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """An approved order that will never be sent."""
    return order_draft(standing, OrderWithdrawn(reason=reason, market_time_us=market_time_us))


class OrderWithdrawn(RecordKind, frozen=True, kw_only=True):
    """An approval that ended before its order was announced."""

    filing = Filing(
        "decision/{decision_id}",
        "withdrawn",
        tags=ACCOUNT,
        section=True,
        loose="market_time_us",
        also="cl_ord_id verdict_seq",
    )

    reason: str
    market_time_us: int


def report_document(report: ExecutionReport) -> dict[str, str]:
    """Return an execution report's fields as text, without the session's envelope."""
    undone = {"exec_ref_id": report.exec_ref_id} if report.undoes else {}
    other = [one for one in report.fees if not one.is_absolute_commission]
    fees = {"fees": "; ".join(one.text for one in other)} if other else {}
    return {
        **undone,
        **fees,
        "order_id": report.order_id,
        "cl_ord_id": report.cl_ord_id,
        "orig_cl_ord_id": report.orig_cl_ord_id,
        "exec_id": report.exec_id,
        "exec_type": report.exec_type,
        "ord_status": report.ord_status,
        "last_qty": report.last_qty,
        "last_price": report.last_price,
        "leaves_qty": report.leaves_qty,
        "cum_qty": report.cum_qty,
        "average_price": report.average_price,
        "commission": report.commission,
        "reject_reason": report.reject_reason,
        "transact_time": report.transact_time,
        "text": report.text,
    }


class Restated(Contents, frozen=True, kw_only=True):
    """What a broker's own change (150=D) left of an order.

    Attributes:
        qty_lots: the order's total now, with what was executed; `limit_ticks` is its worst limit.
        add_lots: what that adds to the reservation, negative where it frees some.
        reservation: the whole that is reserved now, with what was executed.
    """

    qty_lots: int
    limit_ticks: int
    quantity: str
    price: str
    add_lots: int
    reservation: Reservation


def order_reported(  # noqa: PLR0913 - a report and what it means
    standing: Standing,
    report: ExecutionReport,
    *,
    idem_key: str,
    session: str,
    trade_date: str,
    order_state: str,
    terminal: bool,
    fill: Fill | None,
    anomaly: str | None,
    offset: int,
    market_time_us: int,
    undone: BookedTrade | None = None,
    reopens: bool = False,
    resolved_lots: int = 0,
    restated: Restated | None = None,
) -> Draft:
    """One report, applied: the order's new state and the fill to book.

    With `undone`, `fill` replaces that trade's, or None busts it. `reopens` says that an ended
    order works again. `resolved_lots` are lots that persons resolved, which may end the order.
    """
    lots = (0 if fill is None else fill.qty_lots) - (0 if undone is None else undone.lots)
    reported = OrderReported(
        cl_ord_id=standing.cl_ord_id,
        report=report_document(report),
        exec_id=report.exec_id,
        trade_date=trade_date,
        session=session,
        order_state=order_state,
        ord_status=report.ord_status,
        terminal=terminal,
        fill=fill,
        last_lots=lots,
        inbox_offset=offset,
        market_time_us=market_time_us,
        undoes_seq=None if undone is None else undone.seq,
        reopens=reopens if reopens or undone is not None else None,
        resolved_lots=resolved_lots,
        restated=restated,
        anomaly=anomaly,
    )
    return order_draft(standing, reported, key=idem_key)


class SettledMessage(Contents, frozen=True, kw_only=True):
    """What an `order_reported` or `order_ended` says of its message.

    Attributes:
        resolved_lots: lots that persons resolved; None where an earlier version did not count them.
    """

    session: str
    inbox_offset: int = -1
    order_state: str
    market_time_us: int
    reopens: bool = False
    resolved_lots: int | None = None


class OrderReported(RecordKind, frozen=True, kw_only=True):
    """A broker's report, applied.

    Attributes:
        last_lots: the lots that it adds to the filled quantity; negative after a bust.
        undoes_seq: the record of the trade that it busts or corrects.
        reopens: whether an ended order works again; None where the question does not arise.
        restated: the terms that the broker's own change left.
    """

    filing = Filing(
        "decision/{decision_id}",
        "report:{session}:{trade_date}:{exec_id}",
        "fix",
        tags=ACCOUNT,
        section=True,
        loose="exec_id fill last_lots market_time_us ord_status terminal trade_date",
        early="order_state session",
        also="instrument raw_digest state",
    )

    cl_ord_id: str
    session: str
    inbox_offset: int = -1
    trade_date: str
    exec_id: str
    report: dict[str, str]
    order_state: str
    ord_status: str
    terminal: bool
    fill: Fill | None
    last_lots: int
    market_time_us: int
    undoes_seq: int | None = None
    reopens: bool | None = None
    resolved_lots: int = 0
    restated: Restated | None = None
    anomaly: str | None = None

    @property
    def is_trade(self) -> bool:
        """Whether it books a new trade."""
        return self.fill is not None and self.undoes_seq is None


def order_ended(
    standing: Standing,
    reason: str,
    *,
    order_state: str,
    session: str,
    offset: int,
    market_time_us: int,
) -> Draft:
    """The broker refused the message that carried the order."""
    ended = OrderEnded(
        cl_ord_id=standing.cl_ord_id,
        reason=reason,
        order_state=order_state,
        session=session,
        inbox_offset=offset,
        market_time_us=market_time_us,
    )
    return order_draft(standing, ended)


def order_ended_by(
    standing: Standing, resolves_seq: int, *, order_state: str, market_time_us: int
) -> Draft:
    """Return the record that a person's resolution ended an order."""
    ended = OrderEnded(
        cl_ord_id=standing.cl_ord_id,
        reason="resolved",
        order_state=order_state,
        resolves_seq=resolves_seq,
        market_time_us=market_time_us,
    )
    return order_draft(standing, ended, key=f"ended:{resolves_seq}", actor=GATEWAY)


class OrderEnded(RecordKind, frozen=True, kw_only=True):
    """An order that ended without a report; only a resolution names what it resolves."""

    filing = Filing(
        "decision/{decision_id}",
        "ended:{session}:{inbox_offset}",
        "fix",
        tags=ACCOUNT,
        section=True,
        loose="market_time_us",
    )

    cl_ord_id: str
    reason: str
    order_state: str
    market_time_us: int
    session: str = ""
    inbox_offset: int | None = None
    resolves_seq: int | None = None
