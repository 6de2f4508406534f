"""An approval is spent once, in time, under the policy and kill epoch that it was given under."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from typing_extensions import override

from audit.errors import LedgerWriteError
from audit.records.kinds import Kind
from audit.records.personal import Personal
from audit.records.record import Draft, Record
from audit.sequencer.ledger import Lane
from fix.session.link import HandResult
from fix.wire.identity import cl_ord_id
from gateway.clock import monotonic_us
from gateway.installation.policies.policy import development_policy
from gateway.walk.deadlines import Deadlines, Moment, sending_of
from gateway.walk.dispatch import LATE_US, dispatch, withdraw_late
from gateway.walk.journal.persons import Nobody
from gateway.walk.journal.standing import Stage, Standing
from gateway.walk.projections.outbox import Orders
from gateway.walk.section import Section
from risk.policy.policy import policy_digest, policy_document, policy_from_document
from risk.policy.signing import SignedPolicy, sign_policy
from tests.doubles.answering_broker import framed
from tests.doubles.memory_desk import MemoryDesk


def press_and_open_again(desk: MemoryDesk) -> None:
    """Leave a kill epoch behind: the gate is open again."""
    epoch = desk.small.desk.kill_switch.press(actor="ops", reason="drill").kill_epoch
    desk.small.desk.own.word.release(epoch)


def press(desk: MemoryDesk) -> None:
    """Leave the kill in force."""
    desk.small.desk.kill_switch.press(actor="ops", reason="now")


def another_policy(desk: MemoryDesk) -> None:
    """Put a newer policy, properly signed, in force."""
    own = desk.small.desk.own
    document = policy_document(own.section.policy)
    newer = policy_from_document(
        {**document, "version": 2, "parent": policy_digest(own.section.policy)}
    )
    signatures = development_policy(desk.small.keyring).signatures
    bundle = SignedPolicy(
        policy=newer,
        signatures=tuple(
            sign_policy(newer, one.role, one.signer, desk.small.keyring.signing_key(one.role))
            for one in signatures
        ),
    )
    in_force(desk, bundle)
    assert desk.small.desk.own.section.status().standing == "ACTIVE"


def unsigned_policy(desk: MemoryDesk) -> None:
    """Lose the signatures of the policy in force."""
    bundle = development_policy(desk.small.keyring)
    in_force(desk, replace(bundle, signatures=bundle.signatures[:1]))


def in_force(desk: MemoryDesk, bundle: SignedPolicy) -> None:
    """Let another section, with this policy, be the desk's."""
    own = desk.small.desk.own
    section = Section(
        ledger=own.tools.ledger,
        reader=own.reader,
        bundle=bundle,
        policy_keys=desk.small.keyring.public_keys(),
        kill=own.word.read,
        wall_us=desk.wall,
        send_within_us=10_000_000,
    )
    desk.small.desk.own = replace(own, section=section)


@pytest.mark.parametrize(
    "change",
    [press_and_open_again, press, another_policy, unsigned_policy],
    ids=lambda f: f.__name__,
)
def test_an_approval_of_another_epoch_or_policy_is_withdrawn(
    desk: MemoryDesk, change: Callable[[MemoryDesk], None]
) -> None:
    order = desk.approved()
    account = order.account
    change(desk)
    assert desk.dispatch(order) is None
    assert desk.small.broker.orders == []
    assert desk.kinds(order.decision_id)[-2:] == [Kind.ORDER_WITHDRAWN, Kind.DECISION_SEALED]
    assert "changed since the verdict" in desk.withdrawn(order.decision_id)
    assert desk.outcome(order.decision_id) == "withdrawn"
    events = desk.log.records(kinds=(Kind.ORDER_SENDING,), account=account)
    assert list(events) == [], "it was never announced"


