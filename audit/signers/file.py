"""The Signer protocol, and keys in files (Ed25519 and ML-DSA-44).

A key file is PEM (PKCS #8, unencrypted) with mode 0600, next to `<file>.pub` with the verifier
key as one line of text. The private key is read once and never leaves its signer. The key type
decides what a key signs: 0x01 notes, 0x04 and 0x06 cosignatures.

Not here: keys in a device (`pkcs11`).
"""

import os
import secrets
import stat
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from audit.errors import KeyFileError
from audit.files import PRIVATE, sync_folder
from audit.tlog.note import (
    COSIGNATURE_ED25519,
    COSIGNATURE_ML_DSA_44,
    ED25519,
    NoteSigner,
    VerifierKey,
)

_PrivateKey = Ed25519PrivateKey | MLDSA44PrivateKey


class Signer(NoteSigner, Protocol):
    """A signing key; for one thread at a time; may be slow."""


class _HeldKey:
    """A key held in memory under a name (the log's origin, or a witness's name)."""

    def __init__(self, name: str, key: _PrivateKey, key_type: int = ED25519) -> None:
        self._key = key
        public = key.public_key().public_bytes_raw()
        self._vkey = VerifierKey(name=name, key_type=key_type, public_key=public)

    @property
    def vkey(self) -> VerifierKey:
        """The public half, with its name."""
        return self._vkey

    def sign(self, message: bytes) -> bytes:
        """Return the signature: 64 bytes of Ed25519, or 2420 of ML-DSA-44 with empty context."""
        return self._key.sign(message)


class FileSigner(_HeldKey):
    """An Ed25519 key from a file."""

    @classmethod
    def generate(cls, path: Path, name: str, key_type: int = ED25519) -> "FileSigner":
        """Make a key, durable on return; raise KeyFileError if the file exists or on a failure."""
        signer = cls(name, Ed25519PrivateKey.generate(), key_type)
        _write_pair(path, signer._key, signer.vkey)
        return signer

    @classmethod
    def load(cls, path: Path, name: str, key_type: int = ED25519) -> "FileSigner":
        """Read a key file; raise KeyFileError if missing, malformed or readable by others."""
        key = _read_private(path)
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyFileError(f"{path} is not an Ed25519 key")
        return cls(name, key, key_type)


class MlDsaSigner(_HeldKey):
    """An ML-DSA-44 key from a file: cosigns with type 0x06."""

    def __init__(self, name: str, key: MLDSA44PrivateKey) -> None:
        super().__init__(name, key, COSIGNATURE_ML_DSA_44)

    @classmethod
    def generate(cls, path: Path, name: str) -> "MlDsaSigner":
        """Make a key and write it durably; raises as `FileSigner.generate`."""
        signer = cls(name, MLDSA44PrivateKey.generate())
        _write_pair(path, signer._key, signer.vkey)
        return signer

    @classmethod
    def load(cls, path: Path, name: str) -> "MlDsaSigner":
        """Read a key file; raises as `FileSigner.load`."""
        key = _read_private(path)
        if not isinstance(key, MLDSA44PrivateKey):
            raise KeyFileError(f"{path} is not an ML-DSA-44 key")
        return cls(name, key)


def load_cosigner(path: Path, name: str) -> Signer:
    """Read a witness's key, of type 0x04 or 0x06; raises as `FileSigner.load`."""
    key = _read_private(path)
    if isinstance(key, MLDSA44PrivateKey):
        return MlDsaSigner(name, key)
    return FileSigner(name, key, COSIGNATURE_ED25519)


def public_file(path: Path) -> Path:
    """Return the path of a key file's verifier key."""
    return path.with_name(path.name + ".pub")


def destroy_key(path: Path) -> None:
    """Overwrite a private key file with zeros and remove it, durably; its `.pub` file stays.

    Old blocks may survive on flash, with copy on write, and in snapshots and backups: use a key in
    a device there (`pkcs11`). A missing file is no error, so an interrupted rotation can continue.

    Raises:
        KeyFileError: it cannot be overwritten or removed.
    """
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise KeyFileError(f"cannot destroy {path}: {error.strerror}") from error


def refuse_open(path: Path, found: os.stat_result) -> None:
    """Raise KeyFileError for a secret file that others may read, or another owner may change."""
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise KeyFileError(f"{path} has mode {mode:o}; others must not read it (chmod 600)")
    if found.st_uid not in {0, os.geteuid()}:
        owner, me = found.st_uid, os.geteuid()
        raise KeyFileError(f"{path} belongs to user {owner}, who may change it (chown {me})")


def _read_private(path: Path) -> _PrivateKey:
    try:
        found = path.stat()
        data = path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"cannot read {path}: {error.strerror}") from error
    refuse_open(path, found)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"{path} is not a PEM private key") from error
    if not isinstance(key, _PrivateKey):
        raise KeyFileError(f"{path} is neither an Ed25519 nor an ML-DSA-44 key")
    return key


def _write_pair(path: Path, key: _PrivateKey, vkey: VerifierKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = public_file(path)
    if public.exists() and not path.exists():
        raise KeyFileError(f"{public} exists without its key: restore the key, or remove that file")
    try:
        write_new(path, pem, PRIVATE)
        write_new(public, f"{vkey}\n".encode(), 0o644)
    except OSError as error:
        raise KeyFileError(f"cannot write {path}: {error.strerror}") from error


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a new file, complete and durable, or none; never overwrite a file.

    A crash may leave a `PATH.*.part` file, which nothing reads.

    Raises:
        OSError: the file exists or cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(path.parent)
