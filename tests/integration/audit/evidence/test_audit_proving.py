"""receipt and prove on a real ledger: what they write, the verifier's command accepts."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from audit.errors import AuditError, LedgerError
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.store.tables import connect
from audit.tlog.cosignature import cosign
from audit.tlog.note import parse_note
from audit.tlog.proof import parse_proof
from audit.verifier import verify
from audit.verifier.verify import INCOMPLETE, NOT_CHECKABLE, OK, TAMPERED
from gateway.cli.main import app, exit_code_of
from gateway.evidence.backup import back_up
from gateway.evidence.bundle import UNWITNESSED, export_decision
from gateway.evidence.decisions import newest_decision
from gateway.evidence.publication.proof import Question, answer, write_receipt
from gateway.evidence.verification import dump_ledger
from gateway.installation import settings as settings_module
from gateway.installation.keys.row_keys import make_secret, permit_restored
from gateway.installation.place import Place
from gateway.installation.state import StateFolder
from gateway.walk.journal.form import RECORD_RULES
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note, opening, sealed, started
from tests.doubles.cosigners import WITNESSES

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
WITNESS = WITNESSES[0]
DECISIONS = 300


@pytest.fixture
def place(postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A ledger of two tiles under three checkpoints, of which a witness cosigned the second."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "witness.policy").write_text(f"witness w {WITNESS.vkey}\nquorum w\n")
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        blob = ledger.put_blob(b"snapshot")
        run = started()
        run = replace(run, payload={**run.payload, "record_rules": RECORD_RULES})
        ledger.append(run, opening("d0", blob), note("one"), sealed("d0"))
        ledger.checkpoint_now()
        for n in range(1, DECISIONS):
            ledger.append(opening(f"d{n}", blob), sealed(f"d{n}"))
        found = ledger.checkpoint_now()
        assert found is not None
        line = cosign(parse_note(found.note).text, WITNESS, TIME_US // 1_000_000)
        with connect(postgres_dsn) as admin:
            admin.execute(
                "INSERT INTO ledger.cosignature VALUES (%s, %s, %s, %s, %s)",
                (found.size, line.name, line.key_id, str(line).encode(), TIME_US),
            )
        ledger.append(opening("late", blob), sealed("late"))
        ledger.checkpoint_now()
    settings = settings_module.load(state=tmp_path / "state")
    reader = LedgerReader(postgres_dsn)
    yield Place(dsn=postgres_dsn, reader=reader, state=StateFolder.of(settings), settings=settings)
    reader.close()


@pytest.fixture
def place_with_policy(place: Place, tmp_path: Path) -> Place:
    ledger = place.settings.ledger.model_copy(
        update={"witness_policy": tmp_path / "witness.policy"}
    )
    return replace(place, settings=place.settings.model_copy(update={"ledger": ledger}))


NOT_THERE = (
    Question(),
    Question(seq=100_000),
    Question(from_size=2),
    Question(stream="decision/none"),
    Question(stream="decision/d7", first=1, last=5),
    Question(stream="decision/d7", first=2, last=1),
    Question(seq=3, from_size=2),
    Question(seq=100_000, from_size=5),
    Question(seq=3, first=1),
    Question(from_size=5, last=1),
    Question(seq=3, stream="decision/d7"),
    Question(from_size=5, stream="decision/d7"),
)


def check(path: Path, *more: str) -> int:
    """Run the verifier as an outsider would."""
    command = [sys.executable, verify.__file__, str(path), "--key", KEY, *more]
    return subprocess.run(command, check=False, capture_output=True).returncode


def test_what_is_written_is_accepted_and_small(place: Place, tmp_path: Path) -> None:
    witnessed = ("--policy", "witness.policy")
    assert write_receipt(place, "d0", None) == OK
    receipt = tmp_path / "d0.receipt.tlog-proof"
    assert check(receipt, *witnessed) == OK
    assert receipt.stat().st_size < 10_000
    assert verify.main([str(receipt)]) == NOT_CHECKABLE
    assert verify.main([str(receipt), "--key", str(OTHER_SIGNER.vkey)]) == TAMPERED
    write_receipt(place, "late", None)
    late = tmp_path / "late.receipt.tlog-proof"
    assert check(late) == OK
    assert check(late, *witnessed) == INCOMPLETE, "nobody cosigned the newest tree"
    answer(place, Question(seq=257), None)
    assert check(tmp_path / "257.tlog-proof", *witnessed) == OK
    answer(place, Question(stream="decision/d7", first=0, last=1), None)
    assert check(tmp_path / "decision_d7-0-1.tlog-proof", *witnessed) == OK
    answer(place, Question(stream="control", first=1), tmp_path / "control")
    assert check(tmp_path / "control") == OK
    export_decision(place, "d0", tmp_path / "d0.zip")
    assert check(tmp_path / "d0.zip", *witnessed) == OK


def test_what_the_policys_quorum_has_not_cosigned_yet_says_so(
    place_with_policy: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later record is under no cosigned checkpoint; an earlier one is, and nothing is said."""
    late = next(place_with_policy.reader.records(stream="decision/late")).seq
    for decision, seq, said in (("d0", 3, False), ("late", late, True)):
        write_receipt(place_with_policy, decision, None)
        answer(place_with_policy, Question(seq=seq), None)
        answer(place_with_policy, Question(stream=f"decision/{decision}"), tmp_path / "range")
        export_decision(place_with_policy, decision, tmp_path / "bundle")
        assert capsys.readouterr().out.count(UNWITNESSED) == 4 * said
        code = INCOMPLETE if said else OK
        for path in (f"{decision}.receipt.tlog-proof", f"{seq}.tlog-proof", "range", "bundle"):
            assert check(tmp_path / path, "--policy", "witness.policy") == code


