"""From an empty folder to a served gateway, with the verbs of the operator's page.

The gateway's folder never holds an officer's private key; both officers release a kill with theirs.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from audit.records.kinds import Kind
from audit.store.logins import LOGIN_ROLE, admit
from audit.store.tables import ERASER_ROLE, READER_ROLE, WRITER_ROLE, connect
from gateway.cli.main import app as countersign
from gateway.errors import SettingsError
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys.officers import PRIVATE_WORD
from gateway.installation.policies.policy_files import read_policy
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.launch.app import running
from gateway.launch.plan import serving_plan
from risk.policy.policy import policy_digest
from tests.conftest import dsn_of

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


def do(*words: object) -> Result:
    done = CliRunner().invoke(countersign, [str(word) for word in words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def signed(draft: Path, officers: dict[str, Path], *how: object) -> Path:
    """Return the bundle of a new policy that both officers signed."""
    do("policy", "new", draft, *how)
    for key in officers.values():
        do("policy", "sign", draft, "--key", key)
    return draft.with_suffix(".bundle.json")


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
    tmp_path: Path, login_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, keys = tmp_path / "state", tmp_path / "keys"
    for name, value in (
        ("COUNTERSIGN_STATE", str(state)),
        ("COUNTERSIGN_KEYS", str(keys)),
        ("COUNTERSIGN_LEDGER__DSN", login_dsn),
        ("COUNTERSIGN_FIX__PORT", "1"),
        ("COUNTERSIGN_API__PORT", "0"),
        ("COUNTERSIGN_INSTRUMENTS", str(tmp_path / "instruments.toml")),
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
    shutil.copy(officers["risk"], StateFolder.of(load()).keys / "risk.key")
    with pytest.raises(SettingsError, match="officer's private key"):
        serving_plan(load())
