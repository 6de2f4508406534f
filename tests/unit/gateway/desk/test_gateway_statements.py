"""A statement holds for one purpose, one ledger, one press, and only with both roles' keys."""

import json
from pathlib import Path

import pytest

from gateway.desk.controls.statements import all_signed, release_statement, statement
from gateway.installation.keys.keyring import Keyring

LOG = "log.test#" + "ab" * 32
PRESS = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys")


def signed(ring: Keyring, what: bytes) -> dict[str, str]:
    return {role: ring.signing_key(role).sign(what).hex() for role in ("risk", "compliance")}


def test_the_bytes_to_sign_are_fixed() -> None:
    assert release_statement(LOG, 3, PRESS).decode().splitlines() == [
        "countersign statement v2",
        "kill release",
        LOG,
        "epoch 3",
        f"press {PRESS}",
    ]


def test_a_release_needs_both_roles_for_this_press_of_this_ledger(
    ring: Keyring, tmp_path: Path
) -> None:
    keys, what = ring.public_keys(), release_statement(LOG, 3, PRESS)
    good = signed(ring, what)
    assert all_signed(what, good, keys)
    swapped = {"risk": good["compliance"], "compliance": good["risk"]}
    for bad in (
        {},
        {"risk": good["risk"]},
        {"compliance": good["compliance"]},
        {"risk": good["risk"], "compliance": good["risk"]},
        swapped,
        signed(ring, release_statement(LOG, 2, PRESS)),
        signed(ring, release_statement("log.test#" + "cd" * 32, 3, PRESS)),
        signed(ring, release_statement(LOG, 3, "f" * 32)),
        signed(ring, statement("another purpose", LOG, "epoch 3", f"press {PRESS}")),
        signed(Keyring.create(tmp_path / "other"), what),
        {**good, "risk": "zz"},
        {**good, "risk": ""},
    ):
        assert not all_signed(what, bad, keys), json.dumps(bad)
    assert not all_signed(release_statement(LOG, 4, PRESS), good, keys)
    assert not all_signed(what, good, {"risk": keys["risk"]})


@pytest.mark.parametrize("part", ["", "two\nlines", "two\u2028lines", "a\r"])
def test_no_part_of_a_statement_can_pass_for_two(part: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        statement("a purpose", LOG, part)
    with pytest.raises(ValueError, match="one line"):
        statement("a purpose", part)