def test_a_map_of_two_parts_is_shown_whole(place: Place, tmp_path: Path) -> None:
    """So many decisions under one checkpoint are in no map of one part."""
    receipt, bundle = tmp_path / "receipt", tmp_path / "bundle"
    write_receipt(place, "d7", receipt)
    export_decision(place, "d7", bundle)
    for path in (receipt, bundle):
        assert check(path, "--policy", "witness.policy") == OK
    extra = verify.read_extra(verify.read_proof(receipt.read_bytes()).extra)
    assert [part["payload"]["part"] for part in extra["map"]] == [0, 1]
    evidence = verify.read_bundle(bundle.read_bytes())
    assert sum("stream_heads" in name for name in evidence.records) == len(extra["map"])
    named = [part for part in extra["map"] if "decision/d7" in str(part["payload"]["heads"])]
    assert len(named) == 1
    less = {**extra, "format": verify.RECEIPT, "map": named[0]}
    changed = replace(parse_proof(receipt.read_bytes()), extra=verify.canonical(less))
    receipt.write_bytes(changed.to_bytes())
    assert check(receipt) == INCOMPLETE, "what was written before"


def test_old_checkpoints_lead_to_new_ones_and_what_is_not_there_is_refused(
    place: Place, tmp_path: Path
) -> None:
    for kept in place.reader.checkpoints():
        (tmp_path / "kept").write_bytes(kept.note)
        out = tmp_path / f"{kept.size}.consistency"
        answer(place, Question(from_size=kept.size), out)
        assert check(out, "--checkpoint", "kept") == OK
        assert check(out) == NOT_CHECKABLE
        answer(place, Question(seq=3, from_size=kept.size), tmp_path / "both")
        joined = ("--checkpoint", "kept", "--consistency", "both.consistency")
        assert check(tmp_path / "both", *joined) == OK, "also where it is newer than the proof's"
    before = sorted(tmp_path.iterdir())
    for question in NOT_THERE:
        with pytest.raises(LedgerError):
            answer(place, question, None)
        assert sorted(tmp_path.iterdir()) == before, question
    with pytest.raises(LedgerError):
        write_receipt(place, "none", None)
    assert sorted(tmp_path.iterdir()) == before
    sizes = [kept.size for kept in place.reader.checkpoints(newest_first=False)]
    near = {sizes[0] - 1: f"the next one is of {sizes[0]}", sizes[-1] + 1: "the newest is smaller"}
    for size, word in near.items():
        with pytest.raises(LedgerError, match=word):
            answer(place, Question(from_size=size), None)


