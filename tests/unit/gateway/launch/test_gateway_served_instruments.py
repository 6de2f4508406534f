"""`serve` trades the table that a setting names; without one, or with a wrong one, it says why."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.cli.main import app
from gateway.errors import InstrumentsError, SettingsError
from gateway.feeds.instruments.table import EXAMPLE, PLAYED_TABLE
from gateway.feeds.sessions import load_playback
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.settings import Settings, load
from gateway.launch.parts import refuse_changed_terms, unnamed_said
from gateway.launch.plan import Plan, development_plan, serving_plan
from gateway.walk.projections.outbox import Orders
from tests.doubles.officers import LIABLE, part_with_officers


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with keys and a signed policy."""
    development_plan(load(state=tmp_path / "state"), load_playback())
    part_with_officers(tmp_path / "state" / "keys", tmp_path)
    return tmp_path / "state"


def serving(state: Path, table: Path) -> Settings:
    base = load(state=state, keys=state / "keys", instruments=table)
    return base.model_copy(
        update={
            "ledger": base.ledger.model_copy(update={"dsn": "postgresql://plain@/ledger"}),
            "fix": base.fix.model_copy(update={"port": 9}),
            "liability": LIABLE,
        }
    )


def table_of(folder: Path, **values: object) -> Path:
    file = folder / "own.toml"
    text = EXAMPLE.read_text()
    for name, value in values.items():
        old = next(line for line in text.split("\n") if line.startswith(f"{name} = "))
        text = text.replace(old, f"{name} = {value}")
    file.write_text(text)
    return file


def opening(plan: Plan) -> dict[Kind, list[Any]]:
    found: dict[Kind, list[Any]] = {}
    for draft in plan.opening_records():
        found.setdefault(draft.kind, []).append(draft.payload)
    return found


def test_serve_lists_the_instruments_of_its_table(state: Path, tmp_path: Path) -> None:
    table = table_of(tmp_path, symbol='"AAPL"')
    plan = serving_plan(serving(state, table))
    assert list(plan.instruments) == ["AAPL"]
    records = opening(plan)
    (listed,) = records[Kind.INSTRUMENT_LISTED]
    assert listed["instrument"]["symbol"] == "AAPL"
    assert listed["reference"]["isin"] == "US0378331005"
    (started,) = records[Kind.RUN_STARTED]
    assert started["table_digest"] == listed["table_digest"] == plan.table.digest


def test_run_lists_the_played_table_and_refuses_another(tmp_path: Path) -> None:
    state = tmp_path / "state"
    plan = development_plan(load(state=state), load_playback())
    listed = opening(plan)[Kind.INSTRUMENT_LISTED]
    assert [one["instrument"]["symbol"] for one in listed] == ["SPXN", "NDXN"]
    with pytest.raises(SettingsError, match="`run` plays its own two instruments"):
        development_plan(load(state=state, instruments=table_of(tmp_path)), load_playback())


def test_serve_without_a_table_says_what_to_write(state: Path) -> None:
    settings = serving(state, PLAYED_TABLE).model_copy(update={"instruments": None})
    with pytest.raises(SettingsError, match="countersign instruments example") as refused:
        serving_plan(settings)
    assert refused.value.name == "COUNTERSIGN_INSTRUMENTS"


def test_serve_makes_nothing_with_a_wrong_table(tmp_path: Path) -> None:
    table = table_of(tmp_path, isin='"US0378331006"', lot=0)
    with pytest.raises(InstrumentsError, match="2 errors"):
        serving_plan(serving(tmp_path / "none", table))
    assert not (tmp_path / "none").exists()


def test_serve_refuses_a_table_that_the_policy_contradicts(state: Path, tmp_path: Path) -> None:
    table = table_of(tmp_path, symbol='"SPXN"', max_qty=10)
    with pytest.raises(InstrumentsError, match="2 errors") as refused:
        serving_plan(serving(state, table))
    assert [fault.split(":")[1].split()[0] for fault in refused.value.faults] == [
        "asset_class",
        "max_qty",
    ]


