"""Rows of a stranger that led to effects by side doors: a backup, the FIX folder, a kill's report.

The other doors: `test_gateway_forged_rows`.
"""

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from audit.errors import BackupError, RowRefusedError
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from gateway.errors import RequestError
from gateway.evidence.backup import back_up, bring_back
from gateway.evidence.integrity import Given
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys.disavowal import disavow
from gateway.installation.keys.rotation import open_ledger
from gateway.installation.place import attached
from gateway.installation.settings import load
from gateway.launch.commands.kill import report_kill
from gateway.launch.plan import Plan
from gateway.privacy.erasure import make_privacy
from tests.doubles.audit_log import note
from tests.doubles.backup_world import empty_ledger
from tests.doubles.row_forger import forge, forged, plan_on, started

pytestmark = pytest.mark.postgres


@pytest.fixture
def plan(tmp_path: Path, postgres_dsn: str) -> Plan:
    """A gateway that has run once on the database."""
    made = plan_on(tmp_path / "state", postgres_dsn)
    with started(made, postgres_dsn) as (ledger_, _, _):
        ledger_.append(note("a"), note("b"))
    return made


def test_no_forged_erasure_comes_back_from_a_backup_as_our_own(
    plan: Plan, postgres: EmbeddedPostgres, postgres_dsn: str, tmp_path: Path
) -> None:
    """A stranger's row is in no backup; a disavowed one destroys no key after the restore."""
    subject, file = Vault(plan.state.vault).subject("Ann Example"), tmp_path / "ledger.backup"
    erasure = forged(Kind.SUBJECT_ERASED, subject=subject, records=0, fields=[], retention_years={})
    draft = replace(erasure, idem_key=f"erased:{subject}")
    (record,) = forge(postgres_dsn, plan.signer, draft)
    with attached(plan.settings) as place, open_ledger(place):
        pass  # signs the tree with the row in it
    refused = pytest.raises(BackupError, match=f"record {record.seq} .*disavow {record.seq}")
    with attached(plan.settings) as place, refused:
        back_up(place, file)
    assert not file.exists()
    disavow(plan.settings, record.seq, "a test", {})
    with attached(plan.settings) as place:
        back_up(place, file)
    with empty_ledger(postgres) as dsn:
        ledger = plan.settings.ledger.model_copy(update={"dsn": dsn})
        settings = load(state=tmp_path / "new").model_copy(update={"ledger": ledger})
        given = Given(keys=(str(plan.signer.vkey),))
        assert bring_back(settings, file, given, accept_older=False, reason="a test") == 0
        for name in ("keys", "vault"):
            copytree(plan.state.root / name, tmp_path / "new" / name)
        other = plan_on(tmp_path / "new", dsn)
        vault = Vault(other.state.vault)
        with started(other, dsn) as (opened, reader, _):
            privacy = make_privacy(
                *(other.settings, other.state), dsn=dsn, ledger=opened, reader=reader, vault=vault
            )
            assert privacy.complete() == 0
            assert next(reader.records(kinds=(Kind.RECORD_DISAVOWED,))).body["seq"] == record.seq
        assert subject in vault.subjects()


def test_a_disavowed_message_of_the_broker_stops_no_start(plan: Plan, postgres_dsn: str) -> None:
    """It says that the session's folder lacks megabytes of messages, which never came."""
    inbound = forged(Kind.FIX_INBOUND, offset=10_000_000)
    draft = replace(inbound, stream=f"session/{plan.profile(1).name}")
    (record,) = forge(postgres_dsn, plan.signer, draft)
    with pytest.raises(RowRefusedError, match=f"record {record.seq} "), started(plan, postgres_dsn):
        pass
    disavow(plan.settings, record.seq, "a test", {})
    with started(plan, postgres_dsn):
        pass


def test_a_kill_that_a_stranger_wrote_is_named_and_not_reported(
    plan: Plan, postgres_dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (record,) = forge(postgres_dsn, plan.signer, forged(Kind.KILL_PRESSED, kill_epoch=99))
    with pytest.raises(RequestError, match=f"no kill is on record.*record {record.seq} in stream"):
        report_kill(plan.settings)
    disavow(plan.settings, record.seq, "a test", {})
    with pytest.raises(RequestError, match=r"no kill is on record$"):
        report_kill(plan.settings)
    assert "99" not in capsys.readouterr().out
