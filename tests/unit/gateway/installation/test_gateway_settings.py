import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.errors import SettingsError
from gateway.installation import settings
from tests.doubles.programs import FIRST_PARTS

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the tests' own parts away too."""
    for name in FIRST_PARTS:
        monkeypatch.delenv(name)


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


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "countersign.toml"


def test_a_file_in_the_current_folder_is_read_and_the_environment_wins(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('keys = "keys"\naccount = "alpha"\n\n[fix]\nhost = "broker"\nport = 9878\n')
    found = settings.load()
    assert (found.config, found.keys) == (file, file.parent / "keys")
    assert (found.account, found.fix.host, found.fix.port) == ("alpha", "broker", 9878)
    assert "host" in found.fix.model_fields_set
    monkeypatch.setenv("COUNTERSIGN_FIX__PORT", "7")
    monkeypatch.setenv("COUNTERSIGN_KEYS", "others")
    found = settings.load(account="beta")
    assert (found.fix.host, found.fix.port) == ("broker", 7)
    assert (found.keys, found.account) == (Path("others"), "beta")


def test_a_named_file_wins_over_the_current_folder_and_anchors_its_paths(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('account = "here"\n')
    named = file.parent / "etc" / "desk.toml"
    named.parent.mkdir()
    named.write_text('state = "/var/state"\ninstruments = "table.csv"\n[engine]\nmodel = "pair"\n')
    monkeypatch.setenv("COUNTERSIGN_CONFIG", "etc/desk.toml")
    found = settings.load()
    assert found.account == "desk"
    assert found.state == Path("/var/state")
    assert found.instruments == named.parent / "table.csv"
    assert found.engine.model == named.parent / "pair"


def test_a_named_file_that_is_missing_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_CONFIG", "none.toml")
    with pytest.raises(SettingsError, match=r"there is no file /.*none\.toml"):
        settings.load()


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("[fix]\n\nport = 70000\n", "fix.port", "line 3: Input should be .* not 70000"),
        ("[fix]\nprot = 1\n", "fix.prot", "line 2: there is no such setting; write port"),
        ("[fixx]\nport = 1\n", "fixx", "line 1: there is no such setting; write fix"),
        ('\naccuont = "x"\n', "accuont", "line 2: there is no such setting; write account"),
        ('config = "other.toml"\n', "config", "line 1: there is no such setting"),
        ("fix = 3\n", "fix", "line 1: .* not 3"),
        ('a = "\n', "countersign.toml", "line 1, column 6: not TOML"),
        ("[fix]\nport = \n", "countersign.toml", "line 2, column 8: not TOML"),
    ],
)
def test_an_error_of_the_file_names_line_and_key(
    file: Path, text: str, name: str, said: str
) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match=said) as refused:
        settings.load()
    assert refused.value.name.endswith(name)
    assert str(file) in str(refused.value)


def test_a_wrong_value_of_the_environment_is_not_blamed_on_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[fix]\nport = 1\n")
    monkeypatch.setenv("COUNTERSIGN_FIX__PORT", "70000")
    with pytest.raises(SettingsError) as refused:
        settings.load()
    assert refused.value.name == "COUNTERSIGN_FIX__PORT"
    assert "countersign.toml" not in refused.value.problem


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://app:s3cret@db/ledger", "postgresql://app:***@db/ledger"),
        ("postgresql://app@db/l?password=s3cret&x=1", "postgresql://app@db/l?password=***&x=1"),
        ("host=db password='s3 cret' user=app", "host=db password=*** user=app"),
        ("host=db password=s3cret", "host=db password=***"),
    ],
)
def test_what_is_set_is_shown_with_its_place_and_without_secrets(
    file: Path, monkeypatch: pytest.MonkeyPatch, dsn: str, shown: str
) -> None:
    file.write_text(f'account = "alpha"\n[ledger]\ndsn = "{dsn}"\n')
    monkeypatch.setenv("COUNTERSIGN_API__PORT", "9")
    said = CliRunner().invoke(app, ["settings", "--values"]).stdout
    rows = {line.split(None, 1)[0]: line.split(None, 1)[1] for line in said.splitlines()}
    assert rows == {
        "COUNTERSIGN_CONFIG": f"{file}  (current folder)",
        "COUNTERSIGN_ACCOUNT": f"alpha  ({file} line 1)",
        "COUNTERSIGN_API__PORT": "9  (environment)",
        "COUNTERSIGN_LEDGER__DSN": f"{shown}  ({file} line 3)",
    }
