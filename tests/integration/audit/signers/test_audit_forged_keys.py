"""Whole logs made up by the thief of an ended key, before everything that judges a log."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from audit.evidence.bundle import build_bundle
from audit.evidence.receipt import build_receipt, prove_record
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.note import parse_note, sign_note
from audit.tlog.proof import parse_proof
from audit.upkeep.backup.form import ABOUT, TABLES
from audit.upkeep.fsck.dump import fsck_dump
from audit.verifier import verify
from audit.verifier.verify import Outside
from gateway.installation.children.postgres import EmbeddedPostgres
from tests.doubles.audit_log import ORIGIN, MemoryLog, dump_of, note, opening, sealed, started
from tests.doubles.audit_spoiled import plan_of, silent
from tests.doubles.backup_world import Line, about_of, back, empty_ledger, packed, untouched
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.key_thief import BEYOND, HONEST, INVENTED, revocation, rotation, theft
from tests.integration.audit.verifier.test_audit_verify_js import answers, both_say

RETIRED, CURRENT, _ = HONEST
FORGED, MADE_UP = INVENTED
HANDED_OVER = rotation(RETIRED, CURRENT, 3)
REVOKED = revocation(CURRENT, RETIRED, 0)
FORK = (rotation(RETIRED, FORGED, BEYOND), HANDED_OVER)
BEHIND = (rotation(MADE_UP, FORGED, BEYOND), rotation(MADE_UP, RETIRED, 0))

FORGERIES: Sequence[tuple[str, Sequence[str], Sequence[FileSigner], Sequence[str]]] = [
    ("the current key alone", FORK, [CURRENT], []),
    ("its rotation given", FORK, [CURRENT], [HANDED_OVER]),
    ("the retired key too", FORK, [CURRENT, RETIRED], [HANDED_OVER]),
    ("a key before the retired one", BEHIND, [CURRENT, RETIRED], [HANDED_OVER, REVOKED]),
    ("the same, the current key", (*BEHIND, HANDED_OVER), [CURRENT], [HANDED_OVER, REVOKED]),
    ("the same, the retired key", BEHIND, [RETIRED], [REVOKED, HANDED_OVER]),
    ("the same, the revocation alone", BEHIND, [CURRENT, RETIRED], [REVOKED]),
    ("nothing given", (*BEHIND, HANDED_OVER), [CURRENT], []),
]
"""Who judges trusts some keys and was given some changes; the thief holds `RETIRED` only."""


def told(statement: str) -> Draft:
    _, _, *lines = statement.partition("\n\n")[0].split("\n")
    names = ("old_vkey", "new_vkey", "from_size", "from_us")
    return Draft(
        stream="control",
        kind=Kind.KEY_ROTATED,
        payload={"statement": statement, **dict(zip(names, lines, strict=True))},
        actor="person:ada",
        idem_key=f"key:{sha256(statement.encode()).hexdigest()[:8]}",
    )


def made_up(statements: Sequence[str]) -> MemoryLog:
    """A log that never was, sound in itself, signed by a key that nobody knows."""
    log = MemoryLog()
    log.append(started(), *map(told, statements), opening("d1", sha256(b"b").hexdigest()))
    log.blobs[sha256(b"b").digest()] = b"b"
    log.append(note("forged"), sealed("d1"))
    log.checkpoint()
    log.checkpoints = [make_checkpoint(one.size, one.root, FORGED) for one in log.checkpoints]
    return log


def arguments_of(keys: Sequence[FileSigner], given: Sequence[str], stem: str) -> list[str]:
    found = [word for key in keys for word in ("--key", str(key.vkey))]
    return [*found, *(word for n in range(len(given)) for word in ("--rotation", f"{stem}-{n}"))]


def test_no_verifier_takes_a_log_that_the_thief_of_an_ended_key_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[tuple[str, list[str], int]] = []
    files: dict[str, bytes] = {}
    for number, (_, inside, keys, given) in enumerate(FORGERIES):
        log, arguments = made_up(inside), arguments_of(keys, given, str(number))
        reader = MemoryReader(log)
        made = {
            f"{number}.receipt": build_receipt(reader, "d1"),
            f"{number}.zip": build_bundle(reader, "d1"),
            f"{number}.jsonl": b"".join(dump_of(log)),
        }
        questions += [(name, arguments, verify.TAMPERED) for name in made]
        files |= made | {f"{number}-{n}": one.encode() for n, one in enumerate(given)}
        own = ["--key", str(FORGED.vkey)]
        questions += [(name, own, verify.OK) for name in made]
    monkeypatch.chdir(tmp_path)
    both_say(questions, files)


def test_fsck_of_its_dump_takes_it_neither(tmp_path: Path) -> None:
    for name, inside, keys, given in FORGERIES:
        path = tmp_path / "made-up.jsonl"
        path.write_bytes(b"".join(dump_of(made_up(inside))))
        outside = Outside(vkeys=[str(key.vkey) for key in keys], rotations=given)
        plan = replace(plan_of(tmp_path), outside=outside, state=tmp_path / f"{name}.state")
        assert fsck_dump(path, plan, silent).exit_code == verify.TAMPERED, name


@pytest.fixture(scope="module")
def empty(postgres: EmbeddedPostgres) -> Iterator[str]:
    with empty_ledger(postgres) as dsn:
        yield dsn


def lines_of(log: MemoryLog) -> list[Line]:
    """Return a backup's lines of a log."""
    about = {**about_of(len(log.rows)), "origin": ORIGIN}
    names = [name for name in TABLES["entry"] if name != "commitments"]
    entries = [{**{name: row[name] for name in names}, "commitments": b""} for row in log.rows]
    return [
        (ABOUT, about),
        ("head", log.head()),
        *(("checkpoint", {"size": one.size, "note": one.note}) for one in log.checkpoints),
        *(("blob", {"digest": one, "data": data}) for one, data in log.blobs.items()),
        *(("entry", row) for row in entries),
    ]