def test_an_unchanged_approval_is_sent_under_the_name_of_its_record(desk: MemoryDesk) -> None:
    order = desk.approved()
    assert order.approving is not None
    result = desk.dispatch(order)
    assert result is not None
    assert result.outcome == "sent"
    ((name, fields),) = desk.small.broker.orders
    assert name == cl_ord_id(order.approving.leaf) == fields[11]
    intent = order.approving.body["intent"]
    assert fields[38] == str(intent["qty_lots"])
    assert fields[44] == f"{intent['limit_ticks'] / 100:.2f}"
    (sending,) = desk.log.of_kind(Kind.ORDER_SENDING)
    assert sending.body["approving_seq"] == order.approving.seq
    assert sending.body["approving_leaf"] == order.approving.leaf.hex()
    assert sending.body["kill_epoch"] == order.approving.body["kill_epoch"]
    assert sending.body["send_before_us"] == order.approving.body["send_before_us"]
    assert dict(sending.body["fields"]) == fields
    (sent,) = desk.log.of_kind(Kind.ORDER_SENT)
    assert sent.body["msg_seq_num"] == result.msg_seq_num
    assert sent.body["raw"] == result.raw


def test_an_approval_is_spent_once(desk: MemoryDesk) -> None:
    order = desk.approved()
    assert desk.dispatch(order) is not None
    assert desk.dispatch(desk.standing(order.decision_id)) is None
    assert len(desk.small.broker.orders) == 1


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.APPROVED])
def test_only_an_approved_order_is_dispatched(desk: MemoryDesk, stage: Stage) -> None:
    order = desk.approved()
    size = desk.log.size
    assert desk.dispatch(replace(order, stage=stage)) is None
    assert desk.dispatch(replace(order, approving=None)) is None
    assert (desk.small.broker.orders, desk.log.size) == ([], size)


@pytest.mark.parametrize(("late_us", "leaves"), [(-1, True), (0, False), (1, False)])
def test_an_approval_ends_at_its_send_before(
    desk: MemoryDesk, late_us: int, *, leaves: bool
) -> None:
    order = desk.approved()
    assert order.approving is not None
    before = int(order.approving.body["send_before_us"])
    tools = replace(desk.small.desk.own.dispatching, wall_us=lambda: before + late_us)
    assert (dispatch(order, tools) is not None) == leaves
    assert len(desk.small.broker.orders) == leaves
    assert (desk.withdrawn(order.decision_id) == "send_before_passed") != leaves


