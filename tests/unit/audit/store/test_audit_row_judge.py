"""Which rows count: accepted ones too are left out where two officers have disavowed them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import structs

from audit.errors import RowRefusedError
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.records.row_key import Accepted, RowKey, disavowal, mac_of
from audit.store.row_judge import RowJudge
from audit.store.tables import RECORD_COLUMNS
from audit.tlog.merkle import Frontier, leaf_hash
from tests.doubles.audit_log import note
from tests.doubles.memory_ledger import MemoryLedger

LOG = "memory.test"
KEYS = {role: Ed25519PrivateKey.from_private_bytes(role.encode().ljust(32)) for role in ("r", "c")}
OFFICERS = {role: key.public_key().public_bytes_raw() for role, key in KEYS.items()}
KEY = RowKey(LOG, mac_of(b"k"), Accepted(), OFFICERS)


class Table:
    """Rows of a log as a database gives them, some with a MAC."""

    def __init__(self) -> None:
        self._ledger = MemoryLedger()
        self.macs: dict[int, bytes] = {}

    def add(self, draft: Draft, *, ours: bool) -> Record:
        (record,) = self._ledger.append(draft)
        if ours:
            self.macs[record.seq] = KEY.mac(record.leaf)
        return record

    def disavow(self, of: Record, *, ours: bool = True, signed: bool = True) -> Record:
        said = disavowal(LOG, of.seq, of.leaf)
        signatures: dict[str, JSON] = {role: key.sign(said).hex() for role, key in KEYS.items()}
        return self.add(
            Draft(
                stream="control",
                kind=Kind.RECORD_DISAVOWED,
                payload={
                    "seq": of.seq,
                    "leaf": of.leaf.hex(),
                    "of_stream": of.stream,
                    "reason": "a test",
                    "signatures": signatures if signed else {},
                },
                actor="cli",
                idem_key=f"disavowed:{of.seq}:{of.leaf.hex()}",
            ),
            ours=ours,
        )

    def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        found = list(self._ledger.records())
        if "kind" in values:
            found = [one for one in found if one.kind is Kind.RECORD_DISAVOWED]
            return [(*row_of(one), self.macs.get(one.seq)) for one in found]
        assert "SELECT leaf" in query
        first, stop = int(str(values["first"])), int(str(values["stop"]))
        return [(one.leaf,) for one in found if first <= one.seq < stop]

    def spoil(self, record: Record, payload: bytes) -> None:
        """Give a row another payload, with digest, header and leaf to match."""
        digest = sha256(payload).digest()
        header = record.header.replace(record.payload_digest.hex().encode(), digest.hex().encode())
        self._ledger.forged = structs.replace(
            record,
            payload=payload,
            payload_digest=digest,
            header=header,
            leaf=leaf_hash(header),
        )

    def restored(self) -> RowKey:
        """Take the MACs away, and accept all there is: as a backup and its restore do."""
        self.macs.clear()
        tree = Frontier()
        for one in self._ledger.records():
            tree = tree.append(one.leaf)
        return replace(KEY, accepted=Accepted(size=tree.size, root=tree.root()))


def row_of(record: Record) -> tuple[Any, ...]:
    return tuple(getattr(record, column) for column in RECORD_COLUMNS)


def judged(judge: RowJudge, table: Table, record: Record) -> bool:
    return judge.counts(row_of(record), table.macs.get(record.seq))


def test_a_disavowed_row_stays_out_when_a_restore_made_all_rows_count() -> None:
    table = Table()
    own = table.add(note("own"), ours=True)
    stranger = table.add(note("forged"), ours=False)
    by = table.disavow(stranger)
    judge = RowJudge(KEY, table.rows)
    assert [judged(judge, table, one) for one in (own, stranger, by)] == [True, False, True]
    judge = RowJudge(table.restored(), table.rows)
    assert [judged(judge, table, one) for one in (own, stranger, by)] == [True, False, True]


def test_no_forged_disavowal_takes_a_row_away_once_all_rows_count() -> None:
    """One that was disavowed itself, one that nobody signed, and one that says nothing."""
    table = Table()
    own = table.add(note("own"), ours=True)
    unsigned = table.disavow(own, ours=False, signed=False)
    odd = Draft(
        stream="control",
        kind=Kind.RECORD_DISAVOWED,
        payload={"seq": None, "leaf": 1, "of_stream": "", "reason": "", "signatures": None},
        actor="cli",
        idem_key="disavowed:odd",
    )
    strange = table.add(odd, ours=False)
    for one in (unsigned, strange):
        table.disavow(one)
    judge = RowJudge(table.restored(), table.rows)
    assert [judged(judge, table, one) for one in (own, unsigned, strange)] == [True, False, False]


@pytest.mark.parametrize("payload", [b"no JSON", b'{ "seq":0}', b"[]"])
def test_a_disavowal_that_nobody_can_parse_stops_no_read_after_a_restore(payload: bytes) -> None:
    table = Table()
    own = table.add(note("own"), ours=True)
    table.spoil(table.disavow(own, ours=False, signed=False), payload)
    assert judged(RowJudge(table.restored(), table.rows), table, own)


def test_a_row_with_its_mac_counts_whoever_disavows_it() -> None:
    table = Table()
    own = table.add(note("own"), ours=True)
    table.disavow(own)
    assert judged(RowJudge(KEY, table.rows), table, own)


def test_a_disavowal_counts_only_within_what_is_judged() -> None:
    """A backup that ends before the disavowal would bring the row back without it."""
    table = Table()
    stranger = table.add(note("forged"), ours=False)
    by = table.disavow(stranger)
    assert not judged(RowJudge(KEY, table.rows, below=by.seq + 1), table, stranger)
    with pytest.raises(RowRefusedError, match=f"record {stranger.seq} "):
        judged(RowJudge(KEY, table.rows, below=by.seq), table, stranger)
