"""An erasure reads the log once, judges what was added meanwhile, and says how far it is."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from audit.errors import ErasureRefusedError
from audit.privacy.erasable import Inquiry
from audit.privacy.holds import placed
from audit.privacy.retention import YEARS_FIELD, kept_until_us
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.tables import connect
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.privacy.erasure import make_privacy
from tests.doubles.audit_log import TIME_US, note, started
from tests.doubles.audit_spoiled import disarm
from tests.doubles.privacy_world import NAME, OTHER, World, about, world_at

pytestmark = pytest.mark.postgres


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


def once(action: Callable[[], object]) -> Callable[[int, int], None]:
    """Do something when the log was read for the first time."""
    left = [action]

    def on_read(done: int, total: int) -> None:
        if done == total and left:
            left.pop()()

    return on_read


def size(world: World) -> int:
    newest = next(world.reader.records(newest_first=True, limit=1))
    return newest.seq + 1


def test_the_log_is_read_once_and_then_what_was_added(world: World) -> None:
    seen: list[tuple[int, int]] = []
    world.said(NAME)
    world.said(OTHER)
    before = size(world)
    add = once(lambda: world.ledger.append(note("a"), note("b")))

    def on_read(done: int, total: int) -> None:
        seen.append((done, total))
        add(done, total)

    world.privacy(on_read=on_read).erase(NAME, basis="law", actor="operator")
    assert seen == [(before, before), (2, 2)]


def test_an_installation_shows_how_far_it_is(world: World, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    world.said(NAME)
    settings = load(state=tmp_path / "state")
    privacy = make_privacy(
        settings,
        StateFolder.of(settings),
        dsn=world.dsn,
        ledger=world.ledger,
        reader=world.reader,
        vault=world.vault,
        on_read=lambda done, total: seen.append((done, total)),
    )
    before = size(world)
    privacy.erase(NAME, basis="law", actor="operator")
    assert seen == [(before, before)]


def test_a_hold_placed_while_the_log_is_read_keeps_the_person(world: World) -> None:
    subject = world.vault.subject(NAME)
    world.said(NAME)
    hold = placed("all", "inquiry", "approver", world.now_us)
    privacy = world.privacy(on_read=once(lambda: world.ledger.append(hold)))
    with pytest.raises(ErasureRefusedError, match="keeps it"):
        privacy.erase(NAME, basis="law", actor="operator")
    assert world.vault.subject(NAME) == subject, "nothing was erased: the pseudonym stays"


def test_a_hold_lifted_while_the_log_is_read_counts_until_then(world: World) -> None:
    world.said(NAME)
    held = world.privacy().hold("all", reason="inquiry", actor="approver")[0]
    lift = once(
        lambda: world.privacy().lift(str(held.body["hold_id"]), reason="over", actor="operator")
    )
    with pytest.raises(ErasureRefusedError, match="keeps it"):
        world.privacy(on_read=lift).erase(NAME, basis="law", actor="operator")
    done = world.privacy().erase(NAME, basis="law", actor="operator")
    assert (done.records, done.keys_destroyed) == (1, 1)


def test_what_is_said_while_the_log_is_read_is_counted_and_goes_too(world: World) -> None:
    first = world.said(NAME)
    late: list[int] = []
    privacy = world.privacy(on_read=once(lambda: late.append(world.said(NAME))))
    done = privacy.erase(NAME, basis="law", actor="operator")
    assert (done.records, done.fields, done.rows) == (2, 2, 2)
    erased = next(world.reader.records(kinds=(Kind.SUBJECT_ERASED,)))
    assert erased.body["fields"] == [[first, 0], [late[0], 0]]


def test_what_is_said_while_the_log_is_read_and_must_be_kept_refuses(world: World) -> None:
    world.said(NAME)
    privacy = world.privacy(on_read=once(lambda: world.said(NAME, retention="order")))
    with pytest.raises(ErasureRefusedError, match="must be kept until"):
        privacy.erase(NAME, basis="law", actor="operator")
    assert world.rows() == 2


def test_a_record_added_meanwhile_counts_only_as_it_was_hashed(world: World) -> None:
    world.said(NAME)
    disarm(world.dsn)

    def add() -> None:
        seq = world.said(NAME, retention="order")
        with connect(world.dsn) as admin:
            admin.execute(
                "UPDATE ledger.entry SET payload = convert_to(replace(convert_from(payload,"
                " 'UTF8'), 'order', 'none'), 'UTF8') WHERE seq = %s",
                (seq,),
            )

    with pytest.raises(ErasureRefusedError, match="is not what its hash says"):
        world.privacy(on_read=once(add)).erase(NAME, basis="law", actor="operator")


def test_a_value_put_meanwhile_beside_a_record_that_was_read_refuses(world: World) -> None:
    world.said(NAME)
    other = world.said(OTHER)

    def move() -> None:
        disarm(world.dsn)
        with connect(world.dsn) as admin:
            admin.execute(
                "UPDATE ledger.disclosure SET subject = %s WHERE seq = %s",
                (world.vault.subject(NAME), other),
            )

    with pytest.raises(ErasureRefusedError, match=f"record {other}, which is not there"):
        world.privacy(on_read=once(move)).erase(NAME, basis="law", actor="operator")


def test_reading_in_two_parts_finds_what_reading_at_once_finds(world: World) -> None:
    """Wherever the log is cut, an inquiry that goes on knows what one from the start knows."""
    subjects = [world.vault.subject(NAME), world.vault.subject(OTHER)]
    for n, name in enumerate((NAME, OTHER, NAME)):
        world.ledger.append(about(world.vault.subject(name), name), note(str(n)))
        world.privacy().hold("all", reason=f"inquiry {n}", actor="approver")

    class Cut:
        """The log's values; the first time as if it ended earlier."""

        def __init__(self, at: int) -> None:
            self._whole = world.disclosures()
            self._ends = [at]

        def size(self) -> int:
            return self._ends.pop() if self._ends else self._whole.size()

        def places_of(self, asked: Collection[str]) -> frozenset[tuple[str, int, int]]:
            return frozenset(
                one
                for one in self._whole.places_of(asked)
                if not self._ends or one[1] < self._ends[0]
            )

        def records(self, asked: Collection[str], among: range) -> Iterator[Record]:
            return self._whole.records(asked, among)

    whole = Inquiry(world.disclosures()).findings(subjects)
    assert [len(values) for values in whole.by_subject.values()] == [2, 1]
    assert len(whole.holds) == 3
    for at in range(size(world) + 1):
        inquiry = Inquiry(Cut(at))
        inquiry.findings(subjects)
        assert inquiry.findings(subjects) == whole


