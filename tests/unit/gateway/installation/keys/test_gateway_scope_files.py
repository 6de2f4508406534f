"""A scope file says every limit; a fault is named, and a key never loses its scope by accident."""

from datetime import datetime
from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import EXAMPLE, TAKEN, KeyScope
from risk.intent import Side


def scope_file(folder: Path, text: str = EXAMPLE) -> Path:
    file = folder / "scope.toml"
    file.write_text(text)
    return file


def test_the_example_is_a_scope_and_comes_back_from_the_key_folder(tmp_path: Path) -> None:
    file = scope_file(tmp_path)
    token = Keyring.issue_in(tmp_path / "keys", "a-key", Role.AGENT, replace=False, scope=file)
    caller = Keyring(tmp_path / "keys").authenticate(token)
    assert caller is not None
    assert caller.scope == KeyScope.read(file, "a-key")
    assert caller.scope.sides == (Side.BUY, Side.SELL)
    assert caller.scope.order_notional_max_minor == 5_000_000
    assert caller.scope.expires_us == 1_801_440_000_000_000, "the end of 2027-01-31"


@pytest.mark.parametrize("number", range(6))
def test_no_limit_may_be_missing(tmp_path: Path, number: int) -> None:
    lines = EXAMPLE.splitlines()
    name = lines[number].partition(" ")[0]
    del lines[number]
    with pytest.raises(SettingsError, match=f"{name}: Field required"):
        KeyScope.read(scope_file(tmp_path, "\n".join(lines)), "a-key")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"SPXN"', '"SP XN"', "instruments.0"),
        ('"BUY", "SELL"', '"HOLD"', "HOLD"),
        ('"50000.00"', "50000.00", "order_notional_max"),
        ('"50000.00"', '"1e9"', "order_notional_max"),
        ("= 6", "= 0", "intents_per_minute"),
        ("at_once = 3", "at_once = 0", "intents_at_once"),
        ('"SPXN"', '"**"', "instruments.0"),
        ("2027-01-31 ", '"soon"', "expires"),
        ('"desk-1"', '"agent"', "account: agent is taken"),
        ("account", "acount", "acount"),
        ("sides", "sides = 1\nsides", "TOML|overwrite"),
    ],
)
def test_a_fault_is_named_and_a_whole_file_shown(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as refused:
        KeyScope.read(scope_file(tmp_path, EXAMPLE.replace(old, new, 1)), "a-key")
    assert EXAMPLE in str(refused.value)


def test_a_scope_without_a_burst_has_the_digest_that_it_had_before(tmp_path: Path) -> None:
    """Orders at work name the digest of the scope that they were asked for under."""
    text = "\n".join(line for line in EXAMPLE.splitlines() if "at_once" not in line)
    scope = KeyScope.read(scope_file(tmp_path, text), "a-key")
    assert "intents_at_once" not in scope.document()
    assert scope.covers("SPXN")
    assert not scope.covers("NDXN")


def test_a_scope_is_an_agents_and_a_new_key_does_not_drop_it(tmp_path: Path) -> None:
    ring, scope = Keyring.create(tmp_path / "keys"), KeyScope.read(scope_file(tmp_path), "a-key")
    with pytest.raises(SettingsError, match="role operator has no scope"):
        ring.issue("a-key", Role.OPERATOR, scope=scope)
    ring.issue("a-key", Role.AGENT, scope=scope)
    with pytest.raises(SettingsError, match="would be wider"):
        ring.issue("a-key", Role.AGENT, replace=True)
    ring.issue("a-key", Role.AGENT, replace=True, scope=scope)
    assert ring.scope("a-key") == scope


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_a_key_whose_name_is_a_taken_account_must_name_another(tmp_path: Path, name: str) -> None:
    """Without an account a key's orders are booked under its name, here in a book of others."""
    text = "\n".join(line for line in EXAMPLE.splitlines() if not line.startswith("account"))
    assert KeyScope.read(scope_file(tmp_path, text), "a-key").account == "a-key"
    with pytest.raises(SettingsError, match=f"account: {name} is taken"):
        KeyScope.read(scope_file(tmp_path, text), name)


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ("2027-01-31", "2027-02-01T00:00:00+00:00"),
        ("2027-01-31T17:30:00", "2027-01-31T17:30:00+00:00"),
        ("2027-01-31T17:30:00Z", "2027-01-31T17:30:00+00:00"),
        ("2027-01-31T17:30:00-05:00", "2027-01-31T22:30:00+00:00"),
        ("2027-02-01T02:00:00+09:00", "2027-01-31T17:00:00+00:00"),
    ],
)
def test_a_key_ends_at_the_moment_that_its_file_says(tmp_path: Path, said: str, ends: str) -> None:
    """A day ends with itself, in UTC; a time without an offset is UTC, any other is not."""
    scope = KeyScope.read(scope_file(tmp_path, EXAMPLE.replace("2027-01-31", said, 1)), "a-key")
    assert scope.expires_us == int(datetime.fromisoformat(ends).timestamp()) * 1_000_000
