"""A broker's profile: what it says by default, and what it refuses."""

import json

import pytest

from fix.dialects.profile import Profile, Resets, SessionMode, parse_profile, profile_document
from fix.dialects.profile_text import parse_profile_text
from fix.errors import ProfileError
from fix.session.dictionaries import SHIPPED
from tests.doubles.fix_world import PROFILE

LEAST: dict[str, object] = {
    "name": "b",
    "sender_comp_id": "US",
    "target_comp_id": "THEM",
    "host": "h",
    "port": 1,
    "capabilities": {"mass_cancel": False, "mass_status": False, "cancel_on_disconnect": False},
    "pace": {"cancels_per_s": 1, "cancel_burst": 1, "sweep_timeout_s": 1},
}


def parsed(**changes: object) -> Profile:
    return parse_profile(json.dumps(LEAST | changes))


def test_what_a_profile_does_not_say_has_a_careful_default() -> None:
    profile = parsed()
    assert (profile.mode, profile.resets) == (SessionMode.RESUME, Resets.NONE)
    assert (profile.session_start, profile.session_end) == ("", "")
    assert (profile.heartbeat_s, profile.reconnect_s, profile.logon_timeout_s) == (10, 5, 10)
    assert (profile.max_latency_s, profile.account, profile.currency) == (120, "", "USD")
    assert (profile.minor_digits, profile.public_tags) == (2, ())
    assert profile.capabilities.unknown_is_gone
    assert profile.pace.questions_per_s == 20
    tags = profile.tags
    assert (tags.order_capacity, tags.handling, tags.origination) == ("P", "1", "")
    assert (tags.algorithm_code, tags.trader_code) == ("", "")
    assert parse_profile(profile_document(profile)) == profile
    assert parse_profile(profile_document(PROFILE)) == PROFILE


@pytest.mark.parametrize(("currency", "digits"), [("JPY", 0), ("EUR", 2), ("KWD", 3)])
def test_decimals_that_a_profile_does_not_say_are_those_of_its_currency(
    currency: str, digits: int
) -> None:
    assert parsed(currency=currency).minor_digits == digits
    assert parsed(currency=currency, minor_digits=4).minor_digits == 4
    for example in sorted(SHIPPED.glob("plain-*.toml")):
        text = example.read_text().replace('currency = "USD"', f'currency = "{currency}"')
        assert parse_profile_text(text).minor_digits == digits, example.name


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("name", ["a", "x" * 32], ["", "x" * 33, "Big", "a b"]),
        ("sender_comp_id", ["!", "x" * 64], ["", "x" * 65, "a b", "a\x01"]),
        ("port", [1, 65_535], [0, 65_536, "1", 1.0, True]),
        ("heartbeat_s", [1, 120], [0, 121]),
        ("reconnect_s", [1, 60], [0, 61]),
        ("logon_timeout_s", [1, 60], [0, 61]),
        ("max_latency_s", [1, 3_600], [0, 3_601]),
        ("minor_digits", [0, 8], [-1, 9]),
        ("currency", ["EUR"], ["", "EURO", "eur"]),
        ("account", ["", "x" * 32], ["x" * 33, "a b"]),
        ("mode", ["resume", "reset"], ["other", ""]),
        ("resets", ["none", "by_broker"], ["other", ""]),
        ("public_tags", [[], [5_000]], [[58], [5_000, 1]]),
        ("unheard_of", [], [1]),
    ],
)
def test_each_field_has_its_bounds(field: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert field in json.loads(profile_document(parsed(**{field: value})))
    for value in bad:
        with pytest.raises(ProfileError, match=f"{field}: "):
            parsed(**{field: value})


@pytest.mark.parametrize("field", ["cancels_per_s", "cancel_burst", "questions_per_s"])
def test_a_pace_is_positive_and_bounded(field: str) -> None:
    pace = {"cancels_per_s": 1, "cancel_burst": 1, "sweep_timeout_s": 1}
    assert parsed(pace=pace | {field: 10_000}).pace.model_dump()[field] == 10_000
    for value in (0, 10_001):
        with pytest.raises(ProfileError, match=rf"pace\.{field}: "):
            parsed(pace=pace | {field: value})
    for value in (0, 121):
        with pytest.raises(ProfileError, match=r"pace\.sweep_timeout_s: "):
            parsed(pace=pace | {"sweep_timeout_s": value})


@pytest.mark.parametrize("field", sorted(LEAST))
def test_what_has_no_default_must_be_said(field: str) -> None:
    with pytest.raises(ProfileError, match=f"{field}: "):
        parse_profile(json.dumps({name: value for name, value in LEAST.items() if name != field}))


def test_a_document_that_is_none_is_named_so() -> None:
    with pytest.raises(ProfileError, match="document: "):
        parse_profile(b"no profile")
