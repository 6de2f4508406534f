"""Orders end, once: child, gateway and officers agree on what is live, whatever is reported."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.records.kinds import Kind
from fix.dialects.profile import simulator_profile
from fix.durable.accounting import Accounting
from fix.durable.inbox import Entry
from fix.durable.journal import Journal
from fix.orders.state import (
    Anomaly,
    OrderState,
    after_report,
    leaves_nothing,
)
from fix.wire.fields import fields_in
from fix.wire.reports import ExecutionReport, parse_inbound
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import fields_of
from gateway.walk.reconciliation.book_check import BookCheck, CheckTools
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import AGENT_ACCOUNT, MemoryDesk, memory_desk

LOTS = 10
LIVE = tuple(state for state in OrderState if state.is_live)
Tags = dict[str, str]
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def new_desk() -> tuple[MemoryDesk, Path]:
    folder = Path(tempfile.mkdtemp())
    return memory_desk(folder), folder


def test_from_every_live_state_a_report_ends_an_order_for_both_or_for_none() -> None:
    """A rejection after a partial fill, or an unknown order, ended it for the child alone."""
    desk, _ = new_desk()
    order = desk.rest(LOTS)
    kinds, states = "0123456789ACDEFGHI", "0123456789ABCE"
    rest = itertools.product(kinds, states, ("0", "5"), ("0", "5"), ("0", "5"))
    for exec_type, status, leaves, cum, reason in rest:
        said = {"t150": exec_type, "t39": status, "t151": leaves, "t14": cum, "t103": reason}
        report = parse_inbound(desk.report(order, **said))
        assert isinstance(report, ExecutionReport)
        for state in LIVE:
            after = after_report(state, report)
            ended = isinstance(after, OrderState) and after.is_terminal
            assert ended is leaves_nothing(report), (state, said, after)
            if isinstance(after, Anomaly):
                assert after.state is state


reports = st.fixed_dictionaries(
    {
        "t150": st.sampled_from("014568CDFFFFI"),
        "t39": st.sampled_from("01245689ABCE3"),
        "t151": st.sampled_from(("0", "2", "7")),
        "t14": st.sampled_from(("0", "1", "3", "5", "10")),
        "t32": st.sampled_from(("1", "2", "3", "5")),
        "t17": st.sampled_from(("X1", "X2", "X3", "X4", "")),
        "t103": st.sampled_from(("0", "5", "99")),
        "t37": st.sampled_from(("O1", "NONE")),
        "t11": st.sampled_from(("order", "order", "cancel", "sweep")),
        "t41": st.sampled_from(("", "order")),
        "t55": st.sampled_from(("SPXN", "SPXN", "SPXN", "NDXN")),
        "t54": st.sampled_from(("1", "1", "1", "2")),
        "twice": st.sampled_from((*[""] * 8, "31", "39", "11", "37", "14", "150", "151", "17")),
    }
)


def told(desk: MemoryDesk, order: Standing, names: Tags, said: Tags, number: int) -> str:
    """Return a report; `names` has our ClOrdIDs, and one ExecID of its own unless it is given.

    The tag named in `twice` has a second value at the end.
    """
    now = {name: text for name, text in said.items() if text or name != "t41"}
    twice = now.pop("twice", "")
    now["t17"] = "0" if now["t150"] == "I" else now["t17"] or f"N{number}"
    for tag in ("t11", "t41"):
        if tag in now:
            now[tag] = names.get(now[tag], now[tag])
    raw = desk.report(order, **now)
    return framed("8", (*fields_in(raw)[3:-1], (int(twice), "2"))) if twice else raw


def is_told(desk: MemoryDesk) -> bool:
    return bool(desk.small.desk.own.section.differences.open())


@FEW
@given(st.lists(reports, min_size=1, max_size=8))
def test_child_and_gateway_agree_on_what_is_live_and_nothing_is_kept_in_silence(
    story: list[Tags],
) -> None:
    desk, folder = new_desk()
    order = desk.rest(LOTS)
    name, sent = order.cl_ord_id, fields_of(order)
    journal = Journal(folder / "journal")
    accounts = Accounting(journal, simulator_profile(1).capabilities)
    accounts.leaving(sent, 0)
    first = {
        "t17": "ACK",
        "t150": "0",
        "t39": "0",
        "t32": "0",
        "t14": "0",
        "t151": "9",
        "t37": "O1",
    }
    first["t37"] = "O1"
    names = {"order": name, "cancel": "C" * 20, "sweep": "S" * 20}
    for number, said in enumerate((first, *story)):
        raw = told(desk, order, names, said, number)
        accounts.take(Entry(number, number + 1, raw), lambda one, _: not journal.knows(one))
        desk.settled(raw)
        now = desk.standing(order.decision_id)
        live = name in {one.cl_ord_id for one in journal.live()}
        assert now.is_live is live, (number, said, now.order_state)
        if not now.is_live:
            assert not desk.reserved() or is_told(desk), (number, said, now.order_state)
    journal.close()


def settle_all(desk: MemoryDesk) -> None:
    """Let both officers resolve every difference: what the broker says is booked."""
    own = desk.small.desk.own
    for one in listed(own)["open"]:
        if one["seq"] not in {now["seq"] for now in listed(own)["open"]}:
            continue  # resolved with another of its order
        asked: dict[str, Any] = {"right": "book", "reason": "seen", "evidence": "statement"}
        if one["lots"]:
            asked |= {"right": "broker", "lots": one["lots"], "price": "269.00"}
            asked |= {"account": AGENT_ACCOUNT, "side": "BUY"}
        request = ResolveRequest.model_validate(asked)
        text = resolution_statement(str(listed(own)["log_id"]), one["seq"], one["leaf"], request)
        signatures = {r: own.keyring.signing_key(r).sign(text).hex() for r in SIGNING_ROLES}
        resolve(own, "otto", one["seq"], request.model_copy(update={"signatures": signatures}))


def start_again(desk: MemoryDesk) -> int:
    """Hold the book against all of the broker's messages, as every start does."""
    own = desk.small.desk.own
    check = BookCheck(
        CheckTools(
            ledger=own.tools.ledger,
            reader=own.reader,
            orders=own.orders,
            books=own.section,
            session=desk.small.settling.session,
            instruments=own.instruments,
            pause=lambda _: None,
        )
    )
    return check.run("reconciliation")


