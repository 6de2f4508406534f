"""Cosigners with fixed keys: witnesses of both types, small real signers behind the Protocol."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from audit.errors import NoteError
from audit.tlog.cosignature import COSIGNER_TYPES, verify_signatures
from audit.tlog.note import COSIGNATURE_ED25519, COSIGNATURE_ML_DSA_44, ED25519, Note, VerifierKey


class Cosigner:
    """A key of any signature type made from a number."""

    def __init__(self, name: str, seed: int, key_type: int = COSIGNATURE_ED25519) -> None:
        """Make the key whose 32-byte seed repeats one number."""
        self._key: Ed25519PrivateKey | MLDSA44PrivateKey = (
            MLDSA44PrivateKey.from_seed_bytes(bytes([seed]) * 32)
            if key_type == COSIGNATURE_ML_DSA_44
            else Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        )
        public = self._key.public_key().public_bytes_raw()
        self._vkey = VerifierKey(name=name, key_type=key_type, public_key=public)

    @property
    def vkey(self) -> VerifierKey:
        """The public half, with its name."""
        return self._vkey

    def sign(self, message: bytes) -> bytes:
        """Return the raw signature."""
        return self._key.sign(message)


LOG = Cosigner("log.example/a", 1, ED25519)
WITNESSES = tuple(Cosigner(f"w{number}.example", 10 + number) for number in range(4))
QUANTUM_SAFE = Cosigner("w9.example", 19, COSIGNATURE_ML_DSA_44)


def verify_cosignature(note: Note, key: VerifierKey) -> int:
    """Return the time at which a cosigner signed the checkpoint, in seconds.

    A cosigner may have signed more than once; the earliest time is returned.

    Raises:
        NoteError: no line of this key, or one that does not verify.
    """
    if key.key_type not in COSIGNER_TYPES:
        raise NoteError(f"{key.name} is not a cosigner's key")
    time_s = verify_signatures(note, [key])[0].time_s
    assert time_s is not None
    return time_s
