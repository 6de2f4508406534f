from pathlib import Path

import pytest

from gateway.installation.keys.keyring import Caller, Keyring, digest_of
from gateway.installation.keys.roles import Role
from gateway.surfaces.web.sessions import IDLE_S, LIFE_S, LINK_S, PER_KEY_MAX, Sessions

S = 1_000_000


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.us = 5 * S

    def __call__(self) -> int:
        return self.us


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys")


@pytest.fixture
def sessions(keyring: Keyring, clock: Clock) -> Sessions:
    return Sessions(keyring, clock)


def opened(sessions: Sessions, keyring: Keyring, name: str = "operator") -> str:
    return sessions.open(digest_of(keyring.token(name)))


def test_a_session_is_its_keys_holder_until_it_is_closed(
    sessions: Sessions, keyring: Keyring
) -> None:
    token = opened(sessions, keyring)
    assert sessions.caller(token) == Caller(name="operator", role=Role.OPERATOR)
    for other in ("", token[:-1], f"{token}x", digest_of(token), keyring.token("operator")):
        assert sessions.caller(other) is None
    sessions.close(token)
    assert sessions.caller(token) is None


def test_a_token_is_kept_as_its_hash_only(sessions: Sessions, keyring: Keyring) -> None:
    token, link = opened(sessions, keyring), sessions.link("operator")
    kept = repr(sessions._sessions) + repr(sessions._links)  # noqa: SLF001 - what is in memory
    assert link is not None
    for secret in (token, link, keyring.token("operator")):
        assert secret not in kept


def test_a_session_ends_when_it_is_not_used(
    sessions: Sessions, keyring: Keyring, clock: Clock
) -> None:
    token = opened(sessions, keyring)
    clock.us += IDLE_S * S
    assert sessions.caller(token) is not None
    clock.us += IDLE_S * S + 1
    assert sessions.caller(token) is None


def test_a_session_ends_after_its_life_however_much_it_is_used(
    sessions: Sessions, keyring: Keyring, clock: Clock
) -> None:
    token, began_us = opened(sessions, keyring), clock.us
    while clock.us < began_us + LIFE_S * S:
        assert sessions.caller(token) is not None
        clock.us += IDLE_S * S // 2
    clock.us = began_us + LIFE_S * S + 1
    assert sessions.caller(token) is None


def test_a_replaced_key_ends_its_sessions_and_links(sessions: Sessions, keyring: Keyring) -> None:
    token, link = opened(sessions, keyring), sessions.link("operator")
    keyring.issue("operator", Role.OPERATOR)
    assert sessions.caller(token) is None
    assert link is not None
    assert sessions.enter(link) is None


def test_a_link_enters_once(sessions: Sessions) -> None:
    link = sessions.link("operator")
    assert link is not None
    token = sessions.enter(link)
    assert token is not None
    assert sessions.caller(token) == Caller(name="operator", role=Role.OPERATOR)
    assert sessions.caller(link) is None
    assert sessions.enter(link) is None


def test_a_link_ages_and_nobody_unknown_gets_one(sessions: Sessions, clock: Clock) -> None:
    link = sessions.link("operator")
    clock.us += LINK_S * S + 1
    assert link is not None
    assert sessions.enter(link) is None
    assert sessions.link("nobody") is None


def test_one_key_has_so_many_sessions_and_nobody_elses_end(
    sessions: Sessions, keyring: Keyring
) -> None:
    approver = opened(sessions, keyring, "approver")
    mine = [opened(sessions, keyring) for _ in range(PER_KEY_MAX + 3)]
    assert [sessions.caller(token) is not None for token in mine] == [False] * 3 + [
        True
    ] * PER_KEY_MAX
    assert sessions.caller(approver) is not None


def test_a_session_is_no_link_and_a_link_no_session(sessions: Sessions, keyring: Keyring) -> None:
    token, link = opened(sessions, keyring), sessions.link("operator")
    assert link is not None
    assert sessions.enter(token) is None
    assert sessions.caller(token) is not None
    assert sessions.caller(link) is None
    assert sessions.enter(link) is not None


def test_a_key_that_comes_back_brings_no_session_back(sessions: Sessions, keyring: Keyring) -> None:
    token, file = opened(sessions, keyring), keyring.folder / "bearer.json"
    before = file.read_text()
    keyring.issue("operator", Role.OPERATOR)
    assert sessions.caller(token) is None
    file.write_text(before)
    assert sessions.caller(token) is None


def test_a_session_that_is_too_old_is_forgotten(
    sessions: Sessions, keyring: Keyring, clock: Clock
) -> None:
    token = opened(sessions, keyring)
    clock.us += IDLE_S * S + 1
    assert sessions.caller(token) is None
    assert not sessions._sessions  # noqa: SLF001 - what is in memory


def test_tokens_cannot_be_guessed(sessions: Sessions, keyring: Keyring) -> None:
    tokens = {opened(sessions, keyring) for _ in range(8)} | {str(sessions.link("operator"))}
    assert len(tokens) == 9
    assert all(len(token) * 6 >= 256 for token in tokens), "256 random bits, six a character"


def test_a_link_is_good_for_a_quarter_of_an_hour(sessions: Sessions, clock: Clock) -> None:
    link = sessions.link("operator")
    clock.us += LINK_S * S
    assert link is not None
    assert sessions.enter(link) is not None
