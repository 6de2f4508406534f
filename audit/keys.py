"""Who signs: the Signer protocol and an Ed25519 key in a file.

A key file is PEM (PKCS #8, unencrypted) with mode 0600, next to `<file>.pub` with the verifier
key as one line of text. The private key is read once and never leaves `FileSigner`.
"""

import os
import stat
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.errors import KeyFileError
from audit.note import NoteSigner, VerifierKey

KEY_FILE_MODE = 0o600


class Signer(NoteSigner, Protocol):
    """A signing key; safe to use from one thread at a time, slow back ends allowed."""


class FileSigner:
    """An Ed25519 key held in memory, loaded from a file."""

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        """Hold a key under a name (the log's origin)."""
        self._key = key
        public = key.public_key().public_bytes_raw()
        self._vkey = VerifierKey(name=name, public_key=public)

    @property
    def vkey(self) -> VerifierKey:
        """The public half, with its name."""
        return self._vkey

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of the message."""
        return self._key.sign(message)

    @classmethod
    def generate(cls, path: Path, name: str) -> "FileSigner":
        """Make a key and write it durably; an existing file is never overwritten.

        Raises:
            KeyFileError: the file exists or cannot be written.
        """
        signer = cls(name, Ed25519PrivateKey.generate())
        pem = signer._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            _write_new(path, pem, KEY_FILE_MODE)
            _write_new(path.with_name(path.name + ".pub"), f"{signer.vkey}\n".encode(), 0o644)
        except OSError as error:
            raise KeyFileError(f"cannot write {path}: {error.strerror}") from error
        return signer

    @classmethod
    def load(cls, path: Path, name: str) -> "FileSigner":
        """Read a key file that only its owner can read.

        Raises:
            KeyFileError: missing, malformed, of another type, or readable by others.
        """
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            data = path.read_bytes()
        except OSError as error:
            raise KeyFileError(f"cannot read {path}: {error.strerror}") from error
        if mode & 0o077:
            raise KeyFileError(f"{path} has mode {mode:o}; others must not read it (chmod 600)")
        try:
            key = serialization.load_pem_private_key(data, password=None)
        except (ValueError, TypeError) as error:
            raise KeyFileError(f"{path} is not a PEM private key") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyFileError(f"{path} is not an Ed25519 key")
        return cls(name, key)


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a new file durably: exclusive create, fsync of file and folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