class Unfolded(Orders):
    """Orders that have met a gap in the log."""

    @property
    @override
    def ready(self) -> bool:
        return False

    @override
    def catch_up(self, records: Sequence[Record]) -> None:
        pass


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"settling": lambda: False}, "reports_not_settled"),
        ({"away": lambda: "logged_out"}, "fix_session_logged_out"),
        ({"deadlines": Deadlines(monotonic_us)}, "approved_before_this_start"),
        ({"orders": Unfolded()}, "orders_not_folded"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_while_something_is_not_in_order_nothing_is_sent(
    desk: MemoryDesk, changes: dict[str, Any], reason: str
) -> None:
    order = desk.approved()
    tools = replace(desk.small.desk.own.dispatching, **changes)
    assert dispatch(order, tools) is None
    assert desk.small.broker.orders == []
    assert desk.withdrawn(order.decision_id) == reason


class Broker:
    """A broker with one answer, which notes what was on record when it was asked."""

    def __init__(self, desk: MemoryDesk, answer: HandResult) -> None:
        self.answer = answer
        self.desk = desk
        self.seen: list[tuple[str, int, int, list[Kind]]] = []
        self.prepared: list[str] = []

    def prepare(self, cl_ord_id: str, fields: tuple[tuple[int, str], ...]) -> None:
        assert dict(fields)[11] == cl_ord_id
        self.prepared.append(cl_ord_id)

    def go(self, *order: Any) -> Callable[[], HandResult]:  # noqa: ANN401 - as `hand`
        result = self.hand(*order)
        return lambda: result

    def hand(
        self,
        cl_ord_id: str,
        fields: tuple[tuple[int, str], ...],
        kill_epoch: int,
        send_before_us: int,
        until_us: int,
    ) -> HandResult:
        assert dict(fields)[11] == cl_ord_id
        assert 0 < until_us - monotonic_us() <= 10_000_000
        kinds = [one.kind for one in self.desk.log.records()]
        self.seen.append((cl_ord_id, kill_epoch, send_before_us, kinds))
        return self.answer


def handed(desk: MemoryDesk, order: Standing, answer: HandResult) -> Broker:
    broker = Broker(desk, answer)
    assert dispatch(order, replace(desk.small.desk.own.dispatching, broker=broker)) is answer
    return broker


@pytest.mark.parametrize(
    ("outcome", "kind", "stage", "sealed", "held"),
    [
        ("sent", Kind.ORDER_SENT, Stage.SENT, "", True),
        ("refused", Kind.ORDER_REFUSED, Stage.SEALED, "refused", False),
        ("unknown", Kind.ORDER_UNKNOWN, Stage.UNKNOWN, "", True),
    ],
)
def test_what_became_of_an_order_is_on_record_and_reserves_as_long_as_it_may_trade(
    desk: MemoryDesk, outcome: str, kind: Kind, stage: Stage, sealed: str, *, held: bool
) -> None:
    press_and_open_again(desk)
    order = desk.approved()
    reserved = desk.reserved()
    assert reserved > 0
    raw = "35=D|" if outcome == "sent" else ""
    broker = handed(desk, order, HandResult(outcome=outcome, reason="why", msg_seq_num=7, raw=raw))
    ((name, epoch, before, kinds),) = broker.seen
    assert order.approving is not None
    assert name == cl_ord_id(order.approving.leaf)
    assert epoch == 1
    assert before == order.approving.body["send_before_us"]
    assert kinds[-1] is Kind.ORDER_SENDING, "announced before it is handed out"
    assert kind in desk.kinds(order.decision_id)
    assert desk.standing(order.decision_id).stage is stage
    assert desk.outcome(order.decision_id) == sealed
    assert desk.reserved() == (reserved if held else 0)


def test_an_announcement_that_is_not_on_record_hands_nothing_out(desk: MemoryDesk) -> None:
    order = desk.approved()

    def before(drafts: tuple[Draft, ...]) -> None:
        if any(one.kind is Kind.ORDER_SENDING for one in drafts):
            raise LedgerWriteError("the database is away")

    desk.log.before = before
    with pytest.raises(LedgerWriteError):
        desk.dispatch(order)
    assert desk.small.broker.orders == []
    assert desk.standing(order.decision_id).stage is Stage.APPROVED, "the next try finds it"


def test_sending_goes_in_the_urgent_lane(desk: MemoryDesk) -> None:
    order = desk.approved()
    done = len(desk.log.lanes)
    desk.dispatch(order)
    assert desk.log.lanes[done:] == [Lane.URGENT] * 2


def test_an_approval_that_nobody_sends_is_withdrawn_when_it_is_late(desk: MemoryDesk) -> None:
    order = desk.approved()
    tools = desk.small.desk.own.dispatching
    assert order.approving is not None
    before = int(order.approving.body["send_before_us"])
    assert withdraw_late(replace(tools, wall_us=lambda: before + LATE_US - 1)) == 0
    assert withdraw_late(replace(tools, wall_us=lambda: before + LATE_US)) == 1
    assert withdraw_late(replace(tools, wall_us=lambda: before + LATE_US)) == 0
    assert desk.withdrawn(order.decision_id) == "send_before_passed"
    assert desk.reserved() == 0


def test_an_approval_ends_on_the_monotonic_clock_too(desk: MemoryDesk) -> None:
    """The wall clock was set back: by it there would be time enough."""
    order = desk.approved()
    passed_us = 1_000
    deadlines = Deadlines(lambda: passed_us)
    end = Moment(wall_us=desk.wall() + 60_000_000, monotonic_us=passed_us)
    deadlines.keep(sending_of(order.decision_id), end)
    tools = replace(desk.small.desk.own.dispatching, deadlines=deadlines)
    assert dispatch(order, tools) is None
    assert desk.small.broker.orders == []
    assert desk.withdrawn(order.decision_id) == "send_before_passed"
    order = desk.approved()
    deadlines.keep(sending_of(order.decision_id), replace(end, monotonic_us=passed_us + 1))
    assert dispatch(order, tools) is not None, "a microsecond is left"


def test_an_order_ends_at_the_child_when_its_approval_ends(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = desk.approved()
    assert order.approving is not None
    ends: list[tuple[int, int]] = []
    hand = desk.small.broker.hand

    def handed_out(*given: Any) -> HandResult:  # noqa: ANN401 - as the broker takes it
        ends.append((given[3], given[4]))
        return hand(*given)

    monkeypatch.setattr(desk.small.broker, "hand", handed_out)
    end = desk.small.desk.own.section.deadlines.end(sending_of(order.decision_id))
    assert end is not None
    desk.dispatch(order)
    assert ends == [(end.wall_us, end.monotonic_us)]
    assert order.approving.body["send_before_us"] == end.wall_us


class Vault:
    """A ledger that takes what is personal apart."""

    def __init__(self, desk: MemoryDesk) -> None:
        self.desk = desk
        self.sealed: list[Personal] = []

    def put_blob(self, data: bytes) -> str:
        return self.desk.log.put_blob(data)

    def append(self, *drafts: Draft, **how: Any) -> tuple[Record, ...]:  # noqa: ANN401 - as the log
        self.sealed += [value for one in drafts for value in one.personal]
        return self.desk.log.append(*(replace(one, personal=()) for one in drafts), **how)


class Anna(Nobody):
    """Knows one person."""

    @override
    def named_in(self, text: str) -> str | None:
        return "p-1" if "Anna" in text else None

    @override
    def subject(self, name: str) -> str:
        return "p-1"

    @override
    def subject_of_words(self, text: str) -> str:
        return "p-1"


def test_a_name_in_our_own_message_is_no_part_of_its_record(desk: MemoryDesk) -> None:
    order = desk.approved()
    raw = framed("D", ((49, "COUNTERSIGN"), (56, "EMSSIM"), (34, "2"), (58, "Anna asked for it")))
    answer = HandResult(outcome="sent", msg_seq_num=2, raw=raw)
    vault = Vault(desk)
    tools = replace(
        desk.small.desk.own.dispatching,
        broker=Broker(desk, answer),
        persons=Anna(),
        ledger=vault,
    )
    assert dispatch(order, tools) is answer
    (sent,) = desk.log.of_kind(Kind.ORDER_SENT)
    kept = sent.body["raw"]
    assert "Anna" not in kept
    assert "p-1" in kept
    assert sent.body["raw_digest"] == sha256(kept.encode("latin-1")).hexdigest()
    assert [(one.subject, one.value) for one in vault.sealed] == [("p-1", "Anna asked for it")]


def test_a_clock_that_was_set_back_measures_nothing(desk: MemoryDesk) -> None:
    order = desk.approved()
    desk.wall.ahead_us = -60_000_000
    desk.dispatch(order)
    (sent,) = desk.log.of_kind(Kind.ORDER_SENT)
    assert sent.body["decision_to_wire_us"] == 0


def test_a_withdrawal_is_folded_before_anybody_goes_on(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was withdrawn is waited for, with its seal: it may not be found unsent again."""
    order = desk.approved()
    caught: list[list[Kind]] = []
    orders = desk.small.desk.own.orders
    monkeypatch.setattr(orders, "catch_up", lambda got: caught.append([one.kind for one in got]))
    press(desk)
    assert desk.dispatch(order) is None
    assert caught == [[Kind.ORDER_WITHDRAWN, Kind.DECISION_SEALED]]
    sealed = desk.log.of_kind(Kind.DECISION_SEALED)[-1]
    assert sealed.body["account"] == order.account
