"""Tables of the FIX side, fixed once: order states, reports, messages, fields of persons."""

import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal

from fix.dialects import person_tags
from fix.dialects.engine_settings import initiator_settings
from fix.dialects.profile import (
    OrderTags,
    Profile,
    SessionMode,
    simulator_profile,
)
from fix.orders.state import (
    Anomaly,
    OrderEvent,
    OrderState,
    advance,
    event_of,
    lives_again,
    restated,
)
from fix.simulator.control import SimulatedQuote
from fix.simulator.market import DECK, SimulatedMarket
from fix.simulator.order import Reply
from fix.wire.identity import cl_ord_id, sweep_id
from fix.wire.messages import (
    cancel,
    mass_cancel,
    mass_status_request,
    new_order,
    parse,
    status_request,
    wire_text,
)
from fix.wire.reports import ExecutionReport, parse_inbound
from risk.approved import approve
from risk.evaluate import evaluate
from risk.intent import Side
from tests.doubles.answering_broker import framed
from tests.doubles.risk_cases import PLAYBACK, bought, fold, intent_with, state_with

Golden = Callable[[str, bytes], None]
LEAF = bytes(range(32))
WALL_US = 1_795_000_000_123_456


def transitions() -> Iterator[str]:
    for state in OrderState:
        yield f"{state}: terminal {state.is_terminal}, live {state.is_live}"
        for event in OrderEvent:
            after = advance(state, event)
            said = f"{after.reason}, book {after.book}" if isinstance(after, Anomaly) else after
            yield f"  {event} -> {said}"


def test_where_an_order_stands_after_each_event(golden: Golden) -> None:
    golden("fix_order_states.txt", "\n".join(transitions()).encode() + b"\n")


def report(exec_type: str, status: str, done: str, left: str, why: str) -> ExecutionReport:
    fields = (
        (49, "B"),
        (56, "C"),
        (34, "2"),
        (52, "20180102-15:00:00"),
        (37, "X"),
        (11, "A" * 20),
        (17, "E"),
        (19, "D"),
        (150, exec_type),
        (39, status),
        (103, why),
        (55, "SPXN"),
        (54, "1"),
        (38, "10"),
        (32, "1"),
        (31, "5.00"),
        (151, left),
        (14, done),
        (6, "5.00"),
        (60, "20180102-15:00:00"),
    )
    read = parse_inbound(framed("8", tuple(pair for pair in fields if pair[1])))
    assert isinstance(read, ExecutionReport)
    return read


def tellings() -> Iterator[str]:
    amounts = (("0", "0"), ("0", "10"), ("4", "6"), ("10", "0"), ("4", "0"), ("10.0", "0.00"))
    for exec_type, status in itertools.product("0458CDFGHI", "0123456789AC"):
        for done, left in amounts:
            for why in ("", "5", "1") if status == "8" else ("",):
                one = report(exec_type, status, done, left, why)
                flags = (one.is_status, one.is_trade, one.is_correction, one.undoes, one.has_leaves)
                bits = "".join(str(int(flag)) for flag in (*flags, lives_again(one)))
                then = restated(OrderState.SENT, one)
                yield f"{exec_type} {status} {done}/{left} {why}: {event_of(one)} {bits} {then}"


def test_what_a_report_tells(golden: Golden) -> None:
    golden("fix_reports.txt", "\n".join(tellings()).encode() + b"\n")


def bare_profile() -> Profile:
    return simulator_profile(4_000).model_copy(
        update={
            "sender_comp_id": "US",
            "target_comp_id": "THEM",
            "host": "broker.example",
            "mode": SessionMode.RESET,
            "currency": "EUR",
            "minor_digits": 4,
            "account": "OURS",
            "tags": OrderTags(trader_code="77"),
        }
    )


def messages() -> Iterator[str]:
    book = fold(bought(900))
    for side, profile in itertools.product(Side, (simulator_profile(1), bare_profile())):
        intent = intent_with(side=side, limit_ticks=26_957 if side is Side.SELL else 26_969)
        verdict = evaluate(PLAYBACK, state_with(book=book), intent)
        order = approve(intent, verdict, LEAF, WALL_US, 3)
        fields = new_order(order, profile=profile, tick_minor=5, lot=10, transact_time_us=WALL_US)
        yield wire_text(fields)
        yield wire_text(status_request(fields))
        yield wire_text(cancel(fields, cancel_id="K1", transact_time_us=WALL_US + 1))
    yield wire_text(mass_cancel(cancel_id="K2", transact_time_us=WALL_US))
    yield wire_text(mass_status_request(request_id="Q1"))


def test_the_messages_that_we_send(golden: Golden) -> None:
    texts = list(messages())
    for text in texts:
        assert wire_text([pair for pair in parse(text) if pair[0] not in {8, 9, 10}]) == text
    names = [cl_ord_id(LEAF), *(sweep_id(k, "A" * 20, n) for k in "CQ" for n in (1, 2, 40))]
    golden("fix_messages.txt", ("\n".join([*texts, *names, *map(str, DECK)]) + "\n").encode())


def test_the_settings_of_a_session(golden: Golden) -> None:
    texts = [
        initiator_settings(profile, store="S", log="L", dictionary="D")
        for profile in (simulator_profile(1), bare_profile())
    ]
    golden("fix_settings.txt", "\n".join(texts).encode())


