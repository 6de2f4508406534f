"""Resolving as the listing says ends with the book where the broker is, or leaves it shut."""

from typing import Any

import pytest

from audit.records.kinds import Kind
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.errors import ResolutionRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.differences import Differences
from gateway.walk.reconciliation.book_check import BookCheck, CheckTools
from tests.doubles.memory_desk import MemoryDesk

NO_TICKS = "269.005"


def open_now(desk: MemoryDesk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listed(desk.small.desk.own)["open"]
    return found


def sides(desk: MemoryDesk) -> list[tuple[Any, Any]]:
    return [(one["book_lots"], one["broker_lots"]) for one in open_now(desk)]


def signed(desk: MemoryDesk, one: dict[str, Any], *, right: str = "broker") -> ResolveRequest:
    """Return the word of two officers who sign what they read in the listing."""
    own = desk.small.desk.own
    given = {"right": right, "reason": "checked", "evidence": "his statement"}
    price = {"price": "269.00"} if right == "broker" and one["lots"] else {}
    request = ResolveRequest.model_validate(given | {"lots": one["lots"]} | price)
    log = str(listed(own)["log_id"])
    text = resolution_statement(log, one["seq"], one["leaf"], request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    return request.model_copy(update={"signatures": signatures})


def resolve_as_listed(desk: MemoryDesk) -> None:
    """Resolve all that is listed as `broker`, each as it is listed then."""
    for _ in range(4):
        found = open_now(desk)
        if not found:
            return
        resolve(desk.small.desk.own, "otto", found[0]["seq"], signed(desk, found[0]))
    raise AssertionError(f"it never ends: {open_now(desk)}")


def trade(
    desk: MemoryDesk, order: Standing, lots: int, total: int, **more: str
) -> dict[str, Any] | None:
    """Settle a trade; returns the difference that it left on record, if any."""
    now = desk.standing(order.decision_id)
    left = desk.settled(desk.report(now, **({"t32": str(lots), "t14": str(total)} | more)))
    return next((dict(r.body) for r in left if r.kind is Kind.BOOK_DIFFERENCE), None)


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
    return BookCheck(tools).run("run_end")


def agrees_at(desk: MemoryDesk, lots: int) -> None:
    """Expect that the book holds so many lots, that nothing is open, and a restart says so too."""
    assert desk.lots() == lots
    assert open_now(desk) == []
    assert check_finds(desk) == 0
    again = Differences(desk.small.reader)
    again.read(desk.log.size)
    assert again.open() == ()
    assert desk.ask(33).result == "approved"


def test_two_differences_of_one_order_are_adjusted_once(desk: MemoryDesk) -> None:
    """A: a trade of 5 that cannot be booked, then a good one of 3."""
    order = desk.rest(50)
    trade(desk, order, 5, 5, t31=NO_TICKS)
    trade(desk, order, 3, 8)
    first, second = open_now(desk)
    assert (first["seq"] < second["seq"], sides(desk)) == (True, [(3, 8), (3, 8)])
    resolve_as_listed(desk)
    agrees_at(desk, 8)
    resolved = [r.body for r in desk.log.records(kinds=(Kind.DIFFERENCE_RESOLVED,))]
    assert [(one["of_seq"], "adjustment" in one) for one in resolved] == [
        (first["seq"], True),
        (second["seq"], False),
    ]
    assert resolved[1]["with_seq"] == first["seq"]


def test_what_was_signed_for_other_numbers_books_nothing(desk: MemoryDesk) -> None:
    """A, signed before the good trade came: refused, with the numbers of now."""
    order = desk.rest(50)
    trade(desk, order, 5, 5, t31=NO_TICKS)
    (before,) = open_now(desk)
    early = signed(desk, before)
    trade(desk, order, 4, 10)
    with pytest.raises(ResolutionRefusedError, match=r"book 4, broker 10.* 6 lots.*not 5"):
        resolve(desk.small.desk.own, "otto", before["seq"], early)
    assert desk.lots() == 4
    assert desk.ask(33).result == "rejected"
    resolve_as_listed(desk)
    agrees_at(desk, 10)


def test_a_trade_that_was_adjusted_and_then_taken_back_is_taken_out(desk: MemoryDesk) -> None:
    """D: the trade of 5 that could not be booked is adjusted, and the broker busts it."""
    order = desk.rest(50)
    trade(desk, order, 5, 5, t31=NO_TICKS, t17="ODD")
    resolve_as_listed(desk)
    agrees_at(desk, 5)
    left = trade(desk, order, 5, 0, t150="H", t19="ODD", t151="50", t39="0")
    assert left is not None
    assert (left["book_lots"], left["broker_lots"]) == (5, 0)
    assert sides(desk) == [(5, 0)]
    resolve_as_listed(desk)
    agrees_at(desk, 0)


def test_a_trade_that_was_adjusted_and_then_told_again_is_taken_out(desk: MemoryDesk) -> None:
    """E: 50 missing lots are adjusted, then their trade arrives after all."""
    order = desk.rest(100)
    trade(desk, order, 1, 51)
    resolve_as_listed(desk)
    agrees_at(desk, 51)
    left = trade(desk, order, 50, 51)
    assert left is not None
    assert (left["book_lots"], left["broker_lots"]) == (101, 51)
    assert desk.ask(33).result == "rejected"
    resolve_as_listed(desk)
    agrees_at(desk, 51)


def test_trades_in_another_order_heal_and_a_person_says_so(desk: MemoryDesk) -> None:
    """B: the trade that makes 8 of 5 arrives before the one that made 5."""
    order = desk.rest(50)
    trade(desk, order, 3, 8)
    assert sides(desk) == [(3, 8)]
    trade(desk, order, 5, 5)
    assert desk.lots() == 8
    (one,) = open_now(desk)
    assert (one["book_lots"], one["broker_lots"], one["lots"]) == (8, 8, 0)
    assert check_finds(desk) == 1, "it stays until a person has seen it"
    given = {"right": "broker", "reason": "late", "evidence": "both trades are on record"}
    done = resolve(desk.small.desk.own, "otto", one["seq"], ResolveRequest.model_validate(given))
    assert done["adjustment"] is None
    agrees_at(desk, 8)


def test_a_late_trade_that_heals_only_in_part_leaves_the_true_numbers(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    trade(desk, order, 2, 10)
    trade(desk, order, 5, 5)
    assert sides(desk) == [(7, 10)]
    resolve_as_listed(desk)
    agrees_at(desk, 10)


def test_the_word_for_the_book_counts_for_all_differences_of_the_order(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    trade(desk, order, 5, 5, t31=NO_TICKS)
    trade(desk, order, 3, 8)
    one = open_now(desk)[0]
    resolve(desk.small.desk.own, "otto", one["seq"], signed(desk, one, right="book"))
    agrees_at(desk, 3)
    trade(desk, order, 1, 9)
    agrees_at(desk, 4)
    trade(desk, order, 1, 11)
    assert sides(desk) == [(5, 11)]