def test_a_start_names_the_instruments_that_the_policy_does_not(
    state: Path, tmp_path: Path
) -> None:
    said = unnamed_said(serving_plan(serving(state, table_of(tmp_path))))
    assert said.startswith("policy     does not name AAPL: every intent on it is refused")
    assert f"--from {state / 'keys' / BUNDLE} --instruments {tmp_path / 'own.toml'}" in said
    named = development_plan(load(state=tmp_path / "other"), load_playback())
    assert unnamed_said(named) == ""


def test_many_unnamed_instruments_are_counted(state: Path, tmp_path: Path) -> None:
    one = table_of(tmp_path).read_text().partition("# From here on")[0]
    rows = [one.replace("AAPL", f"S{number}") for number in range(8)]
    (tmp_path / "own.toml").write_text("\n".join(rows))
    said = unnamed_said(serving_plan(serving(state, tmp_path / "own.toml")))
    assert "does not name S0, S1, S2, S3, S4 and 3 more: every intent on them" in said


def test_serve_takes_the_embedded_database_only_when_told_so(state: Path, tmp_path: Path) -> None:
    given = serving(state, table_of(tmp_path))
    for dsn, embedded, said in (
        (None, False, "LEDGER__DSN: has no default"),
        ("postgresql://plain@/ledger", True, "choose one of the two"),
        (None, True, ""),
    ):
        ledger = given.ledger.model_copy(update={"dsn": dsn, "embedded": embedded})
        settings = given.model_copy(update={"ledger": ledger})
        if said:
            with pytest.raises(SettingsError, match=said):
                serving_plan(settings)
        else:
            assert serving_plan(settings).settings.ledger.embedded


def test_a_start_refuses_a_table_without_an_instrument_that_has_orders(
    state: Path, tmp_path: Path
) -> None:
    plan = serving_plan(serving(state, table_of(tmp_path)))
    body: dict[str, Any] = {
        "account": "desk",
        "decision_id": "d1",
        "intent": {"instrument": "SPXN"},
        "verdict": {},
        "basis_seq": 0,
        "result": "allow",
        "policy_digest": "",
        "kill_epoch": 0,
        "market_now_us": 0,
        "send_before_us": 0,
        "reservation": None,
    }
    reader = SimpleNamespace(records=lambda **_: [])
    verdict = SimpleNamespace(payload=canonical(body))
    orders = SimpleNamespace(
        names=lambda: frozenset({"C1"}), by_cl_ord_id=lambda _: SimpleNamespace(verdict=verdict)
    )
    with pytest.raises(InstrumentsError, match="SPXN: is not in the table"):
        refuse_changed_terms(plan, cast("LedgerReader", reader), cast("Orders", orders))


def test_check_and_show_tell_every_error_and_exit_with_1(tmp_path: Path) -> None:
    wrong = str(table_of(tmp_path, currency='"USX"', lot=0))
    for verb in ("check", "show"):
        done = CliRunner().invoke(app, ["instruments", verb, wrong])
        assert done.exit_code == 1
        assert [line.split(": ")[1] for line in done.stderr.splitlines()[1:]] == ["currency", "lot"]
        assert done.stdout == ""


def test_show_is_a_table_and_check_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_INSTRUMENTS", str(EXAMPLE))
    done = CliRunner().invoke(app, ["instruments", "show"])
    head, row, last = done.stdout.splitlines()
    assert done.exit_code == 0
    assert head.split()[:4] == ["symbol", "class", "currency", "tick"]
    assert row.split()[:4] == ["AAPL", "equity", "USD", "0.01"]
    checked = CliRunner().invoke(app, ["instruments", "check"])
    assert checked.stdout == f"{last}\n"
    assert last.startswith("1 instrument, no errors, sha256 ")


def test_the_example_that_is_printed_passes_its_own_check(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(CliRunner().invoke(app, ["instruments", "example"]).stdout)
    assert CliRunner().invoke(app, ["instruments", "check", str(file)]).exit_code == 0


def test_check_without_a_file_or_a_setting_says_so() -> None:
    done = CliRunner().invoke(app, ["instruments", "check"])
    assert isinstance(done.exception, SettingsError)
    assert "set it, or name a file" in str(done.exception)
