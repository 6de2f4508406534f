"""A key in a device: SoftHSM's real token signs notes and checkpoints through PKCS#11."""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.errors import KeyFileError
from audit.signers.file import FileSigner
from audit.signers.pkcs11 import KeyUri, Pkcs11Signer
from audit.tlog.checkpoint import make_checkpoint, open_checkpoint
from audit.tlog.note import sign_note, verify_note
from audit.tlog.rotation import rotate, trusted_keys
from tests.doubles.softhsm import MODULE, Token

NAME = "device.example/log"


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Token]:
    """One token with a PIN in a file, for every test of this module."""
    with Token.create(tmp_path_factory.mktemp("token")) as made:
        yield made


def test_a_device_signs_what_a_file_key_would(token: Token) -> None:
    signer = Pkcs11Signer.generate(token.uri("signs"), NAME)
    assert verify_note(sign_note("text\n", signer), [signer.vkey]) == (signer.vkey,)
    checkpoint = make_checkpoint(3, bytes(32), signer)
    assert open_checkpoint(checkpoint.note, [signer.vkey]).size == 3
    again = Pkcs11Signer(token.uri("signs"), NAME)
    assert again.vkey == signer.vkey
    assert again.sign(b"message") == signer.sign(b"message")


def test_a_log_can_move_its_key_into_a_device(token: Token, tmp_path: Path) -> None:
    old = FileSigner.generate(tmp_path / "old.key", NAME)
    new = Pkcs11Signer.generate(token.uri("moved"), NAME)
    keys = trusted_keys([old.vkey], [rotate(old, new, 5, 6)])
    assert [item.key for item in keys] == [old.vkey, new.vkey]


def test_several_threads_sign_through_one_session(token: Token) -> None:
    signer = Pkcs11Signer.generate(token.uri("threads"), NAME)
    expected = signer.sign(b"message")
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(signer.sign(b"message"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_a_lost_session_is_opened_again(token: Token) -> None:
    signer = Pkcs11Signer.generate(token.uri("lost"), NAME)
    before = signer.sign(b"message")
    signer.close()
    assert signer.sign(b"message") == before


def test_a_key_is_made_once_and_gone_when_destroyed(token: Token) -> None:
    uri = token.uri("once")
    assert not Pkcs11Signer.exists(uri)
    signer = Pkcs11Signer.generate(uri, NAME)
    assert Pkcs11Signer.exists(uri)
    with pytest.raises(KeyFileError, match="already"):
        Pkcs11Signer.generate(uri, NAME)
    Pkcs11Signer.destroy(uri)
    Pkcs11Signer.destroy(uri)
    assert not Pkcs11Signer.exists(uri)
    with pytest.raises(KeyFileError, match="0 keys"):
        Pkcs11Signer(uri, NAME)
    with pytest.raises(KeyFileError):
        signer.sign(b"message")


def test_the_private_key_cannot_be_read_out(token: Token) -> None:
    Pkcs11Signer.generate(token.uri("sealed"), NAME)
    listed = subprocess.run(
        ["softhsm2-util", "--show-slots"], capture_output=True, text=True, check=True
    )
    assert "countersign" in listed.stdout
    for path in token.folder.rglob("*.object"):
        assert b"PRIVATE KEY" not in path.read_bytes()


def test_what_is_not_there_is_one_clear_error(token: Token, tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="other"):
        Pkcs11Signer(token.uri("key", token="other"), NAME)
    with pytest.raises(KeyFileError):
        Pkcs11Signer(token.uri("key", module=tmp_path / "no-module.so"), NAME)
    with pytest.raises(KeyFileError, match="PIN"):
        Pkcs11Signer(token.uri("key", pin=tmp_path / "no-pin"), NAME)
    wide = tmp_path / "wide-pin"
    wide.write_text("5678\n")
    wide.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        Pkcs11Signer(token.uri("key", pin=wide), NAME)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:/etc/key",
        "pkcs11:",
        "pkcs11:token=a;object=b",
        f"pkcs11:token=a;object=b?module-path={MODULE}",
        f"pkcs11:object=b?module-path={MODULE}&pin-source=file:/pin",
        f"pkcs11:token=a;object=b?module-path={MODULE}&pin-value=1234",
        f"pkcs11:token=a;object=b;serial=1?module-path={MODULE}&pin-source=file:/pin",
    ],
)
def test_a_uri_that_says_too_little_or_something_else_is_refused(uri: str) -> None:
    with pytest.raises(KeyFileError):
        KeyUri.parse(uri)


def test_a_uri_is_read_with_its_escapes() -> None:
    uri = (
        "pkcs11:token=my%20token;object=log%3Bkey;id=%01%ff?module-path=/m.so&pin-source=file:///p"
    )
    assert KeyUri.parse(uri) == KeyUri(
        module="/m.so", token="my token", label="log;key", pin_file=Path("/p"), key_id=b"\x01\xff"
    )