def kept_apart() -> Iterator[str]:
    """Every table of fields that may name a person, in the order of its numbers."""
    tables = {name: table for name, table in vars(person_tags).items() if name[:2] != "__"}
    for name, table in sorted(tables.items()):
        match table:
            case dict():
                yield from (f"{name} {key}: {value}" for key, value in table.items())
            case frozenset():
                yield f"{name}: {' '.join(map(str, sorted(table)))}"
            case tuple() | int():
                yield f"{name}: {table}"
            case _:
                pass
    edges = (*range(940, 1000), 4_999, 5_000, 9_999, 10_000, 39_999, 40_000)
    yield f"user defined: {[tag for tag in edges if person_tags.is_user_defined(tag)]}"
    yield f"undeclared: {[tag for tag in edges if person_tags.is_undeclared(tag)]}"


def test_which_fields_may_name_a_person(golden: Golden) -> None:
    """A field that leaves these tables would stay in the ledger, out of erasure's reach."""
    golden("fix_person_tags.txt", "\n".join(kept_apart()).encode() + b"\n")


QUOTES = {
    "UP": SimulatedQuote(1, Decimal("269.50"), Decimal("269.60")),
    "DOWN": SimulatedQuote(1, Decimal("9.50"), Decimal("9.75")),
}


def broker(
    script: str, quotes: dict[str, SimulatedQuote], *, has_quotes: bool = True
) -> SimulatedMarket:
    return SimulatedMarket(
        seed="golden",
        script=tuple(script.split()),
        fee_bp=7,
        orders_before=3,
        reports_before=40,
        known=frozenset({"OLD"}),
        quote=quotes.get,
        has_quotes=has_quotes,
    )


def order(number: int, name: str, side: str, limit: str, **rest: str) -> dict[int, str]:
    fields = {35: "D", 34: str(number), 11: name, 55: "UP", 54: side, 38: "7", 44: limit}
    return fields | {int(tag[1:]): value for tag, value in rest.items()}


def orders() -> Iterator[dict[int, str]]:
    names = (f"O{number}" for number in itertools.count())
    for side, limits in (("1", ("269.60", "269.59", "280")), ("2", ("269.50", "269.51", "1"))):
        for limit, tif in itertools.product(limits, ("0", "1", "3", "4")):
            yield order(9, next(names), side, limit, t59=tif, t1="ACC")
    yield order(9, next(names), "1", "300", t38="1")
    yield order(9, next(names), "2", "9", t55="DOWN", t38="6.0")
    yield order(9, next(names), "1", "10", t55="NONE")
    yield order(9, "OLD", "1", "300")


def said(answers: list[Reply]) -> Iterator[str]:
    for one in answers:
        fields = "|".join(f"{tag}={value}" for tag, value in one.fields)
        yield f"  {'later ' if one.later else ''}{fields}"


def dealings() -> Iterator[str]:
    for script in ("", "fill " * 40, "partial " * 40, "silence " * 40, "bust correct " * 20,
                   "session_reject business_reject reject fill " * 10):  # fmt: skip
        quotes = dict(QUOTES)
        market = broker(script, quotes)
        yield f"script {script[:40]}"
        for fields in orders():
            yield f" {fields[11]} {fields[54]} {fields[38]} at {fields[44]} {fields.get(59)}"
            yield from said(market.receive(fields))
        questions: tuple[tuple[str, str], ...] = (("F", "O1"), ("H", "O1"), ("F", "O1"))
        questions += (("H", "O5"), ("F", "O9"), ("F", "NONE"), ("H", "NONE"), ("E", "O1"))
        for kind, name in questions:
            yield f" {kind} {name}"
            asked = {35: kind, 34: "50", 11: "C" if kind == "F" else name, 41: name}
            yield from said(market.receive(asked | {55: "UP", 54: "1"}))
        for name in [one for one, known in market.orders.items() if known.trades]:
            yield f" rest of {name}"
            yield from said(market.finish(name))
        yield " a silent time"
        for name in list(market.orders)[:6]:
            market.hold(((35, "8"), (150, "0"), (11, name), (58, "held")))
            market.hold(((35, "8"), (150, "4"), (11, "C"), (41, name), (58, "held, too")))
            market.hold(((35, "8"), (150, "I"), (11, name), (58, "an answer")))
            market.hold(((35, "9"), (11, "C"), (41, name), (58, "a refusal")))
        yield from said(market.receive({35: "AF", 34: "60", 584: "Q"}))
        quotes["UP"] = SimulatedQuote(2, Decimal("269.30"), Decimal("269.40"))
        yield " next session"
        yield from said(market.session_changed())
        yield from said(market.receive({35: "q", 34: "61", 11: "M", 530: "7"}))
        yield from said(market.cancel_all())
    alone = broker("fill partial", {}, has_quotes=False)
    for name in ("A", "B"):
        yield from said(alone.receive(order(9, name, "1", "5")))
    yield from said(alone.cancel_all())


def test_what_the_simulated_broker_says(golden: Golden) -> None:
    """Its capture is evidence: what it does with which message is published."""
    golden("fix_simulator.txt", "\n".join(dealings()).encode() + b"\n")
