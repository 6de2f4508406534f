"""From an empty folder to a served gateway and an order, with the commands of the operator's page.

The gateway's folder never holds an officer's private key; both officers release a kill with theirs.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from audit.records.kinds import Kind
from audit.store.logins import LOGIN_ROLE, admit
from audit.store.tables import ERASER_ROLE, READER_ROLE, WRITER_ROLE, connect
from gateway.cli.main import app as countersign
from gateway.clock import wall_us
from gateway.errors import SettingsError
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.children.simulator import free_port, wait_for
from gateway.installation.keys.officers import PRIVATE_WORD
from gateway.installation.policies.policy_files import read_policy
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.launch.app import App, running
from gateway.launch.plan import serving_plan
from risk.policy.policy import policy_digest
from tests.conftest import dsn_of
from tests.doubles.feeds import bars
from tests.doubles.operator_page import commands_of_the_page, do, make_desk
from tests.doubles.outside_broker import OTHER_ENGINE, OutsideBroker, outside_broker

PROGRAM = (sys.executable, "-m", "tests.doubles.scripted_engine", "well")
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]


@pytest.fixture
def login_dsn(postgres: EmbeddedPostgres, postgres_dsn: str) -> Iterator[str]:
    """The gateway's own plain login."""
    dsn = dsn_of(postgres.login_dsn, postgres_dsn.partition("?")[0].rpartition("/")[2])
    admit(postgres_dsn, dsn)
    yield dsn
    with connect(postgres_dsn) as admin:
        for role in (WRITER_ROLE, READER_ROLE, ERASER_ROLE):
            admin.execute(f"REVOKE {role} FROM {LOGIN_ROLE}".encode())
        admin.execute(f"DROP ROLE {LOGIN_ROLE}".encode())


def signed(draft: Path, officers: dict[str, Path], *how: object) -> Path:
    """Return the bundle of a new policy that both officers signed."""
    do("policy", "new", draft, *how)
    for key in officers.values():
        do("policy", "sign", draft, "--key", key)
    return draft.with_suffix(".bundle.json")


def looked() -> dict[str, tuple[str, str]]:
    """Return what `doctor` says of each part, faults first."""
    done = CliRunner().invoke(countersign, ["doctor", "--json"])
    told: list[dict[str, str]] = json.loads(done.stdout)["findings"]
    told.sort(key=lambda one: one["health"] == "mend")
    return {one["part"]: (one["health"], one["said"]) for one in told}


def take_in_turn(keys: Path, *policies: tuple[Path, bool]) -> None:
    """Start with each bundle after the one of the folder; say of each whether it is taken."""
    digests = [policy_digest(serving_plan(load()).policy.policy)]
    for chosen, taken in policies:
        shutil.copy(chosen, keys / "policy.bundle.json")
        again = replace(serving_plan(load()), engine_program=PROGRAM)
        if taken:
            digests.append(policy_digest(again.policy.policy))
            with running(again, lambda _: None) as app:
                control = app.reader.records(stream="control", kinds=(Kind.POLICY_ACTIVATED,))
                bodies: list[Any] = [one.body for one in control]
                assert [one["policy_digest"] for one in bodies] == digests
        else:
            with (
                pytest.raises(SettingsError, match=f'parent = "{digests[-1]}"'),
                running(again, lambda _: None),
            ):
                pass


