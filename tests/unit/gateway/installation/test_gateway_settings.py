import re
from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.installation import settings

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    "name",
    ["COUNTERSIGN_STAET", "COUNTERSIGN_API__PROT", "COUNTERSIGN_API", "countersign_bypass"],
)
def test_an_unknown_name_stops_the_start_and_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError) as refused:
        settings.load()
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COUNTERSIGN_API__PORT", "70000"),
        ("COUNTERSIGN_API__PORT", "http"),
        ("COUNTERSIGN_ENGINE__DRAFTER", "guess"),
        ("COUNTERSIGN_ENGINE__PATHS", "0"),
        ("COUNTERSIGN_FIX__SEND_WITHIN_S", "nan"),
        ("COUNTERSIGN_FIX__SEND_WITHIN_S", "inf"),
        ("COUNTERSIGN_LEDGER__CHECKPOINT_EVERY_S", "-1"),
        ("COUNTERSIGN_ENGINE__DEADLINE_S", "inf"),
        ("COUNTERSIGN_PLAYBACK__DECISIONS", "0"),
    ],
)
def test_a_value_out_of_range_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        settings.load()
    assert refused.value.name == name


def test_an_empty_value_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_LEDGER__DSN", "")
    assert settings.load().ledger.dsn is None


def test_the_command_line_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_STATE", "from-environment")
    assert settings.load(state=Path("from-line")).state == Path("from-line")
    assert settings.load(state=None).state == Path("from-environment")


def test_every_setting_is_described() -> None:
    assert all(settings.known_names().values())


def test_no_other_file_reads_an_unknown_setting() -> None:
    known = set(settings.known_names()) | settings.OUTSIDE
    for path in (ROOT / "gateway").rglob("*.py"):
        for name in re.findall(r"COUNTERSIGN_[A-Z_]+[A-Z]", path.read_text()):
            assert name in known, f"{path.name} names {name}"
