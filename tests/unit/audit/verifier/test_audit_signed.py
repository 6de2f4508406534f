"""What two officers signed is checked with keys that come from outside the log."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.records.row_key import disavowal
from audit.verifier.verify import Bad, read_officers
from tests.doubles.audit_log import dump_of, empty_position
from tests.doubles.both_verifiers import both
from tests.doubles.broker_files import LOG, SIGNER, SignedLog

RISK, COMPLIANCE, SUCCESSOR = (
    Ed25519PrivateKey.from_private_bytes(bytes([n] * 32)) for n in (1, 2, 3)
)


def file_of(role: str, key: Ed25519PrivateKey) -> str:
    return f"countersign-officer-public {role} one {key.public_key().public_bytes_raw().hex()}\n"


def said_of(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str], *keys: tuple[str, str]
) -> tuple[int, str]:
    log.checkpoint()
    dump = tmp_path / "dump"
    dump.write_bytes(b"".join(dump_of(log)))
    asked = [str(dump), "--key", str(SIGNER.vkey)]
    for role, text in keys:
        (tmp_path / role).write_text(text)
        asked += ["--officer", str(tmp_path / role)]
    return both(capsys, *asked)


@pytest.fixture
def log() -> SignedLog:
    """A log with a key of its own and no record."""
    return SignedLog(position=replace(empty_position(), log=LOG))


def _draft(kind: Kind, payload: dict[str, Any], idem_key: str) -> Draft:
    return Draft(stream="control", kind=kind, payload=payload, actor="cli", idem_key=idem_key)


def disavow(log: SignedLog, *, second: Ed25519PrivateKey) -> None:
    """Append a note, and its disavowal by the risk officer and a second key."""
    note: dict[str, str] = {"author": "x", "text": "y"}
    log.append(_draft(Kind.OPERATOR_NOTE, note, "note:1"))
    row = log.rows[-1]
    text = disavowal(LOG, row["seq"], bytes(row["leaf"]))
    signatures = {"risk": RISK.sign(text).hex(), "compliance": second.sign(text).hex()}
    log.append(
        _draft(
            Kind.RECORD_DISAVOWED,
            {
                "seq": row["seq"],
                "leaf": bytes(row["leaf"]).hex(),
                "of_stream": "control",
                "reason": "r",
                "signatures": signatures,
            },
            "disavowed:1",
        )
    )


def test_a_disavowed_record_is_said_so_and_its_signatures_are_checked(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disavow(log, second=COMPLIANCE)
    keys = [("risk", file_of("risk", RISK)), ("compliance", file_of("compliance", COMPLIANCE))]
    code, said = said_of(log, tmp_path, capsys, *keys)
    assert (code, "is disavowed by record 1: both officers signed" in said) == (0, True), said
    code, said = said_of(log, tmp_path, capsys)
    assert (code, "give --officer to check both signatures" in said) == (0, True), said


def test_a_disavowal_that_one_officer_signed_counts_for_nothing(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disavow(log, second=RISK)
    keys = [("risk", file_of("risk", RISK)), ("compliance", file_of("compliance", COMPLIANCE))]
    _, said = said_of(log, tmp_path, capsys, *keys)
    assert "without both officers' signatures: it counts for nothing" in said


def change_key(log: SignedLog, *, leaf: bytes | None = None) -> None:
    """Let the risk officer's key follow another, by a statement that names the first record."""
    log.append(_draft(Kind.OPERATOR_NOTE, {"author": "x", "text": "first"}, "note:0"))
    first = bytes(log.rows[0]["leaf"]) if leaf is None else leaf
    before, after = (k.public_key().public_bytes_raw().hex() for k in (RISK, SUCCESSOR))
    text = (
        f"countersign statement v2\nofficer key\n{LOG}#{first.hex()}\nchange 0\nrole risk\n"
        f"before {before}\nafter {after}\nname one\n"
    ).encode()
    signatures = {"risk": RISK.sign(text).hex(), "compliance": COMPLIANCE.sign(text).hex()}
    payload = {"role": "risk", "name": "one", "before": before, "after": after, "reason": "r"}
    log.append(
        _draft(Kind.OFFICER_KEY_CHANGED, {**payload, "signatures": signatures}, "officer_key:0")
    )


def test_a_changed_officers_key_must_be_the_one_on_record(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_key(log)
    other = ("compliance", file_of("compliance", COMPLIANCE))
    code, said = said_of(log, tmp_path, capsys, ("risk", file_of("risk", SUCCESSOR)), other)
    assert code == 0, said
    code, said = said_of(log, tmp_path, capsys, ("risk", file_of("risk", RISK)), other)
    assert (code, "record 1 has another key of the role risk" in said) == (3, True), said


def test_a_change_of_key_that_was_signed_for_another_ledger_is_none(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ledger of the same name, begun by other records: its officers' signatures are copied."""
    change_key(log, leaf=bytes(32))
    keys = [("risk", file_of("risk", SUCCESSOR)), ("compliance", file_of("compliance", COMPLIANCE))]
    code, said = said_of(log, tmp_path, capsys, *keys)
    assert (code, "without both signatures" in said) == (1, True), said


@pytest.mark.parametrize("text", ["", "countersign-officer-private risk one " + "0" * 64, "x"])
def test_what_is_no_officers_public_key_is_refused(text: str) -> None:
    with pytest.raises(Bad, match="writes an officer's"):
        read_officers([("risk.pub", text)])
