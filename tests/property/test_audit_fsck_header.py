"""A header rebuilt from columns is the ledger's own, byte for byte, for any text and number."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from audit.records.canonical import INT_MAX
from audit.records.record import header_bytes
from audit.tlog.merkle import LEAF_PREFIX, leaf_hash, root_of
from audit.upkeep.fsck.chunk import Chunk
from audit.upkeep.fsck.columns import COLUMNS, HEX_COLUMNS, Columns, is_odd, read_apart, read_joined
from audit.upkeep.fsck.headers import judge_chunk, rebuilt_headers

LOG = 'log.example/"ü\\%b'
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


def values_of(found: list[dict[str, Any]]) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return what the server sends for rows: joined, with the two counts, and apart."""
    joined: list[bytes | None] = []
    apart: list[bytes | None] = []
    for name in COLUMNS:
        column = [row[name] for row in found]
        if name in HEX_COLUMNS:
            between = b"\n" if name == "commitments" else b""
            values = [one.hex().encode() if between else one for one in column]
            joined.append(between.join(values))
            apart.append("\n".join(one.hex() for one in column).encode())
        else:
            joined.append("\n".join(map(str, column)).encode())
            apart.append("\n".join(str(one).encode().hex() for one in column).encode())
    count = str(len(found)).encode()
    return [*joined, count, count], apart


def columns_of(*found: dict[str, Any]) -> Columns:
    """Return rows as fsck reads them; both of its ways agree where the first can be gone."""
    joined, apart = (values for values in values_of(list(found)))
    careful = read_apart(apart)
    plain = read_joined(joined)
    if plain is None:
        assert any("\n" in str(value) for row in found for value in row.values())
        return careful
    assert [list(texts) for texts in plain.texts] == [list(texts) for texts in careful.texts]
    assert plain.odd == any(is_odd(text) for row in plain.rows() for text in row)
    return plain


@given(rows(PLAIN))
def test_the_fast_header_is_the_ledgers_own(row: dict[str, Any]) -> None:
    columns = columns_of({**row, "leaf": bytes(32)})
    assert rebuilt_headers(columns, LOG) == [LEAF_PREFIX + header_of(row)]


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
    columns = columns_of(row)
    assert columns.texts[1] == [row["stream"].encode()]
    chunk = Chunk(first=0)
    levels = judge_chunk(chunk, [columns], LOG, {})
    assert (chunk.findings, chunk.jumps, levels) == ([], [], [row["leaf"]])
    for name in ("stream", "actor", "idem_key", "kind"):
        chunk = Chunk(first=0)
        judge_chunk(chunk, [columns_of({**row, name: row[name] + "x"})], LOG, {})
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
    made = [{**row, "seq": seq, "leaf": leaf} for seq, leaf in enumerate(leaves)]
    cut = data.draw(st.integers(0, len(made)))
    blocks = [columns_of(*part) for part in (made[:cut], made[cut:]) if part]
    chunk = Chunk(first=0, width=64)
    judge_chunk(chunk, blocks, LOG, {}, [(size, "note")])
    assert bytes.fromhex(chunk.marks[0].folded) == root_of(leaves[:size])
    assert Chunk.from_json(chunk.to_json()).to_json() == chunk.to_json()
