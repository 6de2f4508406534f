"""The second verifier, in JavaScript, answers what the first one does: same exit codes."""

import base64
import json
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import leaf_hash, root_of
from audit.tlog.rotation import revoke, rotate
from audit.verifier import verify
from tests.doubles.audit_log import ORIGIN, SIGNER, MemoryLog, dump_of, note
from tests.doubles.cosigners import WITNESSES, Cosigner
from tests.doubles.evidence_collection import FOLDER
from tests.doubles.evidence_limits import too_large
from tests.doubles.evidence_maps import parted
from tests.doubles.memory_tree import consistency_path

ROOT = Path(__file__).resolve().parents[4]
VERIFIER, RUNNER = ROOT / "audit/verifier/verify.mjs", ROOT / "tests/doubles/evidence_questions.mjs"
NEXT = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"n" * 32))
LAST = FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"l" * 32))

OTHERWISE = {
    # WebCrypto has no ML-DSA, and the verdict hangs on such a line: sound (0) or forged (1).
    "quantum.note": verify.NOT_CHECKABLE,
    "quantum-forged.note": verify.NOT_CHECKABLE,
    "large.note": verify.NOT_CHECKABLE,  # a size beyond 2^53, which no number holds exactly
}
"""The files of which JavaScript cannot say what Python says, and what it must say instead."""


def node() -> str:
    found = shutil.which("node")
    assert found is not None, "the second verifier's tests need Node 18 or later: nodejs of Debian"
    return found


def answers(folder: Path) -> list[dict[str, Any]]:
    """Ask every question of a folder's manifest in one process."""
    call = [node(), "--no-warnings", str(RUNNER), str(VERIFIER), str(folder)]
    done = subprocess.run(call, capture_output=True, check=True, timeout=60)
    answered: list[dict[str, Any]] = json.loads(done.stdout)
    return answered


def command_line(*arguments: str) -> tuple[int, list[str]]:
    call = [node(), "--no-warnings", str(VERIFIER), *arguments]
    done = subprocess.run(call, capture_output=True, cwd=FOLDER, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


def word_of(lines: Sequence[str]) -> str:
    """Return the word of the last line, which must give a reason too."""
    word, _, reason = lines[-1].partition(": ")
    assert reason
    return word


Questions = Sequence[tuple[str, list[str], int]]


def both_say(questions: Questions, files: Mapping[str, bytes]) -> None:
    """Ask both verifiers, in the folder of now, which gets these files."""
    rows = [{"file": f, "arguments": a, "exit": code} for f, a, code in questions]
    for name, data in {**files, "manifest.json": json.dumps(rows).encode()}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)
    wanted = [code for _, _, code in questions]
    assert [answer["exit"] for answer in answers(Path.cwd())] == wanted
    assert [verify.main([file, *arguments]) for file, arguments, _ in questions] == wanted


