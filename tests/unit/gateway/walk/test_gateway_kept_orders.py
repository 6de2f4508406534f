"""A verdict is parsed once, and the order that it approved is kept until it is sent."""

from dataclasses import replace

from msgspec import structs

from gateway.installation.policies.policy import development_policy
from gateway.walk.journal.verdict import VerdictBasis, VerdictGiven
from gateway.walk.section import Section
from risk.approved import approve
from tests.doubles.memory_desk import MemoryDesk


def test_the_order_that_is_kept_is_the_one_on_record(desk: MemoryDesk) -> None:
    order, section = desk.approved(), desk.small.desk.own.section
    assert order.approving is not None
    given, leaf = VerdictGiven.of(order.approving), order.approving.leaf
    parsed = approve(given.intent, given.verdict, leaf, given.send_before_us, given.kill_epoch)
    assert section.approved(given, leaf) == parsed
    assert section.approved(given, bytes(32)) is None, "another record approved it"
    for other in (
        structs.replace(given, send_before_us=given.send_before_us + 1),
        structs.replace(given, kill_epoch=given.kill_epoch + 1),
        structs.replace(given, verdict_document=given.verdict_document | {"verdict_digest": "0"}),
    ):
        assert section.approved(other, leaf) is None, "the record says otherwise"


def test_an_order_that_is_kept_no_more_is_read_from_its_record(desk: MemoryDesk) -> None:
    order = desk.approved()
    assert order.approving is not None
    own = desk.small.desk.own
    section = Section(
        ledger=own.tools.ledger,
        reader=own.reader,
        bundle=development_policy(desk.small.keyring),
        policy_keys=desk.small.keyring.public_keys(),
        kill=own.word.read,
        wall_us=desk.wall,
        send_within_us=10_000_000,
    )
    desk.small.desk.own = replace(own, section=section)
    given = VerdictGiven.of(order.approving)
    assert section.approved(given, order.approving.leaf) is None
    result = desk.dispatch(order)
    assert result is not None
    assert result.outcome == "sent"
    ((_, fields),) = desk.small.broker.orders
    assert fields[38] == str(order.approving.body["intent"]["qty_lots"])


def test_only_the_last_orders_are_kept(desk: MemoryDesk) -> None:
    section = desk.small.desk.own.section
    section.kept.most = 2
    orders = [desk.approved() for _ in range(3)]
    kept = []
    for one in orders:
        assert one.approving is not None
        kept.append(section.approved(VerdictGiven.of(one.approving), one.approving.leaf))
    assert kept[0] is None
    assert all(kept[1:])


def test_a_verdict_is_parsed_once_and_never_taken_for_another(desk: MemoryDesk) -> None:
    first, second = desk.approved(), desk.approved()
    assert first.approving is not None
    assert second.approving is not None
    given = VerdictGiven.of(first.approving)
    assert VerdictGiven.of(first.approving) is given
    assert given.verdict is given.verdict
    assert VerdictGiven.of(structs.replace(first.approving, seq=99)) is given
    forged = structs.replace(first.approving, payload=second.approving.payload)
    assert VerdictGiven.of(forged) is VerdictGiven.of(second.approving)
    assert VerdictBasis.of(first.approving).basis_seq == first.approving.body["basis_seq"]
