"""`doctor` looks at the whole route, names one command for each fault, and changes nothing."""

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fix.durable.continuity import claim
from gateway.cli.main import app
from gateway.errors import NotReadyError
from gateway.feeds.files.sources import EXAMPLE
from gateway.installation.settings import load
from gateway.launch.setup.doctor import refuse_unfit
from gateway.launch.setup.findings import Health
from inference.weights.text_pair import pin
from tests.doubles.beginning import activate, begin
from tests.doubles.text_folder import text_folder


@pytest.fixture
def peer() -> Iterator[int]:
    """A port that something listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def home(tmp_path: Path, peer: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The gateway's folder of a new installation whose policy both officers signed."""
    desk = begin(tmp_path / "desk", "--broker", f"127.0.0.1:{peer}")
    monkeypatch.chdir(desk / "gateway")
    monkeypatch.setenv("EDITOR", "vi")
    activate(desk)
    edit(desk / "gateway", "# port = 8700", "port = 0")
    return desk / "gateway"


def edit(home: Path, old: str, new: str, name: str = "countersign.toml") -> None:
    file = home / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def examined() -> tuple[int, list[dict[str, str]]]:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    told: Any = json.loads(done.stdout)
    assert told["code"] == done.exit_code
    for one in told["findings"]:
        assert bool(one["command"]) == (one["health"] == Health.MEND), one
    return done.exit_code, told["findings"]


