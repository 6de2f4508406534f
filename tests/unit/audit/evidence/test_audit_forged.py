"""Dumps that somebody made: lines in another order, unsigned tails, odd types, odd bytes."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from audit.signers.file import FileSigner
from audit.tlog.checkpoint import make_checkpoint
from audit.upkeep.fsck.chunk import judge_payloads
from audit.verifier.verify import (
    INCOMPLETE,
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    canonical,
    main,
    verify_dump,
)
from gateway.cli.main import app
from tests.doubles.audit_log import (
    ORIGIN,
    OTHER_SIGNER,
    SIGNER,
    MemoryLog,
    cancelling,
    dump_of,
    note,
    opening,
    refused,
    sealed,
    small_log,
)
from tests.doubles.evidence_limits import OddLog

KEY = str(SIGNER.vkey)


def kind_of(line: bytes) -> str:
    return str(json.loads(line)["type"])


def forged_dump() -> list[bytes]:
    """A dump that is consistent in itself, under checkpoints that were signed for another log."""
    genuine, forged = small_log(), MemoryLog()
    forged.blobs = genuine.blobs
    forged.append(note("one, forged"), opening("d1", next(iter(genuine.blobs)).hex()))
    forged.append(cancelling("d1"))
    forged.append(note("two"), sealed("d1"))
    forged.checkpoint()
    forged.append(opening("d2", next(iter(genuine.blobs)).hex()), refused("d2"))
    forged.append(sealed("d2"))
    forged.checkpoint()
    forged.append(note("three"))
    forged.checkpoint()
    forged.checkpoints = genuine.checkpoints
    return dump_of(forged)


@pytest.mark.parametrize(
    "order",
    [
        "head blob entry checkpoint end",
        "checkpoint blob entry head end",
        "blob entry end head checkpoint",
        "head checkpoint blob entry end",
        "blob entry end",
        "head head checkpoint blob entry end",
        "head blob entry end checkpoint",
        "entry head checkpoint blob end",
    ],
)
@pytest.mark.parametrize("forge", [True, False])
def test_no_order_of_lines_hides_a_forgery_or_passes(order: str, *, forge: bool) -> None:
    lines = forged_dump() if forge else dump_of(small_log())
    parts = [[line for line in lines if kind_of(line) == kind] for kind in order.split()]
    report = verify_dump([line for part in parts for line in part], [KEY], [])
    right = order == "head checkpoint blob entry end" and not forge
    assert report.exit_code == (OK if right else TAMPERED), report.lines


def test_entries_before_their_blobs_or_with_a_checkpoint_between_are_out_of_order() -> None:
    lines = dump_of(small_log())
    for source, target in ((-2, 1), (1, -2), (1, -3), (0, 1)):
        moved = list(lines)
        moved.insert(target, moved.pop(source))
        report = verify_dump(moved, [KEY], [])
        assert report.exit_code == TAMPERED, (source, target)
        assert any("out of order" in line for line in report.lines)


def test_a_kept_checkpoint_is_compared_whatever_the_dump_says() -> None:
    kept = [c.note for c in small_log().checkpoints]
    assert verify_dump(dump_of(small_log()), [KEY], kept).exit_code == OK
    for order in ("head blob entry end", "blob entry head end", "head checkpoint entry end"):
        lines = forged_dump()
        parts = [[line for line in lines if kind_of(line) == kind] for kind in order.split()]
        whole = [line for part in parts for line in part]
        assert verify_dump(whole, [KEY], kept[:1]).exit_code == TAMPERED, order
        assert verify_dump(whole, [], kept[:1]).exit_code == TAMPERED, order


def test_a_kept_checkpoint_of_another_log_or_key_is_tampered() -> None:
    signer = FileSigner("other.example/log", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    keys = [KEY, str(signer.vkey)]
    first = small_log().checkpoints[0]
    other = make_checkpoint(first.size, first.root, signer).note
    assert verify_dump(dump_of(small_log()), keys, [other]).exit_code == TAMPERED
    stranger = make_checkpoint(first.size, first.root, OTHER_SIGNER).note
    assert verify_dump(dump_of(small_log()), [KEY], [stranger]).exit_code == TAMPERED


def test_a_checkpoint_of_nothing_is_compared_too() -> None:
    empty = make_checkpoint(0, sha256(b"").digest(), SIGNER).note
    wrong = make_checkpoint(0, bytes(32), SIGNER).note
    assert verify_dump(dump_of(small_log()), [KEY], [empty]).exit_code == OK
    assert verify_dump(dump_of(small_log()), [KEY], [wrong]).exit_code == TAMPERED


def test_records_after_the_last_checkpoint_are_incomplete_and_named() -> None:
    log = small_log()
    signed = len(log.rows)
    log.append(note("four"))
    for report in (log.verify(KEY), verify_dump(dump_of(log), [KEY], [])):
        assert report.exit_code == INCOMPLETE
        assert (report.unsigned_from, report.first_bad_seq) == (signed, None)
        assert any(f"records from {signed} on are not signed" in line for line in report.lines)
    log.checkpoint()
    assert log.verify(KEY).exit_code == OK


def test_a_log_under_one_early_checkpoint_is_incomplete() -> None:
    log = small_log()
    del log.checkpoints[1:]
    assert log.verify(KEY).exit_code == INCOMPLETE


def with_field(kind: str, name: str, value: object) -> list[bytes]:
    """A dump whose second line of a kind, or only one, has another value."""
    lines = dump_of(small_log())
    places = [n for n, line in enumerate(lines) if kind_of(line) == kind]
    place = places[min(1, len(places) - 1)]
    row = json.loads(lines[place])
    lines[place] = json.dumps({**row, name: value}).encode()
    return lines


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("entry", "seq", True),
        ("entry", "seq", 1.0),
        ("entry", "version", True),
        ("entry", "version", 1.0),
        ("entry", "account", ["acc"]),
        ("entry", "stream", ["decision/d1"]),
        ("entry", "leaf", 7),
        ("head", "size", 12.0),
        ("head", "origin", {}),
        ("head", "root", None),
        ("checkpoint", "size", 10.0),
        ("blob", "data", []),
        ("end", "entries", "12"),
        ("end", "entries", 12.0),
        ("end", "type", ["end"]),
    ],
)
def test_a_value_of_another_type_is_tampered(kind: str, name: str, value: object) -> None:
    assert verify_dump(with_field(kind, name, value), [KEY], []).exit_code == TAMPERED


def with_header(**changes: object) -> MemoryLog:
    """A log whose record 1 has another header, hashed anew."""
    log = small_log()
    row = dict(log.rows[1])
    head = {**json.loads(row["header"]), **changes}
    row["header"] = canonical(head)
    row["leaf"] = sha256(b"\x00" + row["header"]).digest()
    log.rows[1] = {**row, **{name: head[name] for name in changes}}
    return log


@pytest.mark.parametrize(
    "changes",
    [
        {"seq": True},
        {"version": True},
        {"kind": "k" * 70_000},
        {"kind": "../x"},
        {"stream_seq": None},
    ],
)
def test_a_header_of_other_types_is_tampered(changes: dict[str, object]) -> None:
    assert verify_dump(dump_of(with_header(**changes)), [KEY], []).exit_code == TAMPERED


@pytest.mark.parametrize("heads", [[[]], [["control"]], [["control", True, "x"]], {}, "x", [7]])
def test_an_odd_map_is_tampered_and_named(heads: object) -> None:
    log = small_log()
    row = dict(log.rows[5])
    head = json.loads(row["header"])
    row["payload"] = canonical({"heads": heads, "part": 0, "parts": 1})
    row["payload_digest"] = sha256(row["payload"]).digest()
    head["payload_sha256"] = row["payload_digest"].hex()
    row["header"] = canonical(head)
    row["leaf"] = sha256(b"\x00" + row["header"]).digest()
    log.rows[5] = row
    report = verify_dump(dump_of(log), [KEY], [])
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 5)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 200_000,
        b'{"type":' * 200_000,
        b'{"type": NaN}',
        b"[]",
        b"1" * 10_000,
        b'{"type": "end", "entries": ' + b"9" * 10_000 + b"}",
        '{"type": "entry"}'.encode("utf-16"),
        b'{"type": "\\ud800\\u001b[2J"}',
    ],
)
def test_an_odd_line_is_tampered_and_its_reason_is_plain_ascii(line: bytes) -> None:
    report = verify_dump([dump_of(small_log())[0], line], [KEY], [])
    assert report.exit_code == TAMPERED
    assert all(text.isascii() and text.isprintable() for text in report.lines)


@pytest.mark.parametrize("blob", [["0" * 64], "A" * 64, "x", 7])
def test_a_blob_that_is_no_digest_is_tampered_for_fsck_too(blob: object) -> None:
    log = OddLog().add("control", "operator_note", {"x_blob": blob}).signed()
    findings, named = judge_payloads(log.rows, ORIGIN)
    assert [(code, seq) for code, _, seq in findings] == [(TAMPERED, 0)]
    assert not named
    report = verify_dump(dump_of(log), [KEY], [])
    assert (report.exit_code, report.first_bad_seq) == (TAMPERED, 0)


def test_what_breaks_the_verifier_itself_is_tampered_with_its_name() -> None:
    def lines() -> Iterator[bytes]:
        yield dump_of(small_log())[0]
        raise ZeroDivisionError

    report = verify_dump(lines(), [KEY], [])
    assert report.exit_code == TAMPERED
    assert any("ZeroDivisionError" in line for line in report.lines)


def test_a_key_file_that_is_no_text_is_said_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, key = tmp_path / "dump", tmp_path / "key"
    dump.write_bytes(b"".join(dump_of(small_log())))
    key.write_bytes(b"\xff\xfe")
    assert main([str(dump), "--key", str(key)]) == NOT_CHECKABLE
    assert "UTF-8" in capsys.readouterr().out
    assert main([str(dump), "--key", KEY, "--checkpoint", str(tmp_path / "lost")]) == NOT_CHECKABLE
    assert main([str(dump), "--key", KEY]) == OK


def test_the_gateway_takes_a_kept_checkpoint_for_a_dump(tmp_path: Path) -> None:
    dump, kept, key = tmp_path / "dump", tmp_path / "kept", tmp_path / "key"
    log = small_log()
    dump.write_bytes(b"".join(dump_of(log)))
    kept.write_bytes(log.checkpoints[1].note)
    asked = ["verify", "--dump", str(dump), "--key", KEY, "--checkpoint"]
    sound = CliRunner().invoke(app, [*asked, str(kept)])
    assert (sound.exit_code, sound.output.splitlines()[-1]) == (OK, "OK: all as signed")
    assert CliRunner().invoke(app, [*asked, str(tmp_path / "lost")]).exit_code == NOT_CHECKABLE
    log.checkpoint()
    kept.write_bytes(log.checkpoints[-1].note)
    short = CliRunner().invoke(app, [*asked, str(kept)])
    assert short.exit_code == INCOMPLETE
    assert short.output.splitlines()[-1].startswith("INCOMPLETE: record ")
    key.write_bytes(b"\xff")
    bad = CliRunner().invoke(app, ["verify", "--dump", str(dump), "--key", str(key)])
    assert (bad.exit_code, "UTF-8" in bad.output) == (NOT_CHECKABLE, True)


@pytest.mark.parametrize(
    "more",
    [
        *(["--checkpoint", "noise"], ["--policy", "noise"], ["--rotation", "noise"]),
        *(["--rotation", "text"], ["--checkpoint", "text"], ["--policy", "text"]),
        *(["--key", "noise"], ["--policy", "."], ["--policy", "lost"]),
        *(["--consistency", "text"], ["--key"], ["another"], ["--state", "."], ["--dump", "."]),
    ],
    ids=" ".join,
)
def test_the_gateway_blames_no_log_for_wrong_arguments(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dump").write_bytes(b"".join(dump_of(small_log())))
    Path("noise").write_bytes(b"\xff\xfe")
    Path("text").write_text("neither a note nor a policy\n", encoding="utf-8")
    asked = ["verify", "--dump", "dump", "--key", KEY]
    assert CliRunner().invoke(app, asked).exit_code == OK
    said = CliRunner().invoke(app, [*asked, *more])
    assert said.exit_code == NOT_CHECKABLE, said.output
    assert said.output


def test_a_log_that_is_not_there_is_not_checkable(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["verify", "--key", KEY, "--state", str(tmp_path / "none")])
    assert said.exit_code == NOT_CHECKABLE
    assert said.output.startswith("NOT CHECKABLE: ")
    assert said.output.count("\n") == 1
