"""A MAC fits one leaf under one key; officers disavow together or not at all."""

import hmac

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.row_key import Accepted, RowKey, disavowal, mac_of, signed_by_all
from audit.tlog.merkle import EMPTY_ROOT

KEYS = {role: Ed25519PrivateKey.from_private_bytes(role.encode().ljust(32)) for role in ("r", "c")}
OFFICERS = {role: key.public_key().public_bytes_raw() for role, key in KEYS.items()}
LEAF, OTHER = bytes(range(32)), bytes(32)


def key_of(secret: bytes = b"s" * 32, origin: str = "log", instance: bytes = b"i" * 16) -> RowKey:
    return RowKey.of(secret, origin, instance, accepted=Accepted(), officers=OFFICERS)


def nothing() -> bytes:
    raise AssertionError("no rows were accepted: none is read")


@pytest.mark.parametrize("length", [1, 31, 32, 63, 64])
def test_the_mac_is_hmac_sha256(length: int) -> None:
    secret = bytes(range(length))
    assert mac_of(secret)(LEAF) == hmac.digest(secret, LEAF, "sha256")


def test_a_mac_fits_its_own_leaf_under_its_own_key_only() -> None:
    key = key_of()
    mac = key.mac(LEAF)
    assert key.problem(0, LEAF, mac, nothing) == ""
    assert key.problem(0, OTHER, mac, nothing) == "has a MAC that this gateway did not make"
    assert key.problem(0, LEAF, None, nothing) == "has no MAC"
    for stranger in (key_of(b"t" * 32), key_of(origin="gol"), key_of(instance=b"j" * 16)):
        assert stranger.problem(0, LEAF, mac, nothing)


def test_rows_of_before_the_key_count_by_their_leaf_below_the_named_size() -> None:
    key = RowKey("log", mac_of(b"k"), Accepted(size=2, root=EMPTY_ROOT), OFFICERS)
    leaves = OTHER + LEAF
    assert key.problem(1, LEAF, None, lambda: leaves) == ""
    assert key.problem(0, LEAF, None, lambda: leaves) == "has no MAC"
    assert key.problem(2, LEAF, None, lambda: leaves) == "has no MAC"


def test_a_disavowal_takes_every_officer_and_this_very_row() -> None:
    said = disavowal("log", 7, LEAF)
    both = {role: key.sign(said).hex() for role, key in KEYS.items()}
    assert signed_by_all(said, both, OFFICERS)
    assert not signed_by_all(said, both, {})
    assert not signed_by_all(said, {"r": both["r"]}, OFFICERS)
    assert not signed_by_all(said, {"r": both["r"], "c": both["r"]}, OFFICERS)
    assert not signed_by_all(said, {"r": both["r"], "c": "no hex"}, OFFICERS)
    for other in (
        disavowal("gol", 7, LEAF),
        disavowal("log", 8, LEAF),
        disavowal("log", 7, OTHER),
    ):
        assert not signed_by_all(other, both, OFFICERS)