def test_each_question_ends_as_the_manifest_says() -> None:
    questions = json.loads((FOLDER / "manifest.json").read_bytes())
    wrong = []
    for question, answer in zip(questions, answers(FOLDER), strict=True):
        wanted = OTHERWISE.get(question["file"], question["exit"])
        lines = answer["lines"]
        if answer["exit"] != wanted or word_of(lines) != verify.WORDS[wanted]:
            wrong.append((question, answer))
    assert not wrong
    assert {question["file"] for question in questions} > OTHERWISE.keys()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("record.tlog-proof", "--key", "log.pub"), verify.OK),
        (("record.tlog-proof", f"--key={SIGNER.vkey}"), verify.OK),
        (("payload.tlog-proof", "--key", "log.pub"), verify.TAMPERED),
        (("d1-cut-tail.zip", "--key", "log.pub"), verify.INCOMPLETE),
        (("dump.jsonl", "--key", "log.pub"), verify.OK),
        ((), verify.NOT_CHECKABLE),
        (("absent.zip", "--key", "log.pub"), verify.NOT_CHECKABLE),
        (("first.note", "--key"), verify.NOT_CHECKABLE),
        (("first.note", "second.note", "--key", "log.pub"), verify.NOT_CHECKABLE),
        (("first.note", "--key", "log.pub", "--quorum", "2"), verify.NOT_CHECKABLE),
        (("first.note", "--key", "log.pub", "--check", "first.note"), verify.NOT_CHECKABLE),
        (("--help",), verify.OK),
        (("first.note", "--key", "d1.zip"), verify.NOT_CHECKABLE),
        (("tiles-small/tile", "--key", "log.pub"), verify.NOT_CHECKABLE),
    ],
)
def test_the_command_lines_end_in_the_code(
    arguments: Sequence[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, said = command_line(*arguments)
    assert ended == code
    if arguments != ("--help",):
        assert word_of(said) == verify.WORDS[code]
    monkeypatch.chdir(FOLDER)
    try:
        first = verify.main(arguments)
    except SystemExit as stop:
        first = int(stop.code or 0)
    assert first == code


def changed(idem_key: str, kind: Kind, payload: Mapping[str, Any]) -> Draft:
    return Draft(
        stream="control", kind=kind, payload=payload, actor="person:ada", idem_key=idem_key
    )


def rotated(old: FileSigner, new: FileSigner, log: MemoryLog) -> tuple[bytes, Draft]:
    size = len(log.rows)
    statement = rotate(old, new, size, log.now_us).statement
    payload = {
        "statement": statement.decode(),
        "old_vkey": str(old.vkey),
        "new_vkey": str(new.vkey),
        "from_size": size,
        "from_us": log.now_us,
    }
    return statement, changed(f"rotated:{size}", Kind.KEY_ROTATED, payload)


def chain() -> tuple[MemoryLog, tuple[bytes, bytes], bytes]:
    """Return a log whose key changed twice, both rotations, and the newest checkpoint."""
    log, statements = MemoryLog(), []
    signers = (SIGNER, NEXT, LAST)
    for number, signer in enumerate(signers):
        log.append(note(f"signed by key {number}"))
        log.checkpoint()
        made = log.checkpoints[number]
        log.checkpoints[number] = make_checkpoint(made.size, made.root, signer)
        if signer is not LAST:
            statement, draft = rotated(signer, signers[number + 1], log)
            statements.append(statement)
            log.append(draft)
    return log, (statements[0], statements[1]), log.checkpoints[-1].note


def test_a_chain_of_rotations_is_followed_from_any_of_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, (first, second), newest = chain()
    size, root = log.checkpoints[-1].size, log.checkpoints[-1].root
    files = {
        "log.jsonl": b"".join(dump_of(log)),
        "oldest.note": log.checkpoints[0].note,
        "middle.note": log.checkpoints[1].note,
        "newest.note": newest,
        "stolen.note": make_checkpoint(size, root, SIGNER).note,
        "1": first,
        "2": second,
        "revoked": revoke(LAST, NEXT.vkey, 0).statement,
    }
    both, revoked = ["--rotation", "1", "--rotation", "2"], ["--rotation", "revoked"]
    from_first, from_last = ["--key", str(SIGNER.vkey)], ["--key", str(LAST.vkey)]
    questions: list[tuple[str, list[str], int]] = [
        *(("log.jsonl", ["--key", str(key.vkey)], verify.OK) for key in (SIGNER, NEXT, LAST)),
        ("newest.note", [*from_first, *both], verify.OK),
        ("newest.note", [*from_last, *both], verify.OK),
        ("newest.note", [*from_first, *both[:2]], verify.TAMPERED),
        ("oldest.note", [*from_last, *both], verify.OK),
        # Known only by a key that is revoked from the beginning: it counts for no more.
        ("oldest.note", [*from_last, *both, *revoked], verify.NOT_CHECKABLE),
        ("oldest.note", [*from_last, *revoked, *both[2:], *both[:2]], verify.NOT_CHECKABLE),
        ("middle.note", [*from_last, *both, *revoked], verify.NOT_CHECKABLE),
        ("stolen.note", [*from_last, *both], verify.TAMPERED),
    ]
    monkeypatch.chdir(tmp_path)
    both_say(questions, files)


def test_both_refuse_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases, key = list(too_large()), ["--key", str(SIGNER.vkey)]
    monkeypatch.chdir(tmp_path)
    files = {path: data for _, part, _ in cases for path, data in part.items()}
    both_say([(name, key, code) for name, _, code in cases], files)


def seen_by(log_note: bytes, witness: Cosigner, *times_s: int) -> bytes:
    """Add a witness's lines, also for a time of 0, which our own signer refuses to state."""
    text = log_note[: log_note.rindex(b"\n\n") + 1]
    for time_s in times_s:
        signature = witness.sign(b"cosignature/v1\ntime %d\n" % time_s + text)
        data = witness.vkey.key_id + time_s.to_bytes(8, "big") + signature
        line = f"\u2014 {witness.vkey.name} {base64.b64encode(data).decode()}\n"
        log_note += line.encode()
    return log_note


def tree_note(leaves: Sequence[bytes], size: int) -> bytes:
    return make_checkpoint(size, root_of(leaves[:size]), SIGNER).note


def link_of(leaves: Sequence[bytes], old: int, size: int, signed: bytes) -> bytes:
    path = consistency_path(leaves[:size], old)
    lines = [f"old {old}", *(base64.b64encode(node).decode() for node in path)]
    return "\n".join(lines).encode() + b"\n\n" + signed


def forged_files() -> dict[str, bytes]:
    """Return what a thief of the log's key makes: forks, backdated trees, maps that are open."""
    honest = [leaf_hash(b"honest %d" % number) for number in range(20)]
    fork = [*honest[:5], *(leaf_hash(b"forged %d" % number) for number in range(5))]
    first, second = WITNESSES[:2]
    kept = seen_by(seen_by(tree_note(honest, 5), first, 9), second, 9)
    newest = seen_by(seen_by(tree_note(honest, 20), first, 9), second, 9)
    old = tree_note(honest, 10)
    stolen = [leaf_hash(b"stolen %d" % number) for number in range(3)]
    made = tree_note(stolen, 3)
    extra = base64.b64encode(b'{"v":1.5}').decode()
    foreign = f"c2sp.org/tlog-proof@v1\nextra {extra}\nindex 0\n\n"
    return {
        "kept.note": kept,
        "honest.note": old,
        "fork.note": tree_note(fork, 10),
        "alien.note": tree_note(stolen * 3, 9),
        "5-20": link_of(honest, 5, 20, newest),
        "10-20": link_of(honest, 10, 20, newest),
        "5-10": link_of(fork, 5, 10, tree_note(fork, 10)),
        "all": policy_of("all", first, second),
        "one": policy_of("any", first, second),
        "made.note": made,
        "before.note": seen_by(made, first, 50),
        "half.note": seen_by(seen_by(made, first, 50), second, 150),
        "never.note": seen_by(made, first, 0),
        "twice.note": seen_by(made, first, 150, 50),
        "revoked": revoke(NEXT, SIGNER.vkey, 100_000_000).statement,
        "foreign.tlog-proof": foreign.encode() + tree_note([leaf_hash(b"foreign")], 1),
        "foreign.entry": b"foreign",
        "noise": b"\xff\xfe",
    }


def policy_of(rule: str, *witnesses: Cosigner) -> bytes:
    lines = [f"witness w{number} {one.vkey}" for number, one in enumerate(witnesses)]
    names = " ".join(f"w{number}" for number in range(len(witnesses)))
    return "\n".join([*lines, f"group g {rule} {names}", "quorum g", ""]).encode()


def broken_maps() -> dict[str, bytes]:
    """Return dumps of a log whose map has parts: side by side, or with a record between."""
    logs = {"joined": parted(), "open": parted(note("hidden"))}
    return {f"{name}.jsonl": b"".join(dump_of(log)) for name, log in logs.items()}


def test_both_refuse_what_a_thief_of_the_key_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, later = ["--key", str(SIGNER.vkey)], ["--key", str(NEXT.vkey)]
    kept, quorum = [*own, "--checkpoint", "kept.note"], ["--policy", "all"]
    thief = [*own, *later, "--rotation", "revoked"]
    questions: list[tuple[str, list[str], int]] = [
        ("honest.note", [*own, *quorum, "--consistency", "10-20"], verify.OK),
        ("honest.note", [*kept, "--consistency", "5-20"], verify.NOT_CHECKABLE),
        ("honest.note", [*kept, "--consistency", "5-20", "--consistency", "10-20"], verify.OK),
        # A proof between two other trees says nothing about this one.
        ("alien.note", [*kept, "--consistency", "5-20"], verify.NOT_CHECKABLE),
        ("alien.note", [*kept, *quorum, "--consistency", "5-20"], verify.INCOMPLETE),
        # A fork behind a tree that was seen by all was itself seen by nobody.
        ("fork.note", [*kept, "--consistency", "5-10"], verify.OK),
        ("fork.note", [*kept, *quorum, "--consistency", "5-10"], verify.INCOMPLETE),
        ("fork.note", [*own, "--consistency", "10-20"], verify.TAMPERED),
        # A revoked key, and the time that witnesses state.
        ("made.note", thief, verify.NOT_CHECKABLE),
        ("before.note", [*thief, "--policy", "one"], verify.OK),
        ("half.note", [*thief, *quorum], verify.NOT_CHECKABLE),
        ("never.note", [*thief, "--policy", "one"], verify.NOT_CHECKABLE),
        ("twice.note", [*thief, "--policy", "one"], verify.OK),
        ("joined.jsonl", thief, verify.NOT_CHECKABLE),
        ("joined.jsonl", own, verify.OK),
        ("open.jsonl", own, verify.TAMPERED),
        ("foreign.tlog-proof", [*own, "--header", "foreign.entry"], verify.OK),
        # What was brought along is not readable.
        *(
            ("made.note", [*own, option, "noise"], verify.NOT_CHECKABLE)
            for option in ("--policy", "--checkpoint", "--consistency", "--rotation", "--key")
        ),
        *(
            ("made.note", [*own, option, "foreign.entry"], verify.NOT_CHECKABLE)
            for option in ("--policy", "--checkpoint", "--consistency", "--rotation", "--key")
        ),
        *useless(own),
    ]
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    both_say(questions, {**forged_files(), **broken_maps()})


SAYS_NOTHING = {
    "made.note": ("--disclosure", "--header", "--payload"),
    "5-20": ("--disclosure", "--header", "--payload"),
    "joined.jsonl": ("--consistency", "--header", "--payload"),
    "record.tlog-proof": ("--header", "--payload"),
    "range.tlog-proof": ("--header", "--payload"),
    "d1.receipt": ("--header", "--payload"),
    "d1.zip": ("--header", "--payload"),
    "tiles-small": ("--disclosure", "--header", "--payload"),
}
"""Which options say nothing about a file of this sort: silence would read as a check."""


def useless(own: list[str]) -> Iterator[tuple[str, list[str], int]]:
    """Yield sound evidence with options that do not apply to it, and once without them."""
    given = {
        "--disclosure": "ada.disclosure",
        "--header": "record.header",
        "--payload": "record.payload",
        "--consistency": "10-20",
    }
    for file, options in SAYS_NOTHING.items():
        sound = [*own, *(["--checkpoint", "kept.note"] if file == "5-20" else [])]
        yield file, sound, verify.OK
        for option in options:
            yield file, [*sound, option, given[option]], verify.NOT_CHECKABLE
    foreign = [*own, "--header", "foreign.entry", "--payload", "record.payload"]
    yield "foreign.tlog-proof", foreign, verify.NOT_CHECKABLE


DAMAGED = 400


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Flip a bit, cut something out, put something in, or double, move or drop a line."""
    at, lines = chance.randrange(len(data)), data.split(b"\n")
    here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[at + chance.choice((1, 2, 40)) :]
        case 2:
            return data[:at] + chance.choice((b"0", b"\n", b" ", b"\x00", b"\xc2\x85")) + data[at:]
        case 3:
            lines[here], lines[there] = lines[there], lines[here]
        case 4:
            lines.insert(here, lines[there])
        case _:
            del lines[here]
    return b"\n".join(lines)


def test_both_say_the_same_of_damaged_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)  # noqa: S311 - the same damage in every run
    sound = [
        question
        for question in json.loads((FOLDER / "manifest.json").read_bytes())
        if question["exit"] == verify.OK
        and (FOLDER / question["file"]).is_file()
        and question["file"] not in OTHERWISE
    ]
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    questions = []
    for number in range(DAMAGED):
        question = chance.choice(sound)
        file = question["file"]
        name = f"damaged-{number}{Path(file).suffix}"
        (tmp_path / name).write_bytes(damaged((FOLDER / file).read_bytes(), chance))
        questions.append({"file": name, "arguments": question["arguments"], "of": file})
    (tmp_path / "manifest.json").write_text(json.dumps(questions), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    codes = [verify.main([str(q["file"]), *q["arguments"]]) for q in questions]
    ends = [answer["exit"] for answer in answers(tmp_path)]
    differing = [row for row in zip(questions, codes, ends, strict=True) if row[1] != row[2]]
    assert not differing
    assert {verify.TAMPERED, verify.INCOMPLETE} <= set(codes)
