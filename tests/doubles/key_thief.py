"""What the thief of a log's old keys can say, and what he may gain by it: a model in a few lines.

The log had three keys; the first ended at a tree of 10, the second at one of 20. The thief holds
some of them, and keys that he made up. He writes what he likes into a log of his own: any change
of keys that he can sign, the honest ones, in any order. Who judges it was told, from outside, of
the end of every stolen key that comes after one of his trusted keys; those before all of these he
knows backwards only.
"""

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.signers.file import FileSigner
from audit.tlog.rotation import revoke, rotate
from tests.doubles.audit_log import ORIGIN, SIGNER, TIME_US

ENDS = (10, 20)
BEYOND = 10**6


def signer(seed: bytes) -> FileSigner:
    """Return a key of the log's name."""
    return FileSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(seed * 32))


HONEST = (SIGNER, signer(b"2"), signer(b"3"))
INVENTED = (signer(b"t"), signer(b"u"))


@cache
def rotation(old: FileSigner, new: FileSigner, size: int) -> str:
    """Return a statement of both."""
    return rotate(old, new, size, TIME_US).statement.decode()


@cache
def revocation(by: FileSigner, of: FileSigner, from_us: int) -> str:
    """Return a statement of one about the other."""
    return revoke(by, of.vkey, from_us).statement.decode()


HANDED_OVER = tuple(rotation(*HONEST[n : n + 2], end) for n, end in enumerate(ENDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Theft:
    """One case.

    Attributes:
        roots: keys that are trusted from outside.
        given: changes of keys from outside.
        inside: the changes that the thief's log holds.
        held: the keys that he holds.
        limit: no key of his counts for a tree larger than this; -1 for none at all.
    """

    roots: tuple[FileSigner, ...]
    given: tuple[str, ...]
    inside: tuple[str, ...]
    held: tuple[FileSigner, ...]
    limit: int


def theft(chance: Random) -> Theft:
    """Draw a case."""
    stolen = chance.choice([(0,), (1,), (0, 1)])
    trusted = chance.choice([(2,), (1, 2), (0, 2), (0, 1, 2), (0,), (1,), (0, 1)])
    revoked = [n for n in stolen if chance.random() < 0.4]
    told = {n for n in stolen if n >= min(trusted)}
    if 2 not in trusted and revoked:
        told |= set(range(min(trusted), 2))
    given = [HANDED_OVER[n] for n in range(2) if n in told or chance.random() < 0.3]
    given += [revocation(HONEST[2], HONEST[n], 100) for n in revoked]
    held = (*(HONEST[n] for n in stolen), *INVENTED)
    pairs = [(old, new) for old, new in permutations(held, 2) if new not in HONEST[:2]]
    forged = [
        rotation(*chance.choice(pairs), chance.choice([0, 15, BEYOND])),
        rotation(*chance.choice(list(permutations(held, 2))), chance.choice([0, 15, BEYOND])),
        revocation(chance.choice(held), HONEST[2], 1),
        revocation(INVENTED[0], chance.choice(HONEST), 1),
    ]
    inside = [one for one in forged if chance.random() < 0.6]
    inside += [one for one in HANDED_OVER if chance.random() < 0.7]
    if chance.random() < 0.5:
        chance.shuffle(inside)
    return Theft(
        roots=tuple(HONEST[n] for n in trusted),
        given=tuple(chance.sample(given, len(given))),
        inside=tuple(inside),
        held=held,
        limit=max((ENDS[n] for n in stolen if n not in revoked), default=-1),
    )
