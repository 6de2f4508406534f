"""What one batch does to a position: order, guards, idempotency, time; and what it leaves alone."""

import pytest

from audit.errors import AuditError, GuardMovedError, IdempotencyConflictError
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.sequencer.batch import Builder, LogPosition
from audit.sequencer.lanes import Append, Guard, MapHeads, Resolve
from tests.doubles.audit_log import TIME_US, append, empty_position, note, opening, refused

KILL = Draft(
    stream="control",
    kind=Kind.KILL_PRESSED,
    payload={"kill_epoch": 1, "actor_name": "a", "reason": "r", "confirmed": True},
    actor="kill word",
    idem_key="kill:1",
)


def commit(
    position: LogPosition,
    *requests: Append | MapHeads | Resolve,
    existing: tuple[Record, ...] = (),
    now_us: int = TIME_US,
) -> tuple[LogPosition, Builder]:
    held = {(record.stream, record.idem_key): record for record in existing}
    builder = Builder(position, held, now_us)
    for request in requests:
        builder.add(request)
    builder.finish()
    return builder.advance(), builder


def errors_of(builder: Builder) -> list[type[AuditError]]:
    return [type(error) for _, error in builder.batch.refused]


def test_records_are_dense_in_the_log_and_in_their_stream() -> None:
    _, builder = commit(
        empty_position(),
        append(note("a"), refused("d1")),
        append(note("b"), opening("d1", "ab" * 32)),
    )
    records = [row.record for row in builder.batch.rows]
    assert [record.seq for record in records] == [0, 1, 2, 3]
    assert [record.stream_seq for record in records] == [0, 0, 1, 1]
    assert [record.prev for record in records[2:]] == [records[0].leaf, records[1].leaf]


@pytest.mark.parametrize("mover", [refused("d1", "acc"), KILL], ids=["same account", "kill"])
def test_a_guard_refuses_when_its_section_moved_after_the_basis(mover: Draft) -> None:
    position, _ = commit(empty_position(), append(note("a")))
    position, builder = commit(
        position,
        append(mover),
        append(note("late"), guard=Guard(section="acc", basis_seq=0)),
        append(note("fresh"), guard=Guard(section="acc", basis_seq=1)),
    )
    assert errors_of(builder) == [GuardMovedError]
    assert [row.record.seq for row in builder.batch.rows] == [1, 2]


def test_a_guard_stands_when_another_account_or_nothing_that_counts_moved() -> None:
    _, builder = commit(
        empty_position(),
        append(refused("d1", "other"), note("x")),
        append(note("y"), guard=Guard(section="acc", basis_seq=-1)),
    )
    assert errors_of(builder) == []


def test_a_guard_remembers_across_batches() -> None:
    position, _ = commit(empty_position(), append(refused("d1")))
    position, _ = commit(position, append(note("between")))
    _, builder = commit(position, append(note("late"), guard=Guard(section="acc", basis_seq=-1)))
    assert errors_of(builder) == [GuardMovedError]


def test_the_same_draft_again_is_the_same_record() -> None:
    position, first = commit(empty_position(), append(note("a")))
    (record,) = first.batch.appended[0][1]
    after, again = commit(position, append(note("a")), existing=(record,))
    assert again.batch.appended[0][1] == (record,)
    assert again.batch.rows == []
    assert after.size == 1


def test_the_same_draft_twice_in_a_batch_is_one_record() -> None:
    _, builder = commit(empty_position(), append(note("a")), append(note("a")))
    assert len(builder.batch.rows) == 1
    assert builder.batch.appended[0][1] == builder.batch.appended[1][1]


def test_a_key_with_other_content_is_a_conflict_and_leaves_the_others_alone() -> None:
    _, builder = commit(
        empty_position(),
        append(note("a", key="k")),
        append(note("b", key="k")),
        append(note("c")),
    )
    assert errors_of(builder) == [IdempotencyConflictError]
    assert len(builder.batch.rows) == 2


def test_a_retry_is_answered_although_its_guard_moved_in_between() -> None:
    position, first = commit(empty_position(), append(refused("d1")))
    (record,) = first.batch.appended[0][1]
    _, again = commit(
        position,
        append(refused("d1"), guard=Guard(section="acc", basis_seq=-1)),
        existing=(record,),
    )
    assert again.batch.appended[0][1] == (record,)


def test_a_request_is_all_or_nothing() -> None:
    position, first = commit(empty_position(), append(note("a", key="k")))
    (record,) = first.batch.appended[0][1]
    _, builder = commit(position, append(note("new"), note("b", key="k")), existing=(record,))
    assert builder.batch.rows == []


def test_a_batch_that_did_not_commit_leaves_no_trace() -> None:
    position, _ = commit(empty_position(), append(note("a")))
    heads, changed, sections = dict(position.heads), dict(position.changed), dict(position.sections)
    lost = Builder(position, {}, TIME_US)
    lost.add(append(refused("d1"), KILL))
    lost.finish()
    assert (position.heads, position.changed, position.sections) == (heads, changed, sections)
    assert (position.size, position.firm_seq) == (1, -1)


def test_a_clock_that_goes_back_does_not_reorder_records() -> None:
    position, _ = commit(empty_position(), append(note("a")), now_us=TIME_US)
    position, builder = commit(position, append(note("b")), now_us=TIME_US - 5_000_000)
    assert builder.batch.rows[0].record.recorded_at_us == TIME_US
    _, builder = commit(position, append(note("c")), now_us=TIME_US + 1)
    assert builder.batch.rows[0].record.recorded_at_us == TIME_US + 1


def test_a_map_names_what_changed_since_the_last_one_and_comes_last() -> None:
    position, builder = commit(
        empty_position(), append(note("a")), MapHeads(), append(refused("d1"))
    )
    last = builder.batch.rows[-1].record
    assert last.kind is Kind.STREAM_HEADS
    assert [row[0] for row in last.body["heads"]] == ["control", "decision/d1"]
    position, builder = commit(position, append(refused("d2")), MapHeads())
    names = [row[0] for row in builder.batch.rows[-1].record.body["heads"]]
    assert names == ["control", "decision/d2"]


def test_a_question_is_answered_in_its_order() -> None:
    before = Resolve(stream="control", idem_key="note:a")
    after = Resolve(stream="control", idem_key="note:a")
    _, builder = commit(empty_position(), before, append(note("a")), after)
    assert [record is None for _, record in builder.batch.resolved] == [True, False]
