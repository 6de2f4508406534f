"""A witness is down for longer than any fixed number of checkpoints: what is shown and proven."""

import random
from collections.abc import Iterator

import pytest
from typing_extensions import override

from audit.errors import TrustPolicyError
from audit.evidence.bundle import build_bundle
from audit.evidence.receipt import build_receipt, prove_record
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import TupleConnection, connect
from audit.tlog.checkpoint import Checkpoint, checkpoint_text
from audit.tlog.cosignature import cosign
from audit.tlog.note import Note, parse_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.treehead import SIZE_MAX
from audit.verifier import verify
from audit.verifier.verify import INCOMPLETE, OK, Outside
from audit.witnesses.quorate import first_quorate, newest_quorate
from gateway.evidence.publication.published import LogFiles
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US, note, opening, sealed, started
from tests.doubles.cosigners import WITNESSES, Cosigner

pytestmark = pytest.mark.postgres
A, B = WITNESSES[:2]
BOTH = f"witness a {A.vkey}\nwitness b {B.vkey}\ngroup both all a b\nquorum both\n"
POLICY = QuorumPolicy.parse(BOTH.encode())
OUTSIDE = Outside(vkeys=[str(SIGNER.vkey)], policy=BOTH.encode())
ALONE = 104
"""Checkpoints that only one witness cosigned."""
LISTED = "".join(f"witness {n} {w.vkey}\n" for n, w in zip("abcd", WITNESSES, strict=True))
QUORUMS = (
    "quorum b\n",
    "group g any a b c d\nquorum g\n",
    "group g 2 a b c\nquorum g\n",
    "group g all a b c d\nquorum a\n",
    "group x any a b\ngroup y any c d\ngroup g all x y\nquorum g\n",
    "group x all a b\ngroup g 2 x c d\nquorum g\n",
)
Rows = tuple[LedgerReader, dict[str, set[int]]]
INSERT = "INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, %s)"


class CountingReader(LedgerReader):
    """Counts the checkpoints that are read to be judged."""

    read = 0

    @override
    def cosigned_note(self, checkpoint: Checkpoint) -> bytes:
        self.read += 1
        return super().cosigned_note(checkpoint)


