"""A header rebuilt from columns is the ledger's own, byte for byte, for any text and number."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from audit.canonical import INT_MAX
from audit.fsck_chunk import Chunk
from audit.fsck_fast import copy_fields, copy_line, judge_chunk, rebuilt_header
from audit.merkle import leaf_hash, root_of
from audit.record import header_bytes

LOG = 'log.example/"ü\\'
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
PLAIN = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), max_size=12
)
NUMBER = st.integers(0, INT_MAX)
HASH = st.binary(min_size=32, max_size=32)


def rows(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Rows as the database holds them; the kind stays a word, or no verifier takes it."""
    return st.fixed_dictionaries(
        {
            **dict.fromkeys(("stream", "actor", "idem_key"), text),
            **dict.fromkeys(("seq", "stream_seq", "version", "recorded_at_us"), NUMBER),
            **dict.fromkeys(("prev", "payload_digest"), HASH),
            "kind": st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1),
            "commitments": st.lists(HASH, max_size=3).map(b"".join),
        }
    )


def header_of(row: dict[str, Any]) -> bytes:
    """Return the header as the sequencer makes it."""
    joined = row["commitments"].hex()
    return header_bytes(
        {
            **{name: row[name] for name in ("actor", "idem_key", "kind", "recorded_at_us", "seq")},
            **{name: row[name] for name in ("stream", "stream_seq", "version")},
            "commitments": [joined[i : i + 64] for i in range(0, len(joined), 64)],
            "log": LOG,
            "payload_sha256": row["payload_digest"].hex(),
            "prev": row["prev"].hex(),
        }
    )


@given(rows(PLAIN))
def test_the_fast_header_is_the_ledgers_own(row: dict[str, Any]) -> None:
    fields = copy_line({**row, "leaf": bytes(32)}).split("\t")
    assert rebuilt_header(fields, 'log.example/\\"ü\\\\') == header_of(row)


@given(rows(TEXT))
@example(
    {
        **dict.fromkeys(("stream", "actor", "idem_key"), '\\N\t\n\r\b\f\v\x01\x7f"\\x41\u2028😀'),
        **dict.fromkeys(("seq", "stream_seq", "version", "recorded_at_us"), INT_MAX),
        **dict.fromkeys(("prev", "payload_digest"), bytes(32)),
        "kind": "operator_note",
        "commitments": b"",
    }
)
def test_any_row_is_judged_by_its_own_header_and_by_no_other(row: dict[str, Any]) -> None:
    row = {**row, "seq": 0, "leaf": leaf_hash(header_of({**row, "seq": 0}))}
    line = copy_line(row)
    assert copy_fields(line)[1] == row["stream"]
    chunk = Chunk(first=0)
    levels = judge_chunk(chunk, line.encode() + b"\n", LOG, {})
    assert (chunk.findings, chunk.jumps, levels) == ([], [], [row["leaf"]])
    for name in ("stream", "actor", "idem_key", "kind"):
        chunk = Chunk(first=0)
        judge_chunk(chunk, copy_line({**row, name: row[name] + "x"}).encode(), LOG, {})
        assert chunk.findings[0][0] == 1, name


@given(st.lists(HASH, min_size=1, max_size=40), st.data())
def test_a_chunks_tree_is_the_naive_one_at_every_size(
    leaves: list[bytes], data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, len(leaves)))
    row = {
        **dict.fromkeys(("stream", "kind", "actor", "idem_key"), "a"),
        **dict.fromkeys(("stream_seq", "version", "recorded_at_us"), 1),
        **dict.fromkeys(("prev", "payload_digest"), bytes(32)),
        "commitments": b"",
    }
    lines = [copy_line({**row, "seq": seq, "leaf": leaf}) for seq, leaf in enumerate(leaves)]
    chunk = Chunk(first=0, width=64)
    judge_chunk(chunk, "\n".join(lines).encode(), LOG, {}, [(size, "note")])
    assert bytes.fromhex(chunk.marks[0].folded) == root_of(leaves[:size])
    assert Chunk.from_json(chunk.to_json()).to_json() == chunk.to_json()
