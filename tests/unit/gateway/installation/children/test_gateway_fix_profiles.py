"""Which profile the settings choose, what wins over it, and what goes on record."""

from hashlib import sha256
from pathlib import Path

import pytest

from audit.records.canonical import canonical
from fix.dialects.profile import Profile, Resets, simulator_profile
from fix.errors import ProfileError
from fix.session.dictionaries import DICTIONARIES, SHIPPED, dictionary_of
from gateway.errors import SettingsError
from gateway.installation.children.fix_profiles import (
    profile_of,
    profile_record,
    read_profile,
    shipped_names,
)
from gateway.installation.settings import SHIPPED_PROFILES, FixSettings

PLAIN = (SHIPPED / "plain-4.4.toml").read_text()


def chosen(**said: object) -> Profile:
    return profile_of(FixSettings.model_validate(said))


def written(folder: Path, text: str = PLAIN) -> Path:
    path = folder / "broker.toml"
    path.write_text(text.replace('name = "plain-4.4"', 'name = "mine"'))
    return path


def test_without_a_word_it_is_the_simulators() -> None:
    assert profile_of(FixSettings(), 1234) == simulator_profile(1234)
    assert shipped_names() == ("plain-4.2", "plain-4.4", "plain-5.0sp2", "simulator")
    assert set(shipped_names()) == SHIPPED_PROFILES
    for folder in (Path(), Path("/etc/desk")):
        assert FixSettings(profile=folder / "plain-4.4").profile == Path("plain-4.4")


def test_a_files_values_hold_unless_a_setting_says_otherwise(tmp_path: Path) -> None:
    named = written(tmp_path)
    assert chosen(profile=named) == read_profile(named)
    other = chosen(profile=named, host="b", port=7, sender="US", resets="by_broker")
    assert (other.host, other.port, other.sender_comp_id) == ("b", 7, "US")
    assert (other.target_comp_id, other.resets) == ("BROKER", Resets.BY_BROKER)
    assert chosen(profile=named, public_tags="5700,9730").public_tags == (5700, 9730)


@pytest.mark.parametrize("missing", ["port", "sender", "target"])
def test_a_shipped_profile_names_no_broker_so_the_settings_must(missing: str) -> None:
    said = {"port": 7, "sender": "US", "target": "THEM"}
    assert chosen(profile="plain-4.4", **said).target_comp_id == "THEM"
    del said[missing]
    with pytest.raises(SettingsError, match=f"FIX__{missing.upper()}: must be set"):
        chosen(profile="plain-4.4", **said)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"resets": "nightly"}, "RESETS"),
        ({"resets": "nightly", "session_start": "x", "session_end": "y"}, "SESSION_START"),
        ({"public_tags": "1003"}, "PUBLIC_TAGS"),
        ({"sender": "a b"}, "SENDER"),
        ({"profile": "nothing.toml"}, "PROFILE"),
    ],
)
def test_an_error_names_the_setting(said: dict[str, object], name: str) -> None:
    with pytest.raises(SettingsError, match=f"COUNTERSIGN_FIX__{name}: "):
        chosen(**said)


def test_a_faulty_file_is_named_with_key_and_line(tmp_path: Path) -> None:
    named = written(tmp_path, PLAIN.replace("heartbeat_s = 30", "heartbeat_s = 0"))
    with pytest.raises(ProfileError, match=r"broker\.toml line \d+: heartbeat_s: "):
        read_profile(named)
    path = tmp_path / "latin.toml"
    path.write_bytes(b'name = "a"\n# \xe9\n')
    with pytest.raises(ProfileError, match=r"latin\.toml line 2: not UTF-8"):
        read_profile(path)


def test_a_dictionary_of_ones_own_begins_at_the_profiles_folder(tmp_path: Path) -> None:
    named = written(tmp_path, PLAIN.replace("mode =", 'dictionary = "own.xml"\nmode =', 1))
    with pytest.raises(ProfileError, match="there is no file"):
        read_profile(named)
    own = tmp_path / "own.xml"
    own.write_bytes((DICTIONARIES / "FIX44.xml").read_bytes() + b"\n")
    profile = read_profile(named)
    assert dictionary_of(profile) == own
    record = profile_record(profile)
    assert record["dictionary_digest"] == sha256(own.read_bytes()).hexdigest()
    assert str(tmp_path) not in str(record)


def test_the_digest_on_record_is_over_the_values_beside_it(tmp_path: Path) -> None:
    record = profile_record(read_profile(written(tmp_path)))
    assert record["digest"] == sha256(canonical(record["document"])).hexdigest()
    again = written(tmp_path, PLAIN.replace("# 49, ours", "# another comment"))
    assert profile_record(read_profile(again)) == record
    other = written(tmp_path, PLAIN.replace("heartbeat_s = 30", "heartbeat_s = 31"))
    assert profile_record(read_profile(other))["digest"] != record["digest"]