def everything_in(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {path: path.stat() for path in folder.rglob("*")}
    return {
        str(path): (at.st_mode, at.st_mtime_ns, b"" if path.is_dir() else path.read_bytes())
        for path, at in found.items()
    }


def test_a_new_installation_is_healthy_and_stays_as_it_is(home: Path) -> None:
    before = everything_in(home.parent)
    code, findings = examined()
    assert {one["health"] for one in findings} == {Health.GOOD}, findings
    assert code == 0
    assert list(dict.fromkeys(one["part"] for one in findings)) == [
        *("settings", "disk", "state", "keys", "instruments", "policy", "model"),
        *("database", "session", "api", "broker"),
    ]
    assert everything_in(home.parent) == before


def drop(name: str) -> Callable[[Path], object]:
    return lambda home: (home / name).unlink()


def other_officer(home: Path) -> None:
    officer = home.parent / "risk-officer"
    shutil.copy(officer / "risk.key", home / "keys")


def one_key_for_both(home: Path) -> None:
    text = (home / "keys" / "risk.pub").read_text()
    (home / "keys" / "compliance.pub").write_text(text.replace(" risk ", " compliance "))


def no_agent(home: Path) -> None:
    bearers = json.loads((home / "keys/bearer.json").read_text())
    del bearers["agent"]
    (home / "keys/bearer.json").write_text(json.dumps(bearers))


def edited_policy(home: Path) -> None:
    bundle = home / "keys/policy.bundle.json"
    document = json.loads(bundle.read_text())
    document["policy"]["account"]["gross_max"]["value"] += 1
    bundle.write_text(json.dumps(document))


def another_instrument(home: Path) -> None:
    text = (home / "instruments.toml").read_text()
    for old, new in (("AAPL", "MSFT"), ("US0378331005", "US5949181045")):
        text = text.replace(old, new)
    (home / "instruments.toml").write_text(text.replace('figi = "BBG000B9XRY4"', ""))


def followed_file(home: Path) -> None:
    (home / "feeds.toml").write_text(EXAMPLE.read_text())
    edit(home, "# files is not set", 'files = "feeds.toml"')


def other_columns(home: Path) -> None:
    followed_file(home)
    (home / "bars.csv").write_text("a,b\n")


def faulty_files(home: Path) -> None:
    followed_file(home)
    edit(home, '"bars"', '"bar"', "feeds.toml")


def changed_session(home: Path) -> None:
    (home / "state/fix").mkdir(parents=True)
    claim(home / "state/fix", "broker SOMEBODY-ELSE-BROKER")


def draft_edited(home: Path) -> None:
    text = (home / "policy.toml").read_text()
    (home / "policy.toml").write_text(text.replace('author = "', 'author = "other-', 1))


def unsigned_only(home: Path) -> None:
    (home / "keys/policy.bundle.json").unlink()
    (home / "policy.bundle.json").unlink(missing_ok=True)


FAULTS: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "another session's folder": (
        changed_session,
        *("state", "belongs to the session broker SOMEBODY-ELSE-BROKER", "vi .*countersign.toml"),
    ),
    "a webhook without its secret": (
        lambda home: edit(home, "# webhook is not set", 'webhook = "https://a.example.com/x"'),
        *("alarms", "the webhook needs a secret", "vi .*countersign.toml"),
    ),
    "a draft that was edited after signing": (
        draft_edited,
        *("policy", "is not the signed policy: `serve` ignores", "policy new next.toml --from"),
    ),
    "a draft that nobody signed": (
        unsigned_only,
        *("policy", "no .*policy.bundle.json", "^countersign policy sign policy.toml --key KEY$"),
    ),
    "mistyped setting": (
        lambda home: edit(home, "account =", "accuont ="),
        *(
            "settings",
            "line \\d+: there is no such setting; write account",
            "vi .*countersign.toml",
        ),
    ),
    "missing setting": (
        lambda home: edit(home, "instruments =", "# instruments ="),
        *("settings", "COUNTERSIGN_INSTRUMENTS is not set", "vi .*countersign.toml"),
    ),
    "settings of others": (
        lambda home: (home / "countersign.toml").chmod(0o666),
        *("settings", "has mode 666, so that others may change it", "chmod 600 .*toml"),
    ),
    "two databases": (
        lambda home: edit(home, "# dsn is not set", 'dsn = "postgresql://a@127.0.0.1:1/l"'),
        *("settings", "a DSN and the embedded database", "vi .*countersign.toml"),
    ),
    "no key folder": (
        lambda home: shutil.rmtree(home / "keys"),
        *("keys", "there is no folder", "countersign log-key"),
    ),
    "open key": (
        lambda home: (home / "keys/rows.key").chmod(0o644),
        *("keys", "rows.key has mode 644", "chmod 600 .*rows.key"),
    ),
    "no log key": (drop("keys/ledger.key"), "keys", "no ledger.key", "countersign log-key"),
    "no row key": (drop("keys/rows.key"), "keys", "no rows.key", "countersign row-key"),
    "another log's key": (
        lambda home: edit(home, "example.com/desk", "example.com/other"),
        *("keys", "is of the log example.com/desk", "vi .*countersign.toml"),
    ),
    "no officer": (
        drop("keys/compliance.pub"),
        *("keys", "compliance officer: cannot read", "cp compliance.pub .*keys/compliance.pub"),
    ),
    "an officer's private key": (
        other_officer,
        *("keys", "is an officer's private key", "countersign officer-key FILE --role ROLE"),
    ),
    "one officer": (one_key_for_both, "keys", "both officers have the same key", "officer-key"),
    "no agent": (
        no_agent,
        *("keys", "no bearer key of the role agent", "keygen --name agent --role agent"),
    ),
    "wrong table": (
        lambda home: edit(home, '"0.01"', '"0"', "instruments.toml"),
        *("instruments", "line 8, column", "vi .*instruments.toml"),
    ),
    "unnamed instrument": (
        another_instrument,
        *("policy", "does not name MSFT", "policy new next.toml --from .* --instruments"),
    ),
    "venue takes less": (
        lambda home: edit(home, "max_qty = 10000", "max_qty = 3", "instruments.toml"),
        *("instruments", "AAPL: max_qty is 3 lots", "vi .*instruments.toml"),
    ),
    "no policy": (
        drop("keys/policy.bundle.json"),
        *("policy", "no .*policy.bundle.json", "countersign policy activate"),
    ),
    "edited policy": (edited_policy, "policy", "risk:risk-officer WRONG", "policy sign"),
    "broker away": (
        lambda home: edit(home, f"port = {port_in(home)}", "port = 1", "broker.toml"),
        *("broker", "127.0.0.1:1 does not answer", "nc -vz 127.0.0.1 1"),
    ),
    "one CompID": (
        lambda home: edit(home, '"BROKER"', '"DESK"', "broker.toml"),
        *("broker", "are both DESK", "vi .*broker.toml"),
    ),
    "a followed file that is not there": (
        followed_file,
        *("files", "vendor bars: .*bars.csv: No such file", "vi .*feeds.toml"),
    ),
    "a followed file without a column": (
        other_columns,
        *(
            "files",
            "line 1, column 1: time has no column Date in the first line, which names 2",
            "vi ",
        ),
    ),
    "a faulty description of files": (
        faulty_files,
        *("files", "line \\d+, column 8: feed: 'bar' is none of bars", "vi .*feeds.toml"),
    ),
    "nightly without a time": (
        lambda home: edit(home, '# resets = "none"', 'resets = "nightly"'),
        *("broker", "session_start", "vi .*countersign.toml"),
    ),
}


