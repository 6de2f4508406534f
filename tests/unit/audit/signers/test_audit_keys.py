"""Keys in files: made once, read by their owner only, destroyed without a trace in the file."""

import os
from pathlib import Path

import pytest

from audit.errors import KeyFileError
from audit.signers.file import FileSigner, MlDsaSigner, destroy_key, load_cosigner, public_file
from audit.tlog.checkpoint import checkpoint_text
from audit.tlog.cosignature import cosign
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    COSIGNATURE_ML_DSA_44,
    ED25519,
    VerifierKey,
    sign_note,
    verify_note,
)
from tests.doubles.cosigners import verify_cosignature

NAME = "keys.example/log"


def test_a_key_of_each_kind_is_made_and_read_back(tmp_path: Path) -> None:
    plain = FileSigner.generate(tmp_path / "log.key", NAME)
    witness = FileSigner.generate(tmp_path / "w4.key", NAME, COSIGNATURE_ED25519)
    safe = MlDsaSigner.generate(tmp_path / "w6.key", NAME)
    assert FileSigner.load(tmp_path / "log.key", NAME).vkey == plain.vkey
    assert load_cosigner(tmp_path / "w4.key", NAME).vkey == witness.vkey
    assert load_cosigner(tmp_path / "w6.key", NAME).vkey == safe.vkey
    assert [s.vkey.key_type for s in (plain, witness, safe)] == [
        ED25519,
        COSIGNATURE_ED25519,
        COSIGNATURE_ML_DSA_44,
    ]
    for signer, file in ((plain, "log.key"), (witness, "w4.key"), (safe, "w6.key")):
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600
        assert VerifierKey.parse(public_file(tmp_path / file).read_text()) == signer.vkey
    assert verify_note(sign_note("text\n", plain), [plain.vkey])
    text = checkpoint_text("log.example/a", 1, bytes(32))
    note = sign_note(text, plain).with_signatures(cosign(text, witness, 5), cosign(text, safe, 6))
    assert verify_cosignature(note, witness.vkey) == 5
    assert verify_cosignature(note, safe.vkey) == 6


def test_an_existing_key_is_never_overwritten(tmp_path: Path) -> None:
    FileSigner.generate(tmp_path / "a.key", NAME)
    before = (tmp_path / "a.key").read_bytes()
    for make in (FileSigner.generate, MlDsaSigner.generate):
        with pytest.raises(KeyFileError):
            make(tmp_path / "a.key", NAME)
    assert (tmp_path / "a.key").read_bytes() == before


def test_a_file_that_is_no_key_of_the_right_kind_is_refused(tmp_path: Path) -> None:
    FileSigner.generate(tmp_path / "ed.key", NAME)
    MlDsaSigner.generate(tmp_path / "ml.key", NAME)
    (tmp_path / "bad.key").touch(mode=0o600)
    with pytest.raises(KeyFileError, match="ML-DSA"):
        MlDsaSigner.load(tmp_path / "ed.key", NAME)
    with pytest.raises(KeyFileError, match="Ed25519"):
        FileSigner.load(tmp_path / "ml.key", NAME)
    for name in ("bad.key", "absent.key"):
        with pytest.raises(KeyFileError):
            FileSigner.load(tmp_path / name, NAME)
    (tmp_path / "ed.key").chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        load_cosigner(tmp_path / "ed.key", NAME)


def test_a_destroyed_key_leaves_zeros_and_no_name(tmp_path: Path) -> None:
    path = tmp_path / "log.key"
    FileSigner.generate(path, NAME)
    other = tmp_path / "other name of the same bytes"
    os.link(path, other)
    destroy_key(path)
    assert not path.exists()
    assert public_file(path).exists()
    assert other.read_bytes() == bytes(other.stat().st_size)
    destroy_key(path)
    with pytest.raises(KeyFileError, match="destroy"):
        destroy_key(tmp_path)
