"""What the broker sends again is no news: it was said before something that the book holds."""

import pytest

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.standing import Standing
from gateway.walk.reconciliation.book_check import BookCheck, CheckTools
from gateway.walk.reconciliation.resends import Resends
from tests.doubles.memory_desk import MemoryDesk

STATUS = {"t150": "I", "t17": "0", "t32": "0", "t31": "0"}
LATER = "20180103-09:30:00"


def told(desk: MemoryDesk, order: Standing, **changes: str) -> str:
    """Settle a report about an order as it stands; returns the message."""
    raw = desk.report(desk.standing(order.decision_id), **changes)
    desk.settled(raw)
    return raw


def sent_again(desk: MemoryDesk, raw: str, *, when: bool = True) -> list[Record]:
    """Settle a message as the broker sends it again, with the time of the first if `when`."""
    fields = dict(pair.split("=", 1) for pair in raw.rstrip("\x01").split("\x01"))
    first = {"t122": fields["52"]} if when else {}
    changes = {f"t{tag}": text for tag, text in fields.items() if tag not in {"8", "9", "10", "35"}}
    order = desk.small.desk.own.orders.by_cl_ord_id(fields["11"])
    assert order is not None
    return desk.settled(desk.report(order, **(changes | {"t43": "Y", "t52": LATER} | first)))


def at_fourteen(desk: MemoryDesk) -> tuple[Standing, str]:
    """Bring an order to 14 lots, with a status at 10 on the way; returns the status."""
    order = desk.rest(113)
    told(desk, order, t32="10", t14="10")
    status = told(desk, order, **STATUS, t14="10")
    told(desk, order, t32="4", t14="14")
    return order, status


def differences(desk: MemoryDesk) -> list[tuple[object, object, object]]:
    found = desk.log.of_kind(Kind.BOOK_DIFFERENCE)
    return [(r.body["book_lots"], r.body["broker_lots"], r.body.get("resent")) for r in found]


def check_finds(desk: MemoryDesk) -> int:
    own = desk.small.desk.own
    tools = CheckTools(
        ledger=own.tools.ledger,
        reader=own.reader,
        orders=own.orders,
        books=own.section,
        session=desk.small.settling.session,
        instruments=own.instruments,
        pause=lambda _: None,
    )
    return BookCheck(tools).run("reconciliation")


def test_an_old_status_that_is_sent_again_is_no_difference(desk: MemoryDesk) -> None:
    order, status = at_fourteen(desk)
    left = sent_again(desk, status)
    assert [r.kind for r in left] == [Kind.FIX_INBOUND], "on record as received, and nothing else"
    assert differences(desk) == []
    assert check_finds(desk) == 0
    assert desk.lots() == 14
    assert desk.standing(order.decision_id).filled_lots == 14
    assert desk.ask(33).result == "approved"


def test_it_is_no_difference_after_a_restart_either(desk: MemoryDesk) -> None:
    _, status = at_fourteen(desk)
    again = Resends(desk.small.reader, desk.small.settling.session)
    assert again.has_heard(status.replace("\x0149=", "\x0143=Y\x01122=20180102-15:00:00\x0149="))
    assert not again.has_heard(status), "what is not sent again is what he says now"


def test_an_old_end_that_is_sent_again_does_not_end_an_order_that_lives_again(
    desk: MemoryDesk,
) -> None:
    order = desk.rest(113)
    told(desk, order, t32="10", t14="10", t17="T1")
    ended = told(desk, order, **STATUS, t39="4", t14="10", t151="0")
    assert desk.reserved() == 0
    told(desk, order, t150="H", t19="T1", t14="0", t151="113", t39="0")
    reserved = desk.reserved()
    assert reserved > 0
    sent_again(desk, ended)
    assert desk.reserved() == reserved
    assert not desk.standing(order.decision_id).sealed
    assert differences(desk) == []


def test_a_status_that_was_not_heard_before_counts_when_it_is_sent_again(desk: MemoryDesk) -> None:
    order, status = at_fourteen(desk)
    fresh = status.replace("52=20180102-15:00:00", "52=20180102-15:00:01").replace("14=10", "14=20")
    sent_again(desk, fresh)
    assert differences(desk) == [(14, 20, True)]
    (one,) = listed(desk.small.desk.own)["open"]
    assert (one["resent"], one["cl_ord_id"]) == (True, order.cl_ord_id)


def test_a_resend_that_does_not_say_when_lowers_no_total(desk: MemoryDesk) -> None:
    _, status = at_fourteen(desk)
    sent_again(desk, status, when=False)
    assert differences(desk) == []
    assert check_finds(desk) == 0


def test_what_he_says_now_counts_also_below_what_he_said(desk: MemoryDesk) -> None:
    order, _ = at_fourteen(desk)
    told(desk, order, **STATUS, t14="10")
    assert differences(desk) == [(14, 10, None)]


def test_a_quarantined_trade_that_is_sent_again_is_told_once(desk: MemoryDesk) -> None:
    order = desk.rest(113)
    odd = told(desk, order, t32="5", t14="5", t31="269.005")
    told(desk, order, t32="2", t14="7")
    before = differences(desk)
    resolved(desk, 5)
    sent_again(desk, odd)
    assert differences(desk) == before
    assert (desk.lots(), check_finds(desk)) == (7, 0)


def test_the_whole_book_finds_what_an_old_status_led_a_person_to_book(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version had it: the old status was a difference, and was followed."""
    _, status = at_fourteen(desk)
    with monkeypatch.context() as patch:
        patch.setattr(Resends, "has_heard", lambda *_: False)
        sent_again(desk, status)
    assert differences(desk)[-1][:2] == (14, 10)
    resolved(desk, -4)
    assert desk.lots() == 10
    assert check_finds(desk) == 1
    assert differences(desk)[-1] == (10, 14, None)
    resolved(desk, 4)
    assert (desk.lots(), check_finds(desk)) == (14, 0)


def resolved(desk: MemoryDesk, lots: int) -> None:
    """Resolve what is open as `broker`, by so many lots, signed by both officers."""
    own = desk.small.desk.own
    document = listed(own)
    one = document["open"][0]
    assert one["lots"] == lots
    given = {"right": "broker", "reason": "r", "evidence": "e", "price": "269.00", "lots": lots}
    request = ResolveRequest.model_validate(given)
    text = resolution_statement(str(document["log_id"]), one["seq"], one["leaf"], request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", one["seq"], request.model_copy(update={"signatures": signatures}))