@FEW
@given(story=st.lists(reports, min_size=1, max_size=6), ours=st.booleans())
def test_what_officers_resolved_stays_resolved_at_three_later_starts(
    story: list[Tags], *, ours: bool
) -> None:
    """Also of an order that is not on record, and after an ExecID that came twice."""
    desk, _ = new_desk()
    order = desk.rest(LOTS)
    names = {"order": order.cl_ord_id if ours else "Q" * 20, "cancel": "C" * 20, "sweep": "S" * 20}
    last, rising = "", sorted(story, key=lambda one: int(one["t14"]))
    for number, said in enumerate(rising):
        last = told(desk, order, names, said | ({} if ours else {"t37": "ZZ"}), number)
        desk.settled(last)
    settle_all(desk)
    start_again(desk)
    settle_all(desk)
    differences = [one.body for one in desk.log.records(kinds=(Kind.BOOK_DIFFERENCE,))]
    before = len(differences)
    # a reused ExecID hides another instrument, which would be news of the later answer
    known = not ours or any(one["reason"] == "UNBOOKABLE" for one in differences)
    repeated = ("11", "37", "39", "151", "14", "103", *(["55"] if known else []))
    total = {str(tag): text for tag, text in reversed(fields_in(last))}
    for _ in range(3):
        answer = {"t17": "0", "t150": "I", "t32": "0", "t31": "0"}
        said = {f"t{tag}": total[tag] for tag in repeated}
        said["t11"] = total.get("41", total["11"])
        if total["150"] != "I" and total["39"] != "8":
            desk.settled(desk.report(order, **(said | answer)))
        assert start_again(desk) == 0, listed(desk.small.desk.own)["open"]
    after = [one.body for one in desk.log.records(kinds=(Kind.BOOK_DIFFERENCE,))]
    assert len(after) == before, after[before:]
