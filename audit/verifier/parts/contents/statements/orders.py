"""Statements about what left and what came back: orders, messages, replaces, reports."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.approvals import pairs_of, worst_of
from audit.verifier.parts.contents.statements.messages import (
    RAW_MAX,
    REPORT_TAGS,
    Message,
    ToldTrade,
    fee_minor_of,
)
from audit.verifier.parts.contents.statements.seen import (
    LIMIT,
    TIMES_IN_FORCE,
    Earlier,
    SeenOrder,
    VerifiedRecord,
    differing,
    is_given,
    mapping_of,
    same,
    shown_side,
    whole_numbers,
)
from audit.verifier.parts.contents.statements.verdicts import Findings, judged_faults
from audit.verifier.parts.trust.brokerfile import SCALE, units_of
from audit.verifier.parts.trust.wire import wire_fields

_AGAIN = frozenset({447, 448, 452, 2376, 2594, 2595})
"""The tags of repeating groups, which alone may come twice in an order."""
_WORDS = (1, 15, 38, 40, 44, 54, 55, 59)
"""The fields of an order that a broker acts on, besides its name and type."""


def judge_order(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what an announced order has that its approval has not."""
    own, body = seen.of(said), said.body
    number = body.get("approving_seq")
    given, _ = own.verdicts.get(number if type(number) is int else -1, ({}, b""))
    if own.gap or given.get("result") != "approved":
        return  # `Approvals` reports an order without an approval
    intent = mapping_of(given.get("intent"))
    rows = pairs_of(body)
    tags = [tag for tag, _ in rows if type(tag) is int and tag not in _AGAIN]
    twice = sorted({tag for tag in tags if tags.count(tag) > 1})
    if twice:
        yield f"it has tag {twice[0]} twice"
    fields = {tag: text for tag, text in rows if type(tag) is int}
    symbol, account = intent.get("instrument"), seen.profile.get("account")
    account = account if is_given(account) else own.account
    right = {
        35: fields.get(35) == "D",
        11: same(fields.get(11), body.get("cl_ord_id")),
        1: same(fields.get(1), account),
        55: same(fields.get(55), symbol),
        54: same(shown_side(fields), intent.get("side")),
        38: seen.counted(symbol, intent.get("qty_lots"), fields.get(38)),
        40: fields.get(40) == LIMIT,
        44: seen.priced(symbol, intent.get("limit_ticks"), fields.get(44)),
        59: fields.get(59) == TIMES_IN_FORCE.get(text_of(intent.get("tif"))),
        15: same(fields.get(15), seen.profile.get("currency")),
    }
    if seen.knows(symbol) or seen.whole:
        wrong = [str(tag) for tag, is_right in right.items() if not is_right]
        if wrong:
            yield f"its tag {', '.join(wrong)} is not what was approved"
    names = ("kill_epoch", "send_before_us")
    yield from differing(body, {name: given.get(name) for name in names}, "its verdict's")
    session = body.get("session")
    if is_given(session) and seen.session not in {"", session}:
        yield "it was announced for another session than its run has"
    ends = body.get("send_before_us")
    if type(ends) is not int or ends <= said.head["recorded_at_us"]:
        yield "it was announced after its time was over"
    if own.order is not None:
        yield "its decision has an announced order already"