def port_in(home: Path) -> str:
    found = re.findall(r"^port = ([1-9]\d*)", (home / "broker.toml").read_text(), re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_the_command_that_mends_it(home: Path, name: str) -> None:
    spoil, part, said, command = FAULTS[name]
    spoil(home)
    code, findings = examined()
    assert code == 1
    assert any(
        one["part"] == part
        and one["health"] == Health.MEND
        and re.search(said, one["said"])
        and re.search(command, one["command"])
        for one in findings
    ), findings


def test_a_model_that_cannot_run_as_set_is_named_before_a_start(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(text_folder(home / "tiny", draft=False), date(2017, 12, 31))
    monkeypatch.setenv("COUNTERSIGN_ENGINE__MODEL", str(home / "tiny"))
    monkeypatch.setenv("COUNTERSIGN_LIABILITY__MODEL_PROVIDER", "a firm")
    assert examined()[0] == 0
    monkeypatch.setenv("COUNTERSIGN_ENGINE__DRAFTER", "network")
    code, findings = examined()
    (found,) = (one for one in findings if one["part"] == "model")
    assert (code, found["health"]) == (1, Health.MEND)
    assert "no draft network: set COUNTERSIGN_ENGINE__DRAFTER=table" in found["said"]
    assert re.search(r"vi .*countersign.toml", found["command"])


def test_a_database_that_is_away_is_named_without_its_password(home: Path) -> None:
    dsn = "postgresql://app:s3cret@127.0.0.1:1/ledger"
    edit(home, "embedded = true", f'dsn = "{dsn}"')
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert re.search("mend +database +cannot use the database", done.stdout), done.stdout
    assert "s3cret" not in done.stdout


def test_a_port_that_somebody_else_has_is_named(home: Path, peer: int) -> None:
    edit(home, "port = 0", f"port = {peer}")
    assert any("another process listens" in one["said"] for one in examined()[1])
    (home / "state").mkdir()
    (home / "state/address").write_text(f"http://127.0.0.1:{peer} 7\n")
    assert any("a gateway of this state folder" in one["said"] for one in examined()[1])


def test_what_cannot_be_looked_at_is_not_called_healthy(home: Path) -> None:
    (home / "state").mkdir()
    (home / "state/fix").mkdir()
    (home / "state/fix/store").mkdir()
    (home / "state/fix/store/a.seqnums").mkdir()
    code, findings = examined()
    assert [one["part"] for one in findings if one["health"] == Health.UNSEEN] == ["ledger"]
    assert code == 2


def test_a_missing_settings_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_CONFIG", str(tmp_path / "none.toml"))
    code, findings = examined()
    assert (code, len(findings)) == (1, 1)
    assert findings[0]["command"] == "unset COUNTERSIGN_CONFIG"


def test_a_start_that_doctor_finds_fit_says_nothing(home: Path) -> None:
    said: list[str] = []
    assert refuse_unfit(load(), said.append) is None, "not every look was taken"
    assert said == []
    assert home.is_dir()


def test_a_start_stops_on_what_doctor_would_mend_and_names_the_command(
    home: Path, peer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(home, "port = 0", f"port = {peer}")
    monkeypatch.setenv("COUNTERSIGN_LEDGER__ADMIN_DSN", "postgresql://admin@db/ledger")
    with pytest.raises(NotReadyError) as refused:
        refuse_unfit(load(), print)
    assert "another process listens" in str(refused.value)
    assert f"ss -ltnp 'sport = :{peer}'" in str(refused.value)
    assert "unset COUNTERSIGN_LEDGER__ADMIN_DSN" in str(refused.value)


def test_a_start_goes_on_without_a_key_of_some_role_and_says_so(home: Path) -> None:
    no_agent(home)
    said: list[str] = []
    refuse_unfit(load(), said.append)
    assert len(said) == 1
    assert "no bearer key of the role agent -> countersign keygen" in said[0]


def test_a_start_does_not_knock_at_the_brokers_port_twice(home: Path) -> None:
    """The start itself connects, and serves without a broker: doctor's look is not in its way."""
    file = home / "broker.toml"
    file.write_text(file.read_text().replace(f"port = {port_in(home)}", "port = 1"))
    assert any(one["part"] == "broker" for one in examined()[1] if one["health"] == Health.MEND)
    refuse_unfit(load(), print)


def test_a_mode_with_money_starts_only_where_every_look_is_good(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERSIGN_MODE", "pilot")
    assert refuse_unfit(load(), print) == 0
    no_agent(home)
    with pytest.raises(NotReadyError, match="no bearer key of the role agent"):
        refuse_unfit(load(), print)
