"""The fast ways of the append path say what the slow ones say, whatever the texts and numbers."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from audit.records.canonical import INT_MAX
from audit.records.chain import StreamHead
from audit.records.kinds import KINDS
from audit.records.record import Draft, header_bytes, make_record, prepare
from audit.records.row import Row
from audit.sequencer.batch import Builder
from audit.store.wire import COLUMNS, array_parameters, copy_stream
from audit.tlog.merkle import Frontier, push, root_of
from tests.doubles.audit_log import append, empty_position, note, refused

NAMES = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), min_size=1)
TEXTS = NAMES.map(lambda text: text[:200])
STREAM_NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=50)
HASHES = st.binary(min_size=32, max_size=32)
NUMBERS = st.integers(0, INT_MAX)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    control = draw(st.booleans())
    commitments = tuple(item.hex() for item in draw(st.lists(HASHES, max_size=3)))
    base = note("x") if control else refused(draw(STREAM_NAMES), draw(TEXTS))
    return Draft(
        stream=base.stream,
        kind=base.kind,
        payload={"text": draw(TEXTS)} if control else base.payload,
        actor=draw(TEXTS.filter(lambda text: text != "ledger")),
        idem_key=draw(TEXTS),
        commitments=commitments,
    )


@given(drafts(), TEXTS, NUMBERS, NUMBERS, NUMBERS, HASHES)
def test_a_header_put_together_is_the_canonical_one(
    draft: Draft, log: str, seq: int, stream_seq: int, now_us: int, prev: bytes
) -> None:
    prepared = prepare(draft)
    record = make_record(
        prepared, log=log, seq=seq, stream_seq=stream_seq, prev=prev, recorded_at_us=now_us
    )
    assert record.header == header_bytes(
        {
            "actor": draft.actor,
            "commitments": list(draft.commitments),
            "idem_key": draft.idem_key,
            "kind": draft.kind.value,
            "log": log,
            "payload_sha256": prepared.payload_digest.hex(),
            "prev": prev.hex(),
            "recorded_at_us": now_us,
            "seq": seq,
            "stream": draft.stream,
            "stream_seq": stream_seq,
            "version": KINDS[draft.kind].version,
        }
    )


def values(row: Row) -> list[object]:
    record = row.record
    named = {name: getattr(record, name, None) for name in COLUMNS}
    named |= {"kind": record.kind.value, "account": row.account, "commitments": row.commitments}
    return list(named.values())


def parsed(kind: str, field: bytes | None) -> object:
    if field is None or kind == "bytea":
        return field
    if kind == "text":
        return field.decode()
    return struct.unpack(">q" if kind == "bigint" else ">i", field)[0]


def fields(data: bytes, at: int, count: int) -> tuple[list[bytes | None], int]:
    found: list[bytes | None] = []
    for _ in range(count):
        (length,) = struct.unpack_from(">i", data, at)
        at += 4
        found.append(None if length < 0 else data[at : at + length])
        at += max(0, length)
    return found, at


@given(st.lists(drafts(), min_size=1, max_size=8, unique_by=lambda d: (d.stream, d.idem_key)))
def test_both_wire_forms_hold_every_value_of_every_row(many: list[Draft]) -> None:
    builder = Builder(empty_position(), {}, 1)
    for draft in many:
        builder.add(append(draft))
    rows = builder.finish().rows
    assert len(rows) == len(many)
    expected = [values(row) for row in rows]
    kinds = list(COLUMNS.values())

    arrays = []
    for data in array_parameters(rows):
        dimensions, nulls, _, length, lower = struct.unpack_from(">5i", data)
        column, end = fields(data, 20, len(rows))
        assert (dimensions, nulls, length, lower) == (1, int(None in column), len(rows), 1)
        assert end == len(data)
        arrays.append(column)
    as_arrays = [
        [parsed(kind, field) for kind, field in zip(kinds, row, strict=True)]
        for row in zip(*arrays, strict=True)
    ]
    assert as_arrays == expected

    data, at = copy_stream(rows), 19
    assert data[:19] == b"PGCOPY\n\xff\r\n\0" + bytes(8)
    for row in expected:
        assert struct.unpack_from(">h", data, at) == (len(COLUMNS),)
        found, at = fields(data, at + 2, len(COLUMNS))
        assert [parsed(kind, field) for kind, field in zip(kinds, found, strict=True)] == row
    assert data[at:] == b"\xff\xff"


@given(st.lists(HASHES, max_size=40), st.integers(0, 40))
def test_perfect_subtrees_pushed_whole_lead_to_the_same_frontier(
    leaves: list[bytes], cut: int
) -> None:
    one_by_one = Frontier()
    for leaf in leaves:
        one_by_one = one_by_one.append(leaf)
    nodes: list[bytes] = []
    size = 0
    for level in range(5, -1, -1):
        width = 1 << level
        while size % width == 0 and size + width <= min(cut, len(leaves)):
            size = push(nodes, size, root_of(leaves[size : size + width]), level)
    for leaf in leaves[size:]:
        size = push(nodes, size, leaf)
    assert Frontier(size=size, nodes=tuple(nodes)) == one_by_one


@given(st.lists(st.lists(drafts(), min_size=1, max_size=3), min_size=2, max_size=5))
def test_batches_built_ahead_say_what_batches_built_in_turn_say(many: list[list[Draft]]) -> None:
    """Each second batch is built while the one before it is not yet the position."""
    turn, ahead = empty_position(), empty_position()
    in_turn, at_once = [], []
    placed: dict[tuple[str, str], object] = {}
    flying: Builder | None = None
    for number, batch in enumerate(many):
        fresh = [d for d in batch if placed.setdefault((d.stream, d.idem_key), d) is d]
        slow = Builder(turn, {}, number)
        fast = Builder(ahead, None, number, flying)
        for draft in fresh:
            slow.add(append(draft))
            fast.add(append(draft))
        in_turn += [row.record for row in slow.finish().rows]
        at_once += [row.record for row in fast.finish().rows]
        turn = slow.advance()
        if flying is not None:
            ahead = flying.advance()
            fast.rebase(ahead)
        flying = fast
    assert flying is not None
    ahead = flying.advance()
    assert at_once == in_turn
    assert ahead == turn
    assert all(isinstance(head, StreamHead) for head in ahead.heads.values())