def begin(world: World, run: str, **years: JSON) -> None:
    """Put a run on record that keeps values for so many years."""
    draft = started()
    payload = {**draft.payload, **({"settings": {YEARS_FIELD: years}} if years else {})}
    world.ledger.append(replace(draft, payload=payload, idem_key=f"run_started:{run}"))


def test_fewer_years_by_a_setting_do_not_free_what_was_recorded_before(world: World) -> None:
    begin(world, "long", order=9, none=2)
    kept = world.said(NAME, retention="order", stream="decision/d1")
    begin(world, "short", order=0)
    world.said(OTHER, retention="order", stream="decision/d2")
    world.now_us = kept_until_us(TIME_US, "order", {"order": 9}) - 1
    for _ in range(2):
        with pytest.raises(ErasureRefusedError, match=rf"record {kept} \(order\) must be kept"):
            world.privacy().erase(NAME, basis="law", actor="operator")
    world.privacy().erase(OTHER, basis="law", actor="operator")  # the settings' six years are over
    world.now_us += 1
    done = world.privacy().erase(NAME, basis="law", actor="operator")
    expired, erased = (world.reader.record(seq) for seq in (done.seqs[-1] - 1, done.seqs[-1]))
    assert expired is not None
    assert expired.kind is Kind.RETENTION_EXPIRED
    assert expired.body["kept_until_us"] == world.now_us
    assert erased is not None
    assert erased.body["retention_years"] == {"order": 9}


def test_a_class_that_a_run_keeps_for_no_years_is_not_kept_as_long_as_others(world: World) -> None:
    begin(world, "plain", communication=5, none=0, order=6)
    world.said(NAME, retention="none")
    world.privacy().erase(NAME, basis="law", actor="operator")


def test_a_run_that_says_nothing_of_years_leaves_it_to_the_settings(world: World) -> None:
    begin(world, "silent")
    begin(world, "odd", order="many", none=True)
    world.said(NAME)
    world.privacy().erase(NAME, basis="law", actor="operator")
