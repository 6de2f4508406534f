"""Drafts, kinds and leaves: what is refused, and the form that is frozen for ever."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest

from audit.errors import DraftError
from audit.records.canonical import JSON, canonical, parse
from audit.records.chain import HEADS_PER_RECORD_MAX, StreamHead, heads_drafts
from audit.records.kinds import KINDS, Kind, StreamClass
from audit.records.record import ENTRY_BYTES_MAX, ZERO_HASH, Draft, Record, make_record, prepare
from audit.verifier.verify import HEADER_FIELDS, leaf_hash, read_record
from tests.doubles.audit_log import ORIGIN, TIME_US, note, opening


def record_of(draft: Draft) -> Record:
    return make_record(
        prepare(draft), log=ORIGIN, seq=7, stream_seq=3, prev=ZERO_HASH, recorded_at_us=TIME_US
    )


def test_every_kind_has_one_row_in_the_order_of_the_names() -> None:
    assert list(KINDS) == list(Kind)


def test_a_kind_that_moves_a_section_names_an_account_or_is_firm_wide() -> None:
    for spec in KINDS.values():
        if spec.section:
            assert spec.firm_wide or "account" in spec.fields, spec.kind


def test_the_leaf_is_frozen(golden: Callable[[str, bytes], None]) -> None:
    drafts = [
        note("line"),
        opening("d1", "ab" * 32),
        replace(note("söme"), actor="person:Zoë", commitments=("cd" * 32,)),
    ]
    lines = [
        line
        for record in map(record_of, drafts)
        for line in (record.header, record.payload, record.leaf.hex().encode())
    ]
    golden("audit_leaf.txt", b"\n".join(lines) + b"\n")


def test_the_leaf_is_sha256_of_zero_and_header() -> None:
    record = record_of(note("x"))
    assert record.leaf == sha256(b"\x00" + record.header).digest() == leaf_hash(record.header)
    assert tuple(parse(record.header)) == tuple(HEADER_FIELDS)  # type: ignore[arg-type]  # an object


def test_the_header_binds_the_payload() -> None:
    record = record_of(note("x"))
    head, body = read_record(record.header, record.payload)
    assert head["payload_sha256"] == sha256(canonical(body)).hexdigest()
    assert body == record.body == {"text": "x"}


@pytest.mark.parametrize(
    "change",
    [
        {"stream": "decision/d1"},
        {"stream": ""},
        {"stream": "control "},
        {"stream": "x" * 300},
        {"actor": ""},
        {"actor": "ledger"},
        {"actor": "a\x00b"},
        {"actor": "\ud800"},
        {"idem_key": ""},
        {"idem_key": "k" * 201},
        {"idem_key": "line\nbreak"},
        {"commitments": ("not hex",)},
        {"commitments": ("ab" * 32,) * 65},
        {"payload": {}},
        {"payload": {"text": "x", "unknown": 1}},
        {"payload": {"text": 1.5}},
        {"payload": {"text": "x" * ENTRY_BYTES_MAX}},
        {"payload": {"text": "x", "account": 5}},
        {"kind": Kind.STREAM_HEADS, "payload": {"heads": [], "part": 0, "parts": 1}},
    ],
    ids=repr,
)
def test_a_draft_that_its_kind_does_not_allow_is_refused(change: dict[str, object]) -> None:
    prepare(note("good"))
    with pytest.raises(DraftError):
        prepare(replace(note("good"), **change))  # type: ignore[arg-type]  # bad on purpose


@pytest.mark.parametrize("kind", list(Kind))
def test_a_kind_lives_in_its_own_sort_of_stream_only(kind: Kind) -> None:
    spec = KINDS[kind]
    payload: dict[str, JSON] = {
        name: None if name.endswith("_blob") else "x" for name in spec.fields
    }
    for sort in StreamClass:
        stream = sort.value if sort is StreamClass.CONTROL else f"{sort}name"
        actor = "ledger" if spec.ledger_only else "gateway"
        draft = Draft(stream=stream, kind=kind, payload=payload, actor=actor, idem_key="k")
        if sort is spec.stream:
            assert prepare(draft).draft is draft
        else:
            with pytest.raises(DraftError, match="lives in"):
                prepare(draft)


@pytest.mark.parametrize("blob", ["short", "AB" * 32, 5])
def test_a_blob_field_that_is_no_digest_is_refused(blob: JSON) -> None:
    draft = opening("d1", "ab" * 32)
    with pytest.raises(DraftError, match="wish_blob"):
        prepare(replace(draft, payload={**draft.payload, "request": {"wish_blob": blob}}))


def test_blobs_are_found_at_any_depth() -> None:
    draft = replace(note("x"), payload={"text": "x", "detail": [{"deep_blob": "ab" * 32}]})
    assert prepare(draft).blobs == ("ab" * 32,)


def test_a_stream_head_map_of_any_size_fits_its_entries() -> None:
    heads = {
        f"decision/{number:0191d}": StreamHead(stream_seq=2**53 - 1, leaf=b"\xff" * 32)
        for number in range(2 * HEADS_PER_RECORD_MAX + 1)
    }
    drafts = list(heads_drafts(2**53 - 1, heads))
    payloads = [prepare(draft).payload for draft in drafts]
    assert [draft.payload["part"] for draft in drafts] == [0, 1, 2]
    assert sum(payload.count(b"decision/") for payload in payloads) == len(heads)
    assert max(map(len, payloads)) <= ENTRY_BYTES_MAX