def judge_wire(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a message has that was not announced for it."""
    raw = text_of(said.body.get("raw"))
    digest = said.body.get("digest" if said.kind == "fix_inbound" else "raw_digest")
    if not raw.isascii() and max(raw) > "\xff":
        yield "its message has a character that is not one byte"
    elif len(raw) == RAW_MAX and said.kind == "fix_inbound":
        pass  # the beginning of a longer message, which is a blob
    elif hashlib.sha256(raw.encode("latin-1")).hexdigest() != digest:
        yield "its digest is not that of its message"
    order = seen.of(said).order
    if said.kind == "fix_inbound" or order is None or seen.of(said).gap:
        return
    wanted = {tag: order.fields.get(tag) for tag in _WORDS}
    wanted |= {35: "D", 11: order.name}
    if said.kind == "replace_sent":
        name = text_of(said.body.get("cl_ord_id"))
        asked = order.asked.get(name, {})
        wanted |= {38: asked.get("quantity"), 44: asked.get("price")}
        wanted |= {35: "G", 11: name, 41: asked.get("orig")}
    elif said.body.get("cl_ord_id") != order.name:
        yield "it left under another name than was announced"
    fields = wire_fields(raw)
    wrong = [str(tag) for tag, value in wanted.items() if not _sent(fields.get(str(tag)), value)]
    if wrong:
        yield f"its message has another tag {', '.join(wrong)} than was announced"
    tags = [part.partition("=")[0] for part in raw.split("\x01")]
    twice = [str(tag) for tag in wanted if tags.count(str(tag)) > 1]
    if twice:
        yield f"its message has tag {twice[0]} twice"


def _sent(value: str | None, wanted: object) -> bool:
    """Return whether a message has a value, or a pseudonym where it named a person."""
    return value == wanted or (value is not None and value.startswith("psn-"))


def judge_replace(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a replace asks for, reserves or sends beyond what was allowed."""
    own, body = seen.of(said), said.body
    order = own.order
    if own.gap:
        return
    if order is None:
        yield "its decision has no announced order"
    elif said.kind != "replace_requested":
        asked = order.asked.get(text_of(body.get("cl_ord_id")))
        if asked is None:
            yield "no request on record before it has this name"
        elif not same(body.get("orig_cl_ord_id"), asked.get("orig")):
            yield "it replaces another order than was asked for"
    else:
        yield from _asked_faults(seen, body, order)


def _asked_faults(seen: Earlier, body: Mapping[str, Any], order: SeenOrder) -> Findings:
    before, after = mapping_of(body.get("before")), mapping_of(body.get("after"))
    symbol = order.intent.get("instrument")
    names = ("qty_lots", "limit_ticks", "quantity", "price")
    yield from differing(
        before, {name: order.terms.get(name) for name in names}, "the order's term"
    )
    if body.get("orig_cl_ord_id") != order.name:
        yield "it replaces another order than the one at work"
    whole = whole_numbers(
        [one.get(name) for name in ("qty_lots", "limit_ticks") for one in (before, after)]
    )
    if whole is None or min(whole) <= 0:
        yield "its terms are not numbers of lots and ticks"
        return
    lots, more, ticks, higher = whole
    if seen.knows(symbol) or seen.whole:
        exact = seen.counted(symbol, more, after.get("quantity"))
        if not exact or not seen.priced(symbol, higher, after.get("price")):
            yield "its quantity and price are not its lots and ticks"
    wanted = {
        "instrument": symbol,
        "limit_ticks": max(ticks, higher),
        "qty_lots": max(lots, more),
        "side": order.intent.get("side"),
        "unit_minor": seen.unit_of(symbol),
    }
    if wanted["unit_minor"] is None and not seen.whole:
        wanted["unit_minor"] = mapping_of(body.get("reservation")).get("unit_minor")
    if not same(body.get("reservation"), wanted):
        yield "its reservation is not the larger of both terms"
    yield from _raised_faults(seen, body, order, whole)


def _raised_faults(
    seen: Earlier, body: Mapping[str, Any], order: SeenOrder, whole: Sequence[int]
) -> Findings:
    """Yield what a replace raises that no verdict allowed; `whole` has lots and ticks, in pairs."""
    lots, more, ticks, higher = whole
    side = order.intent.get("side")
    reduces = more <= lots and (higher == ticks or (higher < ticks and side == "BUY"))
    judged = body.get("judged")
    if judged is None:
        if not reduces:
            yield "it raises what the order may do, and no verdict allowed it"
        return
    judged = mapping_of(judged)
    open_lots = max(lots, more) - order.filled
    if not same(
        judged.get("intent"), {**order.intent, "limit_ticks": higher, "qty_lots": open_lots}
    ):
        yield "its verdict judged other terms than it asks for"
    if worst_of(judged.get("verdict")) not in {"ALLOW", "WARN"}:
        yield "its verdict does not allow it"
    yield from judged_faults(seen, judged)


def judge_fill(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a report books that the broker's message or the order do not say."""
    own, body = seen.of(said), said.body
    report, fill, order = mapping_of(body.get("report")), body.get("fill"), own.order
    session, offset = body.get("session"), body.get("inbox_offset")
    message = None
    if fill is not None and session is None and seen.whole:
        yield "it books a trade of no message"
    if session is not None and "inbox_offset" in body:
        message = seen.messages.get((f"session/{text_of(session)}", text_of(offset)))
        if message is None and seen.whole:
            yield "its message is not on record before it"
    if message is not None:
        yield from _told_faults(report, message)
    for name in ("exec_id", "ord_status"):
        if name in body and name in report and not same(body[name], report[name]):
            yield f"its {name} is not its report's"
    if fill is not None and order is not None and not own.gap:
        yield from _booking_faults(seen, report, fill, order)
        if message is not None:
            yield from _unbookable(message, order)
            yield from _fee_faults(seen, body, message)


def _booking_faults(
    seen: Earlier, report: Mapping[str, Any], fill: object, order: SeenOrder
) -> Findings:
    """Yield what a fill books that its report or its order do not say."""
    booked = mapping_of(fill)
    symbol, side = order.intent.get("instrument"), order.intent.get("side")
    yield from differing(booked, {"instrument": symbol, "side": side}, "its order's")
    if not seen.knows(symbol) and not seen.whole:
        return
    if booked.get("unit_minor") != seen.unit_of(symbol):
        yield "its unit_minor is not its instrument's"
    if not seen.counted(symbol, booked.get("qty_lots"), report.get("last_qty")):
        yield "its qty_lots is not what was reported"
    if not seen.priced(symbol, booked.get("price_ticks"), report.get("last_price")):
        yield "its price_ticks is not what was reported"


def _told_faults(report: Mapping[str, Any], message: Message) -> Findings:
    told = {REPORT_TAGS[tag]: value for tag, value in message.report.items()}
    if message.fees is not None:
        told["commission"] = message.commission
    for name, sent in told.items():
        if name in report and not _reads(report[name], sent):
            yield f"its {name} is not that of its message"


def _unbookable(message: Message, order: SeenOrder) -> Findings:
    """Yield why the gateway does not book a trade that this message tells."""
    if message.doubled:
        yield f"its message has tag {message.doubled[0]} with two values"
    for tag, expected in (("15", 15), ("120", 15), ("54", 54), ("55", 55)):
        said, wanted = message.order[tag], order.fields.get(expected)
        if said and wanted and said != wanted:
            yield f"its message has another tag {tag} than its order"


def _fee_faults(seen: Earlier, body: Mapping[str, Any], message: Message) -> Findings:
    """Yield a fee that is not what the message charges; a correction without one keeps the fee."""
    fill, report = mapping_of(body.get("fill")), mapping_of(body.get("report"))
    one, digits = seen.instrument(fill.get("instrument")), seen.profile.get("minor_digits")
    amounts = (units_of(text_of(report.get(name))) for name in ("last_qty", "last_price"))
    quantity, price = (0 if one is None else one for one in amounts)
    multiplier = one.get("multiplier")
    if message.fees is None or type(digits) is not int or type(multiplier) is not int:
        return
    trade = ToldTrade(
        currency=one.get("currency"),
        digits=digits,
        quantity=quantity // 10**SCALE,
        price_minor=price * 10**digits // 10**SCALE,
        multiplier=multiplier,
    )
    wanted: object = fee_minor_of(message.fees, trade)
    undone = body.get("undoes_seq")
    if not message.fees and type(undone) is int:
        wanted = seen.fees.get(undone, fill.get("fee_minor"))
    if not same(fill.get("fee_minor"), wanted):
        yield "its fee_minor is not what its message charges"


def _reads(value: object, sent: str) -> bool:
    """Return whether a record repeats a message's field, in any decimal form of one number."""
    if value == sent or sent.startswith("psn-"):
        return True
    number = units_of(sent)
    return number is not None and number == units_of(text_of(value))