def test_an_empty_folder_becomes_a_served_gateway_whose_officers_keep_their_keys(
    tmp_path: Path, login_dsn: str, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, keys = tmp_path / "state", tmp_path / "keys"
    for name, value in (
        ("COUNTERSIGN_STATE", str(state)),
        ("COUNTERSIGN_KEYS", str(keys)),
        ("COUNTERSIGN_LEDGER__DSN", login_dsn),
        ("COUNTERSIGN_FIX__PORT", "1"),
        ("COUNTERSIGN_API__PORT", "0"),
        ("COUNTERSIGN_INSTRUMENTS", str(tmp_path / "instruments.toml")),
        *((f"COUNTERSIGN_LIABILITY__{one}", "a firm") for one in ("DEPLOYER", "COMPUTE_OPERATOR")),
    ):
        monkeypatch.setenv(name, value)
    officers = {role: tmp_path / "home" / role / f"{role}.key" for role in ("risk", "compliance")}
    draft, bundle = tmp_path / "policy.toml", tmp_path / "policy.bundle.json"
    do("log-key")
    do("row-key")
    do("keygen", "--name", "operator", "--role", "operator")
    for role, file in officers.items():
        do("officer-key", file, "--role", role)
        shutil.copy(file.with_suffix(".pub"), keys)
    (tmp_path / "instruments.toml").write_text(do("instruments", "example").stdout)
    do("instruments", "check")
    do("policy", "new", draft)
    do("policy", "sign", draft, "--key", officers["risk"])
    shutil.copy(bundle, keys)
    with pytest.raises(SettingsError, match="compliance did not sign"):
        serving_plan(load())
    do("policy", "sign", bundle, "--key", officers["compliance"])
    shutil.copy(bundle, keys)

    for path in (*keys.rglob("*"), *state.rglob("*")):
        assert path.is_dir() or PRIVATE_WORD.encode() not in path.read_bytes()
    plan, said = serving_plan(load()), list[str]()
    with running(replace(plan, engine_program=PROGRAM), said.append) as app:
        assert "database   connecting to PostgreSQL" in said
        assert any(line.startswith("policy     does not name AAPL: every intent") for line in said)
        (record,) = app.reader.records(stream="control", kinds=(Kind.POLICY_ACTIVATED,))
        body: Any = record.body
        assert body["policy_digest"] == policy_digest(read_policy(draft).policy)
        assert body["signed_by"] == ["risk:risk-officer", "compliance:compliance-officer"]
        assert body["dev"] is False

        do("kill", "--reason", "a drill")
        alone = CliRunner().invoke(
            countersign, ["release", "--reason", "r", "--risk-key", str(officers["risk"])]
        )
        assert "--compliance-key" in str(alone.exception)
        with_both = [word for role, key in officers.items() for word in (f"--{role}-key", key)]
        assert "is released" in do("release", "--reason", "repaired", *with_both).output

    take_in_turn(
        keys,
        (signed(tmp_path / "stray.toml", officers, "--author", "somebody"), False),
        (bundle, True),
        (signed(tmp_path / "next.toml", officers, "--from", bundle), True),
        (bundle, False),
    )
    found = looked()
    assert [found[part][0] for part in ("database", "ledger", "session")] == ["good"] * 3
    # The database begins with a clean environment: where a whole suite's clock is set (`make
    # later`), its own is years behind, and the doctor must see it.
    assert found["clock"][0] == ("mend" if "CLOCK_SHIM_S" in os.environ else "good")
    assert found["policy"][0] == "mend"
    assert "does not follow the one on record" in found["policy"][1]
    with monkeypatch.context() as patch:
        patch.setenv("COUNTERSIGN_LEDGER__DSN", postgres_dsn)
        assert "is a superuser" in looked()["database"][1]

    shutil.copy(officers["risk"], StateFolder.of(load()).keys / "risk.key")
    with pytest.raises(SettingsError, match="officer's private key"):
        serving_plan(load())


LISTED_MAX = 10


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OutsideBroker]:
    """A broker on an engine of another make, with CompIDs of its own; it fills at the limit."""
    engine = (*OTHER_ENGINE, "DESK")
    with outside_broker(tmp_path / "broker", engine, *("fill",) * 9) as broker:
        yield broker


def shell(line: str, folder: Path) -> dict[str, Any]:
    """Run one line of the page in a shell and return its JSON."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return dict(json.loads(done.stdout))


@pytest.mark.broker
def test_the_commands_of_the_page_lead_from_an_empty_folder_to_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: OutsideBroker
) -> None:
    top, port = tmp_path / "empty", free_port()
    top.mkdir()
    monkeypatch.chdir(top)
    monkeypatch.setenv("COUNTERSIGN_API__PORT", str(port))
    prepare, trade = commands_of_the_page()
    assert len(prepare) + len(trade) <= LISTED_MAX
    assert prepare.pop() == "countersign serve"
    make_desk(prepare, broker.port, monkeypatch, "")
    lines = "\n".join(json.dumps({**one, "instrument": "AAPL"}) for one in bars(60, wall_us()))
    (top / "bars.ndjson").write_text(lines)
    post_bars, post_quote, ask = (one.replace(":8700/", f":{port}/") for one in trade)
    said: list[str] = []
    plan = replace(serving_plan(load()), engine_program=PROGRAM)
    with running(plan, said.append) as app, app.housekeeping.in_background():
        assert "database   starting PostgreSQL" in said
        assert "session    FIX logged on and reconciled" in said
        assert not any(line.startswith("policy ") for line in said)
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        assert shell(post_bars, top)["taken"] == 60
        answers: list[Any] = []
        for number in range(1, 21):  # a machine that stood still made the quote too old
            quoted = shell(post_quote.replace('"sequence": 1', f'"sequence": {number}'), top)
            answers.append((quoted, shell(ask.replace("first-1", f"first-{number}"), top)))
            if answers[-1][1].get("result") == "approved":
                break
        assert answers[-1][1].get("result") == "approved", answers
        wait_for(lambda: filled(app), 20.0, part="fill")
    assert len(broker.wire("D")) == 1
    assert broker.wire("3", "out") == []
    do("verify", "--key", "keys/ledger.key.pub")
    do("doctor")


def filled(app: App) -> bool:
    """Return whether the agent's order has its fill on record."""
    bodies: list[Any] = [one.body for one in app.reader.records(kinds=(Kind.ORDER_REPORTED,))]
    return any(one["terminal"] and one["fill"] is not None for one in bodies)
