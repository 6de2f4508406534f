"""The gateway's own publisher: what its policy setting may be, what it says, what it records."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from gateway.clock import wall_us
from gateway.errors import SettingsError
from gateway.installation.children.simulator import wait_for
from gateway.launch.plan import Plan
from gateway.launch.threads.publisher import Publishing
from tests.doubles.audit_log import note
from tests.doubles.cosigners import WITNESSES, Cosigner
from tests.doubles.live_desk import plan_for
from tests.doubles.witness_process import witness_process

pytestmark = pytest.mark.postgres


def with_policy(plan: Plan, path: Path | None, **others: object) -> Plan:
    """Return the plan under another witness policy."""
    ledger = plan.settings.ledger.model_copy(update={"witness_policy": path, **others})
    return replace(plan, settings=plan.settings.model_copy(update={"ledger": ledger}))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_for(tmp_path / "state")


def opened(plan: Plan, dsn: str, publishing: Publishing) -> Ledger:
    config = LedgerConfig(dsn=dsn, checkpoint_every_s=0)
    return Ledger.open(config, plan.signer, wall_us, on_checkpoint=publishing.offer)


def test_a_quorum_is_said_and_recorded_once(plan: Plan, postgres_dsn: str, tmp_path: Path) -> None:
    with witness_process(tmp_path / "w", [str(plan.signer.vkey)]) as process:
        witnessed = with_policy(plan, tmp_path / "w" / "policy", witness_lost_after_s=0.5)
        publishing = Publishing(witnessed, postgres_dsn)
        with opened(plan, postgres_dsn, publishing) as ledger:
            publishing.start(ledger)
            assert publishing.parts() == {
                "tiles": "ready",
                "witnesses": "waiting for the first quorum",
            }
            reader = LedgerReader(postgres_dsn)

            def events() -> list[dict[str, Any]]:
                return [r.body for r in reader.records(kinds=(Kind.WITNESS_EVENT,))]

            for number in range(5):
                ledger.append(note(str(number)))
                ledger.checkpoint_now()
            wait_for(lambda: bool(events()), 20.0, part="quorum")
            assert publishing.parts()["witnesses"] == "ready"
            process.kill()
            ledger.append(note("alone"))
            ledger.checkpoint_now()
            wait_for(lambda: len(events()) == 2, 20.0, part="loss of the quorum")
            assert publishing.parts()["witnesses"].startswith("no quorum for")
            document = publishing.document()
            met, lost = events()
            reader.close()
        publishing.stop()
    assert document is not None
    assert document["quorum"] == "lost"
    # A slow publisher passes over checkpoints that a newer one covers.
    assert 1 <= document["lag_ms"]["checkpoints"] <= 5
    assert document["witnesses"][0]["name"] == "witness.example/ww"
    assert (met["event"], lost["event"]) == ("quorum_met", "quorum_lost")
    assert met["policy_digest"] == lost["policy_digest"] == document["policy_digest"]
    assert lost["witnesses"][0]["state"] != "ready"


def test_without_a_policy_nobody_is_asked(plan: Plan, postgres_dsn: str) -> None:
    publishing = Publishing(plan, postgres_dsn)
    with opened(plan, postgres_dsn, publishing) as ledger:
        publishing.start(ledger)
        ledger.append(note("a"))
        ledger.checkpoint_now()
        assert publishing.parts() == {"tiles": "ready"}
        assert publishing.document() is None
    publishing.stop()


@pytest.mark.parametrize(("tiles", "public"), [("auditor", False), ("public", True)])
def test_tiles_are_public_only_where_the_setting_says_so(
    plan: Plan, tiles: str, *, public: bool
) -> None:
    publishing = Publishing(with_policy(plan, None, tiles=tiles), "")
    assert publishing.log_files(cast("LedgerReader", None)).public is public


def test_a_policy_that_cannot_work_stops_the_start(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    with pytest.raises(SettingsError, match="WITNESS_POLICY: cannot read"):
        Publishing(with_policy(plan, path), "")
    vkey = WITNESSES[0].vkey
    crowd = [
        f"witness w{n} {Cosigner(f'w{n}.example', n).vkey} http://w.example" for n in range(93)
    ]
    for text, why in (
        ("".join(f"{line}\n" for line in (*crowd, "quorum w0")), "93 witness keys.* at most 92"),
        ("", "does not end"),
        ("quorum all\n", "line 1"),
        (f"witness w {vkey}\nquorum w\n", "no address for its witness 'w'"),
        (f"witness w {vkey} file:///etc/passwd\nquorum w\n", "not a witness's address"),
    ):
        path.write_text(text)
        with pytest.raises(SettingsError, match=why):
            Publishing(with_policy(plan, path), "")