def test_what_cannot_be_written_leaves_no_file(place: Place, tmp_path: Path) -> None:
    (tmp_path / "one.consistency").mkdir()
    size = place.reader.checkpoints(limit=1)[0].size
    before = sorted(tmp_path.iterdir())
    for question, out in (
        (Question(seq=3), tmp_path / "lost" / "one"),
        (Question(seq=3), tmp_path),
        (Question(seq=3, from_size=size), tmp_path / "one"),
    ):
        with pytest.raises(LedgerError, match="nothing was written"):
            answer(place, question, out)
        assert sorted(tmp_path.iterdir()) == before


def test_no_verb_writes_over_what_is_no_file(
    place: Place, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As root a rename would put a file in the place of a device; `-` is standard output."""
    make_secret(place.state.keys)
    head = place.reader.head()
    permit_restored(place.state, head.size, head.root)
    out, size = tmp_path / "out", place.reader.checkpoints(limit=1)[0].size
    verbs: tuple[Callable[[Path], object], ...] = (
        lambda path: dump_ledger(place, path),
        lambda path: back_up(place, path),
        lambda path: export_decision(place, "d0", path),
        lambda path: write_receipt(place, "d0", path),
        lambda path: answer(place, Question(seq=3), path),
        lambda path: answer(place, Question(from_size=size), path),
        lambda path: answer(place, Question(stream="control"), path),
    )
    for write in verbs:
        os.mkfifo(out)
        before = sorted(tmp_path.iterdir())
        with pytest.raises(AuditError, match=r"out is a pipe"):
            write(out)
        assert out.is_fifo()
        assert sorted(tmp_path.iterdir()) == before
        out.unlink()
        capsysbinary.readouterr()
        write(Path("-"))
        given, said = capsysbinary.readouterr()
        write(out)
        written = out.read_bytes()
        assert given[:10] == written[:10], "of one sort: what follows is packed with the time"
        assert abs(len(given) - len(written)) < 20, "but for the time that a backup says"
        assert said.startswith((b"FILE: ", b"608 records "))
        assert b"FILE" in said
        out.unlink()
    with pytest.raises(LedgerError, match="two files"):
        answer(place, Question(seq=3, from_size=size), Path("-"))


def test_the_ids_that_verbs_take_are_listed(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--state", str(tmp_path / "state")]

    def said(*arguments: str) -> tuple[int, str]:
        with pytest.MonkeyPatch.context() as changed:
            changed.setenv("COUNTERSIGN_LEDGER__DSN", place.dsn)
            code = exit_code_of(lambda: app([*arguments, *where], standalone_mode=False))
        given, beside = capsys.readouterr()
        return code, given or beside.splitlines()[-1]

    code, lines = said("decisions", "--limit", "2")
    assert code == 0
    first, second = (line.split() for line in lines.splitlines())
    assert (first[0], first[-1], second[0]) == ("late", "filled", f"d{DECISIONS - 1}")
    assert place.reader.record(int(first[2])) is not None
    assert newest_decision(place.reader) == "late"
    assert len(said("decisions", "--limit", "1000")[1].splitlines()) == DECISIONS + 1
    for verb in (["show"], ["replay"], ["receipt"], ["export"], ["export", "--decision"]):
        assert said(*verb, "none") == (
            2,
            "countersign: no decision none: `countersign decisions` lists them",
        )
    for verb, out in ((["export"], "d5.zip"), (["export", "--decision"], "d5.zip")):
        assert said(*verb, "d5")[0] == 0
        assert check(tmp_path / out) == OK
        (tmp_path / out).unlink()
    for wrong in (["export"], ["export", "d5", "--decision", "d5"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2
