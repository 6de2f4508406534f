"""A signing key in a device: Ed25519 through PKCS#11, named by a URI. The only door to `pkcs11`.

    pkcs11:token=countersign;object=ledger?module-path=/usr/lib/softhsm/libsofthsm2.so
        &pin-source=file:/etc/countersign/pin        (one line, no spaces)

The key is made in the device, cannot be read out of it, and signs note text there. The PIN is in a
file that only its owner can read, never in the URI. Devices are slow and may be absent: a lost
session is opened again once, then the error goes to the caller.

Not here: which key a log uses (`gateway/installation/keys/rotation.py`).

Source: RFC 7512 for the URI; PKCS#11 3.0 section 2.3.9 for EdDSA; RFC 8410 for the curve's name.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass, PKCS11Error
from pkcs11.util.ec import encode_named_curve_parameters

from audit.errors import KeyFileError
from audit.signers.file import refuse_open
from audit.tlog.note import ED25519, PUBLIC_KEY_BYTES, VerifierKey

SCHEME = "pkcs11:"
_CURVE = encode_named_curve_parameters("1.3.101.112")
_PATH = {"token", "object", "id"}
_QUERY = {"module-path", "pin-source"}
_POINT = b"\x04\x20"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUri:
    """A key's place: module, token and label, and the file with the PIN."""

    module: str
    token: str
    label: str
    pin_file: Path
    key_id: bytes | None = None

    @classmethod
    def parse(cls, text: str) -> "KeyUri":
        """Read a URI; raise KeyFileError for another form, or for unknown attributes."""
        if not text.startswith(SCHEME):
            raise KeyFileError(f"a key's URI starts with {SCHEME}")
        path, _, query = text.removeprefix(SCHEME).partition("?")
        named = dict(part.partition("=")[::2] for part in path.split(";"))
        asked = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := (named.keys() - _PATH) | (asked.keys() - _QUERY):
            raise KeyFileError(f"URI of a key: {', '.join(sorted(unknown))} is not used here")
        if missing := ({"token", "object"} - named.keys()) | (_QUERY - asked.keys()):
            raise KeyFileError(f"URI of a key needs {', '.join(sorted(missing))}")
        source = asked["pin-source"].removeprefix("file:")
        return cls(
            module=asked["module-path"],
            token=unquote(named["token"]),
            label=unquote(named["object"]),
            pin_file=Path("/" + source.lstrip("/") if source.startswith("/") else source),
            key_id=unquote(named["id"], "latin-1").encode("latin-1") if "id" in named else None,
        )


class Pkcs11Signer:
    """An Ed25519 key that never leaves its device; safe to use from several threads."""

    def __init__(self, uri: str, name: str) -> None:
        """Open the device; raise KeyFileError if device, token, PIN or key is missing."""
        self._place = KeyUri.parse(uri)
        self._lock = threading.Lock()
        with _naming(self._place):
            self._session = _open(self._place, write=False)
            public = _point(self._find(ObjectClass.PUBLIC_KEY)[Attribute.EC_POINT])
            self._key = self._find(ObjectClass.PRIVATE_KEY)
        self._vkey = VerifierKey(name=name, public_key=public)

    @property
    def vkey(self) -> VerifierKey:
        """The public half, with its name."""
        return self._vkey

    def sign(self, message: bytes) -> bytes:
        """Return 64 bytes of Ed25519; raise KeyFileError if the device makes no valid signature."""
        with self._lock:
            try:
                signature = self._sign(message)
            except PKCS11Error:
                signature = self._sign_again(message)
        if not self._vkey.verify(signature, message):
            raise KeyFileError(f"{self._place.label}: the device's signature does not verify")
        return signature

    def close(self) -> None:
        """Close the session."""
        with self._lock:
            self._session.close()

    @classmethod
    def generate(cls, uri: str, name: str) -> "Pkcs11Signer":
        """Make the key in the device; raise KeyFileError if the label is taken or it refuses."""
        place = KeyUri.parse(uri)
        with _naming(place), _open(place, write=True) as session:
            if list(session.get_objects({Attribute.LABEL: place.label})):
                raise KeyFileError(f"token {place.token} has an object {place.label} already")
            session.create_domain_parameters(
                KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: _CURVE}, local=True
            ).generate_keypair(
                mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN,
                store=True,
                label=place.label,
                id=place.key_id or place.label.encode(),
                private_template={Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False},
            )
        return cls(uri, name)

    @staticmethod
    def exists(uri: str) -> bool:
        """Return whether the label is taken; raise KeyFileError if device or token is missing."""
        place = KeyUri.parse(uri)
        with _naming(place), _open(place, write=False) as session:
            return bool(list(session.get_objects(_template(place))))

    @staticmethod
    def destroy(uri: str) -> None:
        """Remove both halves if there are any; raise KeyFileError if the device refuses."""
        place = KeyUri.parse(uri)
        with _naming(place), _open(place, write=True) as session:
            for found in list(session.get_objects(_template(place))):
                found.destroy()

    def _find(self, kind: ObjectClass) -> Any:  # noqa: ANN401 - one class with every mixin
        found = list(self._session.get_objects({**_template(self._place), Attribute.CLASS: kind}))
        if len(found) != 1:
            raise KeyFileError(
                f"token {self._place.token} has {len(found)} keys {self._place.label}, expected 1"
            )
        return found[0]

    def _sign(self, message: bytes) -> bytes:
        return bytes(self._key.sign(message, mechanism=Mechanism.EDDSA))

    def _sign_again(self, message: bytes) -> bytes:
        """Sign in a new session, because the old one may be lost."""
        with _naming(self._place):
            self._session = _open(self._place, write=False)
            self._key = self._find(ObjectClass.PRIVATE_KEY)
            return self._sign(message)


def _open(place: KeyUri, *, write: bool) -> pkcs11.Session:
    token = pkcs11.lib(place.module).get_token(token_label=place.token)
    try:
        return token.open(rw=write, user_pin=_pin(place.pin_file))
    except pkcs11.UserAlreadyLoggedIn:
        return token.open(rw=write)


def _pin(path: Path) -> str:
    try:
        found = path.stat()
        pin = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"cannot read the PIN from {path}") from error
    refuse_open(path, found)
    return pin


def _template(place: KeyUri) -> dict[Attribute, object]:
    template: dict[Attribute, object] = {Attribute.LABEL: place.label}
    if place.key_id is not None:
        template[Attribute.ID] = place.key_id
    return template


def _point(value: bytes) -> bytes:
    """Return the 32 bytes of a point, which some devices wrap in an octet string."""
    size = PUBLIC_KEY_BYTES[ED25519]
    if len(value) == size + len(_POINT) and value.startswith(_POINT):
        return value[len(_POINT) :]
    if len(value) == size:
        return value
    raise KeyFileError("the device's key is not Ed25519")


@contextlib.contextmanager
def _naming(place: KeyUri) -> Iterator[None]:
    """Turn the device's errors into one that names the key."""
    try:
        yield
    except (PKCS11Error, RuntimeError, KeyError) as error:
        reason = str(error) or type(error).__name__
        raise KeyFileError(f"key {place.label} in token {place.token}: {reason}") from error