def signed(ledger: Ledger, admin: TupleConnection, *witnesses: Cosigner) -> Checkpoint:
    """Append a record, make its checkpoint, and store what witnesses say of it."""
    size = ledger.last_checkpoint.size if ledger.last_checkpoint else 0
    ledger.append(note(f"after {size}"))
    made = ledger.checkpoint_now()
    assert made is not None
    for witness in witnesses:
        line = cosign(parse_note(made.note).text, witness, TIME_US // 1_000_000)
        row = (made.size, line.name, line.key_id, str(line).encode(), TIME_US)
        admin.execute(INSERT, row)
    return made


def verdicts(reader: LedgerReader, seq: int) -> list[int]:
    """Return the exit codes of a decision's receipt, of a record's proof and of the bundle."""
    proofs = (build_receipt(reader, "d", POLICY), prove_record(reader, seq, POLICY))
    codes = [verify.verify_proof(proof, OUTSIDE).exit_code for proof in proofs]
    bundle = build_bundle(reader, "d", POLICY)
    return [*codes, verify.verify_bundle(bundle, outside=OUTSIDE).exit_code]


def is_quorum(policy: QuorumPolicy, cosigned: dict[str, set[int]], size: int) -> bool:
    """Judge real lines of those who are said to have cosigned a size."""
    text = checkpoint_text(ORIGIN, size, bytes(32))
    signers = [w for n, w in zip("abcd", WITNESSES, strict=True) if size in cosigned[n]]
    lines = (cosign(text, witness, TIME_US // 1_000_000) for witness in signers)
    try:
        policy.witnessed(Note(text=text, signatures=tuple(lines)))
    except TrustPolicyError:
        return False
    return True


@pytest.fixture
def rows(postgres_dsn: str) -> Iterator[Rows]:
    """Stored cosignatures of four witnesses, each of about half of all sizes, and of a stranger."""
    random_ = random.Random(3)  # noqa: S311 - repeatable
    cosigned = {name: set(random_.sample(range(1, 60), 30)) for name in "abcd"}
    named = dict(zip("abcd", WITNESSES, strict=True))
    with connect(postgres_dsn) as admin, admin.cursor() as cursor:
        found = [(n, named[w].vkey) for w in cosigned for n in cosigned[w]]
        stored = [(n, key.name, key.key_id, b"-", TIME_US) for n, key in found]
        strange = [(n, A.vkey.name, b"none", b"-", TIME_US) for n in range(1, 60)]
        cursor.executemany(INSERT, [*stored, *strange])
    reader = LedgerReader(postgres_dsn)
    yield reader, cosigned
    reader.close()


def test_a_quorum_long_ago_is_shown_and_a_late_one_proves_what_came_before(
    postgres_dsn: str,
) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    reader = CountingReader(postgres_dsn)
    shown = LogFiles(reader=reader, policy=POLICY, keys=[SIGNER.vkey]).shown
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger, connect(postgres_dsn) as admin:
        first = signed(ledger, admin, A)
        assert newest_quorate(reader, POLICY) is None
        assert shown() == (first, reader.cosigned_note(first))
        quorate = signed(ledger, admin, A, B)
        ledger.append(started(), opening("d", ledger.put_blob(b"s")), sealed("d"))
        seq = signed(ledger, admin, A).size - 1
        for _ in range(ALONE):
            signed(ledger, admin, A)
        reader.read = 0
        assert shown() == (quorate, reader.cosigned_note(quorate))
        assert reader.read == 2
        assert first_quorate(reader, POLICY, seq) is None
        assert verdicts(reader, seq) == [INCOMPLETE] * 3

        late = signed(ledger, admin, A, B)
        signed(ledger, admin, A, B)
        reader.read = 0
        found = first_quorate(reader, POLICY, seq)
        assert found == (late, reader.cosigned_note(late))
        assert reader.read == 2
        assert verdicts(reader, seq) == [OK] * 3

        forged = signed(ledger, admin, A)
        line = cosign(parse_note(late.note).text, B, TIME_US // 1_000_000)
        admin.execute(INSERT, (forged.size, line.name, line.key_id, str(line).encode(), TIME_US))
        admin.execute(INSERT, (forged.size + 9, A.vkey.name, A.vkey.key_id, b"-", TIME_US))
        admin.execute(INSERT, (forged.size + 9, B.vkey.name, B.vkey.key_id, b"-", TIME_US))
        newest = newest_quorate(reader, POLICY)
        assert newest is not None
        assert late.size < newest[0].size < forged.size
    reader.close()


def test_a_policy_that_asks_nobody_is_met_by_every_checkpoint(postgres_dsn: str) -> None:
    nobody = QuorumPolicy.parse(f"witness a {A.vkey}\nquorum none\n".encode())
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    reader = LedgerReader(postgres_dsn)
    assert newest_quorate(reader, nobody) is None
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger, connect(postgres_dsn) as admin:
        signed(ledger, admin, A)
        second, third = signed(ledger, admin), signed(ledger, admin)
    assert newest_quorate(reader, nobody) == (third, third.note)
    assert first_quorate(reader, nobody, second.size - 1) == (second, second.note)
    assert first_quorate(reader, nobody, third.size) is None
    reader.close()


@pytest.mark.parametrize("quorum", QUORUMS)
def test_the_database_finds_what_one_by_one_finds(rows: Rows, quorum: str) -> None:
    reader, cosigned = rows
    policy = QuorumPolicy.parse((LISTED + quorum).encode())
    sizes = {size for found in cosigned.values() for size in found}
    met = sorted(size for size in sizes if is_quorum(policy, cosigned, size))
    assert met
    assert [*reader.quorum_sizes(policy, 1, newest_first=False)] == met
    assert [*reader.quorum_sizes(policy, SIZE_MAX, newest_first=True)] == met[::-1]
    middle = met[len(met) // 2]
    for start in (middle - 1, middle, middle + 1):
        below, above = [n for n in met if n <= start], [n for n in met if n >= start]
        assert [*reader.quorum_sizes(policy, start, newest_first=True)] == below[::-1]
        assert [*reader.quorum_sizes(policy, start, newest_first=False)] == above
