"""A profile as TOML: what is shipped, and errors that name key and line."""

import pytest

from fix.dialects.engine_settings import initiator_settings
from fix.dialects.person_tags import KNOWN_MAX
from fix.dialects.profile import Profile, parse_profile, profile_document, simulator_profile
from fix.dialects.profile_text import parse_profile_text
from fix.dialects.versions import Version
from fix.errors import ProfileError
from fix.session.dictionaries import SHIPPED, words_of

TEXTS = {path.stem: path.read_text() for path in SHIPPED.glob("*.toml")}
PLAIN = sorted(name for name in TEXTS if name.startswith("plain"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_shipped_profile_has_the_name_of_its_file(name: str) -> None:
    profile = parse_profile_text(TEXTS[name])
    assert profile.name == name
    assert parse_profile(profile_document(profile)) == profile


def test_the_simulators_file_is_the_simulators_profile() -> None:
    assert parse_profile_text(TEXTS["simulator"]) == simulator_profile(9878)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_profile_names_no_field_beyond_its_standard(name: str) -> None:
    profile = parse_profile_text(TEXTS[name])
    assert profile.tags.beyond_standard == ()
    assert profile.timestamp_digits == 3
    assert (
        profile.version
        == {
            "plain-4.2": Version.FIX_42,
            "plain-4.4": Version.FIX_44,
            "plain-5.0sp2": Version.FIX_50SP2,
        }[name]
    )


def test_what_goes_beyond_the_standard_is_counted() -> None:
    beyond = simulator_profile(1).tags.beyond_standard
    assert beyond == (2376, 1724, 2593, 2594, 2595)
    assert min(beyond) > KNOWN_MAX
    extra = '\n[[tags.extra]]\ntag = 100\nvalue = "XNAS"\n[[tags.extra]]\ntag = 5700\nvalue = "1"\n'
    text = TEXTS["plain-4.4"] + extra
    assert parse_profile_text(text).tags.beyond_standard == (5700,)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("port = 9878", 'port = "9878"', "port: "),
        ("port = 9878", "prot = 9878", "prot: "),
        ("mass_cancel = false", "mass_cancel = 3", "capabilities.mass_cancel: "),
        ('version = "FIX.4.4"', 'version = "FIX.4.3"', "version: "),
        ("timestamp_digits = 3", "timestamp_digits = 4", "timestamp_digits: "),
        ('algorithm_code = ""', 'algorithm_code = "x1"', "tags.algorithm_code: "),
        ('resets = "none"', 'resets = "nightly"', "nightly resets need "),
        ("cancels_per_s = 10", "cancels_per_s = ", "not TOML: "),
        ("cancels_per_s = 10", "cancels_per_s = 2026-11-22", "a date or time: "),
    ],
)
def test_an_error_names_the_key_and_its_line(old: str, new: str, fault: str) -> None:
    text = TEXTS["plain-4.4"]
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    where = "" if fault.startswith("a date") else f"line {line}: "
    with pytest.raises(ProfileError) as error:
        parse_profile_text(text.replace(old, new))
    assert f"{where}{fault}" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("mass_cancel = false", "mass_cancel = true", "capabilities.mass_cancel: FIX.4.2 has no"),
        ('order_capacity = ""', 'order_capacity = "P"', "tags.order_capacity: FIX.4.2 has no"),
    ],
)
def test_a_version_refuses_what_it_does_not_have(old: str, new: str, fault: str) -> None:
    text = TEXTS["plain-4.2"]
    line = text[: text.index(old)].count("\n") + 1
    with pytest.raises(ProfileError, match=f"line {line}: {fault}"):
        parse_profile_text(text.replace(old, new))
    assert parse_profile_text(TEXTS["plain-4.4"].replace(old, new)) is not None


def test_every_fault_is_named_at_once() -> None:
    text = TEXTS["plain-4.4"].replace("port = 9878", "port = 0").replace('"USD"', '"usd"')
    with pytest.raises(ProfileError, match=r"line \d+: port: .*; line \d+: currency: "):
        parse_profile_text(text)


@pytest.mark.parametrize("tag", [11, 35, 52, 2376, 10])
def test_an_extra_field_may_not_be_one_of_ours(tag: int) -> None:
    text = TEXTS["plain-4.4"] + f'\n[[tags.extra]]\ntag = {tag}\nvalue = "X"\n'
    line = text.count("\n") - 1
    with pytest.raises(ProfileError, match=rf"line {line}: tags\.extra\.0\.tag: tag {tag} is set"):
        parse_profile_text(text)


def test_with_tls_nothing_leaves_the_machine_in_clear_text() -> None:
    tls = '[tls]\nhost = "b.example"\nport = 9880\nserver_name = "b.example"\nca_file = "ca.pem"\n'
    text = TEXTS["plain-4.4"] + tls
    assert parse_profile_text(text).tls is not None
    outside = text.replace('host = "127.0.0.1"', 'host = "b.example"')
    with pytest.raises(ProfileError, match=r"line \d+: host: b\.example would get clear text"):
        parse_profile_text(outside)


def settings(profile: Profile) -> list[str]:
    words = words_of(profile)
    text = initiator_settings(profile, store="s", log="l", dictionary=words[-1], transport=words[0])
    return text.splitlines()


def test_fix_50_goes_over_fixt_with_two_dictionaries() -> None:
    lines = settings(parse_profile_text(TEXTS["plain-5.0sp2"]))
    assert "BeginString=FIXT.1.1" in lines
    assert "DefaultApplVerID=FIX.5.0SP2" in lines
    files = [line for line in lines if "DataDictionary=" in line and "/" in line]
    assert [line.rpartition("/")[2] for line in files] == ["FIXT11.xml", "FIX50SP2.xml"]
    assert "TimestampPrecision=3" in lines


def test_fix_42_has_its_own_dictionary() -> None:
    lines = settings(parse_profile_text(TEXTS["plain-4.2"]))
    assert "BeginString=FIX.4.2" in lines
    assert any(line.startswith("DataDictionary=") and "FIX42.xml" in line for line in lines)
    assert not any("ApplVerID" in line for line in lines)