def test_a_backup_of_it_is_not_restored(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "made-up.backup"
    for name, inside, keys, given in FORGERIES:
        path.write_bytes(packed(lines_of(made_up(inside))))
        outside = Outside(vkeys=[str(key.vkey) for key in keys], rotations=given)
        report = back(empty, path, outside).report
        assert report.exit_code == verify.TAMPERED, name
        assert any("signed by no trusted key" in line for line in report.lines), report.lines
        assert untouched(empty)
    assert back(empty, path, Outside(vkeys=[str(FORGED.vkey)])).report.exit_code == verify.OK


def test_both_verifiers_judge_a_thief_s_statements_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    log.append(*(note(str(n)) for n in range(30)))
    log.checkpoint()
    sound = parse_proof(prove_record(MemoryReader(log), 7))
    text = parse_note(sound.checkpoint_note).text
    questions, cases = [], []
    for seed in range(60):
        case = theft(Random(seed))  # noqa: S311 - the same cases in every run
        for n, statement in enumerate(case.given):
            (tmp_path / f"{seed}-{n}").write_text(statement, encoding="utf-8")
        extra = canonical({**json.loads(sound.extra or b""), "keys": list(case.inside)})
        arguments = arguments_of(case.roots, case.given, str(seed))
        for at, by in enumerate((*case.held, HONEST[2])):
            data = replace(sound, checkpoint_note=sign_note(text, by).to_bytes(), extra=extra)
            name = f"{seed}-{at}.tlog-proof"
            (tmp_path / name).write_bytes(data.to_bytes())
            questions.append({"file": name, "arguments": arguments})
            cases.append((by, case))
    (tmp_path / "manifest.json").write_text(json.dumps(questions), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    codes = [verify.main([str(one["file"]), *one["arguments"]]) for one in questions]
    assert [answer["exit"] for answer in answers(tmp_path)] == codes
    for code, (by, case) in zip(codes, cases, strict=True):
        assert code == verify.OK or by in case.held or case.inside or case.given
        assert code != verify.OK or by not in case.held
    assert verify.OK in codes


def test_changes_are_given_in_any_order_and_none_is_given_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = HONEST
    files = {
        "1": rotation(first, second, 3).encode(),
        "2": rotation(second, third, 6).encode(),
        "stolen": rotation(second, FORGED, 6).encode(),
        "old.note": make_checkpoint(3, bytes(32), first).note,
        "new.note": make_checkpoint(9, bytes(32), third).note,
        "forged.note": make_checkpoint(9, bytes(32), FORGED).note,
    }
    oldest, newest = ["--key", str(first.vkey)], ["--key", str(third.vkey)]
    both = ["--rotation", "1", "--rotation", "2"]
    back_to_front, stolen = [*both[2:], *both[:2]], ["--rotation", "stolen"]
    questions: list[tuple[str, list[str], int]] = []
    for given in (both, back_to_front):
        questions += [
            ("new.note", [*oldest, *given], verify.OK),
            ("old.note", [*newest, *given], verify.OK),
            ("forged.note", [*oldest, *given], verify.TAMPERED),
        ]
    questions += [
        ("new.note", [*newest, *both[:2]], verify.NOT_CHECKABLE),
        ("new.note", [*newest, *stolen], verify.NOT_CHECKABLE),
        ("new.note", newest, verify.OK),
        # Of two that contradict each other one is not followed, and the thief's not silently.
        ("new.note", [*oldest, *both, *stolen], verify.NOT_CHECKABLE),
        ("new.note", [*oldest, *both[:2], *stolen, *both[2:]], verify.TAMPERED),
        ("forged.note", [*oldest, *both[:2], *stolen, *both[2:]], verify.NOT_CHECKABLE),
    ]
    monkeypatch.chdir(tmp_path)
    both_say(questions, files)
