"""A replace leaves as an order does: after every look that a new order takes, and at its pace."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.bodies.order_requests import ReplaceRequest, ReplaceResponse
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.controls import replacing
from gateway.desk.officers.governing.policies import follow_policy
from gateway.desk.officers.stops import begin_stop
from gateway.errors import NotReplaceableError, OverBudgetError
from gateway.installation.keys.keyring import SIGNING_ROLES, Caller
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.installation.policies.policy import BUNDLE
from gateway.walk import dispatch as dispatching
from gateway.walk.dispatch import LOOKS
from gateway.walk.journal.standing import Standing
from gateway.walk.projections.asked import terms_of
from risk.intent import Side
from risk.policy.policy import policy_digest, policy_document, policy_from_document
from risk.policy.signing import SignedPolicy, sign_policy, signed_policy_document
from risk.state.state import Stop
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk

QUIET = {"t32": "0", "t31": "0"}
LIFE_US = 3_600_000_000
OPERATOR = Caller(name="operator", role=Role.OPERATOR)
SCOPE = KeyScope(
    instruments=("SPXN",),
    sides=(Side.BUY,),
    order_notional_max_minor=4_000_000,
    day_notional_max_minor=5_000_000,
    intents_per_minute=600,
    expires_us=1 << 52,
    account="one",
)


def keyed(desk: MemoryDesk, **changes: Any) -> Caller:  # noqa: ANN401 - any field
    scope = SCOPE.model_copy(update=changes)
    caller = desk.small.keyring.authenticate(
        desk.small.keyring.issue("desk-1", Role.AGENT, scope=scope)
    )
    assert caller is not None
    return caller


def intent(
    desk: MemoryDesk, caller: Caller, key: str, lots: int = 40, bp: int = 2_000
) -> IntentResponse:
    wanted = IntentRequest(
        client_key=key, instrument="SPXN", target_exposure_bp=bp, max_qty_lots=lots
    )
    return desk.small.desk.submit(caller, wanted)


def working(desk: MemoryDesk, caller: Caller = AGENT, lots: int = 50) -> Standing:
    """Return an order that the broker has acknowledged."""
    order = desk.standing(intent(desk, caller, f"w-{lots}", lots).decision_id)
    quantity = terms_of(order).quantity
    desk.settled(desk.report(order, **QUIET, t150="0", t39="0", t14="0", t151=quantity))
    return desk.standing(order.decision_id)


def confirmed(desk: MemoryDesk, order: Standing) -> None:
    asked = desk.standing(order.decision_id).replaces[-1]
    fields = {"t11": asked.replace_id, "t41": asked.orig_name, "t38": asked.terms.quantity}
    fields |= {"t150": "5", "t39": "0", "t14": "0", "t151": asked.terms.quantity}
    desk.settled(desk.report(desk.standing(order.decision_id), **(QUIET | fields)))


def ask(
    desk: MemoryDesk, order: Standing, more: int, key: str = "r-1", by: Caller = AGENT
) -> ReplaceResponse:
    lots = terms_of(desk.standing(order.decision_id)).qty_lots + more
    request = ReplaceRequest(client_key=key, qty_lots=lots)
    return desk.small.desk.order_desk.replace(by, order.cl_ord_id, request)


def left(desk: MemoryDesk, kind: str = "G") -> int:
    return sum(dict(fields)[35] == kind for _, fields in desk.small.broker.orders)


def tighter(desk: MemoryDesk) -> None:
    """Put a policy in force that allows no order above 60 lots."""
    policy, keyring = desk.small.desk.own.section.policy, desk.small.keyring
    document: Any = policy_document(policy)
    for one in document["instruments"]:
        one["order_qty_max"]["value"] = 60
    again = {**document, "version": policy.version + 1, "parent": policy_digest(policy)}
    new = policy_from_document(again)
    signed = tuple(
        sign_policy(new, role, f"dev-{role}", keyring.signing_key(role)) for role in SIGNING_ROLES
    )
    document = signed_policy_document(SignedPolicy(policy=new, signatures=signed))
    (keyring.folder / BUNDLE).write_bytes(canonical(document))
    follow_policy(desk.small.desk, OPERATOR, "tighter")


def pause(desk: MemoryDesk) -> None:
    begin_stop(desk.small.desk.own, "operator", Stop.PAUSE, "something is wrong")


def reduce_only(desk: MemoryDesk) -> None:
    begin_stop(desk.small.desk.own, "operator", Stop.REDUCE_ONLY, "something is wrong")


def kill(desk: MemoryDesk) -> None:
    desk.small.desk.kill_switch.press(actor="ops", reason="now")


def revoke(desk: MemoryDesk) -> None:
    desk.small.keyring.revoke("desk-1")


def expire(desk: MemoryDesk) -> None:
    desk.wall.ahead_us += LIFE_US


def narrow(desk: MemoryDesk) -> None:
    keyed(desk, order_notional_max_minor=1)


def unsettled(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    object.__setattr__(own.dispatching, "settling", lambda: False)


def away(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    object.__setattr__(own.dispatching, "away", lambda: "logged_out")


CHANGES: tuple[tuple[Callable[[MemoryDesk], None], str, bool], ...] = (
    (pause, "stop_pause", False),
    (reduce_only, "stop_reduce-only", False),
    (tighter, "the policy changed", False),
    (narrow, "scope", False),
    (kill, "the kill epoch changed", True),
    (revoke, "the key of desk-1 was revoked", True),
    (expire, "expiry", True),
    (unsettled, "reports_not_settled", True),
    (away, "fix_session_logged_out", True),
)
"""What is on record before a message leaves, what is told of it, and whether it holds a reduction
back too."""


def at(module: Any, name: str, do: Callable[[], None], patch: pytest.MonkeyPatch) -> None:  # noqa: ANN401 - a module
    """Do something once when the walk reaches a failpoint."""
    real = module.reach
    done: list[str] = []

    def reach(reached: str) -> None:
        if reached == name and not done:
            done.append(reached)
            do()
        real(reached)

    patch.setattr(module, "reach", reach)


@pytest.mark.parametrize("more", [30, -10], ids=["raises", "reduces"])
@pytest.mark.parametrize(
    ("change", "told", "both"), CHANGES, ids=lambda one: getattr(one, "__name__", "")
)
def test_what_is_on_record_before_a_replace_leaves_holds_it_back(
    desk: MemoryDesk,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[MemoryDesk], None],
    told: str,
    both: bool,  # noqa: FBT001 - a parameter
    more: int,
) -> None:
    """Repro sec_replace_stop: the request is on record, then the change, then nothing leaves."""
    caller = keyed(desk, expires_us=desk.wall() + LIFE_US)
    order = working(desk, caller)
    at(replacing, "replace.requested", lambda: change(desk), monkeypatch)
    done = ask(desk, order, more, by=caller)
    if more < 0 and not both:
        assert (done.result, left(desk)) == ("sent", 1)
        return
    assert (done.result, left(desk)) == ("not_sent", 0)
    assert told in str(done.reason)
    held = desk.small.desk.own.section.book(order.account).reservation(order.decision_id)
    assert held is not None
    assert held.open_lots == terms_of(order).qty_lots, "what it added is free again"


@pytest.mark.parametrize(
    ("change", "told", "both"),
    [one for one in CHANGES if one[0] is not tighter],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_on_record_before_an_order_leaves_holds_it_back(
    desk: MemoryDesk,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[MemoryDesk], None],
    told: str,
    both: bool,  # noqa: FBT001 - a parameter
) -> None:
    """A new order takes the same looks at the same place; `follow` waits for its turn instead."""
    del both
    caller = keyed(desk, expires_us=desk.wall() + LIFE_US)
    at(dispatching, "dispatch.sending_committed", lambda: change(desk), monkeypatch)
    answer = intent(desk, caller, "a")
    assert (answer.result, left(desk, "D")) == ("not_sent", 0)
    assert told in str(answer.reason)


def test_every_look_holds_back_an_order_and_a_replace(desk: MemoryDesk) -> None:
    """By construction: `LOOKS` is what both read, so a look that speaks stops both."""
    order = working(desk)
    for place, look in enumerate(LOOKS):
        speaking = look._replace(why_not=lambda *_: "the look speaks")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gateway.walk.dispatch.LOOKS", (speaking,))
            fresh = desk.approved()
            assert desk.dispatch(fresh) is None
            assert desk.withdrawn(fresh.decision_id) == "the look speaks"
            at(replacing, "replace.requested", lambda: None, patch)
            if look.of_reductions:
                with pytest.raises(NotReplaceableError, match="the look speaks"):
                    ask(desk, order, -1, key=f"r-{place}")
            else:
                assert ask(desk, order, 1, key=f"r-{place}").reason == "the look speaks"
    assert left(desk) == 0


def test_a_replace_and_an_intent_at_once_stay_in_the_days_budget(desk: MemoryDesk) -> None:
    """Repro sec_budget_race: an intent that comes between the look and the record waits for it."""
    caller = keyed(desk)
    order = working(desk, caller, 40)
    section = desk.small.desk.own.section
    real, beside, taken = section.judge_replace, [], threading.Event()
    other = threading.Thread(
        target=lambda: beside.append(intent(desk, caller, "b", lots=75, bp=3_000))
    )

    def seen(records: tuple[Record, ...]) -> None:
        if any(one.kind is Kind.FORECAST_TAKEN for one in records):
            taken.set()

    def slowly(*words: Any, **named: Any) -> Any:  # noqa: ANN401 - as judge_replace
        desk.log.subscribe(seen)
        other.start()
        assert taken.wait(30)
        return real(*words, **named)

    object.__setattr__(section, "judge_replace", slowly)
    assert ask(desk, order, 100, by=caller).result == "sent"
    other.join()
    assert beside[0].result == "not_sent"
    assert "key desk-1: day_notional" in str(beside[0].reason)
    desk.small.desk.scopes._catch_up()  # noqa: SLF001 - what the next look reads
    used = desk.small.desk.scopes._mandates.used_minor("desk-1")  # noqa: SLF001
    assert used <= SCOPE.day_notional_max_minor
    assert left(desk) == 1, "the replace left, and no order beside it"


def test_reducing_replaces_wait_for_the_pace_of_messages(desk: MemoryDesk) -> None:
    """Repro sec_desk d4: 300 reductions left under one verdict."""
    order = working(desk, lots=400)
    account = desk.small.desk.own.section.policy.account
    room = account.message_burst.value * (10_000 - account.message_reserve.value) // 10_000
    for number in range(room - 1):  # the order was a message too
        assert ask(desk, order, -1, key=f"r-{number}").result == "sent"
        confirmed(desk, order)
    with pytest.raises(NotReplaceableError, match=f"the account has sent its {room} messages"):
        ask(desk, order, -1, key="one-more")


def test_replaces_count_as_intents_of_the_key_that_asks(desk: MemoryDesk) -> None:
    caller = keyed(desk, intents_per_minute=2)
    order = working(desk, caller)
    assert ask(desk, order, -1, by=caller).result == "sent"
    confirmed(desk, order)
    with pytest.raises(OverBudgetError, match="rate"):
        ask(desk, order, -1, key="r-2", by=caller)
    with pytest.raises(OverBudgetError, match="rate"):
        intent(desk, caller, "more")
    assert ask(desk, order, -1, key="r-3", by=OPERATOR).result == "sent", "a person reduces it"
    confirmed(desk, order)
    desk.wall.ahead_us += 60_000_000
    assert ask(desk, order, -1, key="r-4", by=caller).result == "sent"


@pytest.mark.parametrize("change", [revoke, expire], ids=["revoked", "expired"])
def test_a_hold_of_a_key_that_ended_leads_to_no_order(
    desk: MemoryDesk, change: Callable[[MemoryDesk], None]
) -> None:
    """Repro sec_misc: the key was revoked while its order waited for a person."""
    caller = keyed(desk, order_notional_max_minor=1 << 50, day_notional_max_minor=1 << 50)
    held = intent(desk, caller, "h", lots=1_000, bp=2_800)
    assert held.result == "held"
    if change is expire:  # a life that ends with the hold still open
        keyed(desk, **{**SCOPE.model_dump(), "expires_us": desk.wall() + 1_000_000})
        desk.wall.ahead_us += 2_000_000
    else:
        change(desk)
    assert desk.answer(held.decision_id) == "not_sent"
    assert left(desk, "D") == 0


def test_a_revoked_key_without_a_scope_sends_nothing(desk: MemoryDesk) -> None:
    """Repro sec_misc: a plain key, whose orders are booked in the shared account."""
    held = desk.hold()
    desk.small.keyring.revoke("agent")
    assert desk.answer(held) == "not_sent"
    assert left(desk, "D") == 0


def test_a_person_reduces_the_order_of_a_key_that_was_revoked(desk: MemoryDesk) -> None:
    caller = keyed(desk)
    order = working(desk, caller)
    desk.small.keyring.revoke("desk-1")
    with pytest.raises(Exception, match="a key with a scope"):
        ask(desk, order, 5, by=OPERATOR)
    assert ask(desk, order, -5, key="r-2", by=OPERATOR).result == "sent"


def test_a_clock_that_is_set_back_gives_no_key_its_life_again(tmp_path: Path) -> None:
    """Expiry is read from a wall clock that never goes back while the process lives."""
    desk = memory_desk(tmp_path)
    section, second = desk.small.desk.own.section, 1_000_000
    passed = [0]
    steady = type(section.steady_us)(desk.wall, lambda: passed[0])
    section.steady_us = steady
    caller = keyed(desk, expires_us=desk.wall() + 5 * second)
    assert intent(desk, caller, "a").result == "approved"
    passed[0] = 6 * second  # six seconds pass while the wall clock is set back by an hour
    desk.wall.ahead_us -= 3_600 * second
    with pytest.raises(Exception, match="expiry"):
        intent(desk, caller, "b", lots=41)


def revoke_plain(desk: MemoryDesk) -> None:
    desk.small.keyring.revoke("agent")


def revoke_operator(desk: MemoryDesk) -> None:
    desk.small.keyring.revoke("operator")


@pytest.mark.parametrize("more", [30, -10], ids=["raises", "reduces"])
@pytest.mark.parametrize(
    ("change", "told", "of_author"),
    [
        (revoke_plain, "the key of agent was revoked", True),
        (revoke, "the key of desk-1 was revoked", True),
        (expire, "expiry", True),
        (revoke_operator, "the key of operator was revoked", False),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_raise_leaves_only_while_the_keys_of_its_author_and_of_who_asks_live(
    desk: MemoryDesk,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[MemoryDesk], None],
    told: str,
    of_author: bool,  # noqa: FBT001 - a parameter
    more: int,
) -> None:
    """One key ends once the request is on record; a person may still reduce without the author."""
    scoped = change not in {revoke_plain, revoke_operator}
    author = keyed(desk, expires_us=desk.wall() + LIFE_US) if scoped else AGENT
    order = working(desk, author)
    at(replacing, "replace.requested", lambda: change(desk), monkeypatch)
    done = ask(desk, order, more, by=OPERATOR)
    if of_author and more < 0:
        assert (done.result, left(desk)) == ("sent", 1)
        return
    assert (done.result, left(desk)) == ("not_sent", 0)
    assert told in str(done.reason)
