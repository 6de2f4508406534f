"""An order leaves under an exceptional override, on a whole gateway; an outsider checks it."""

from pathlib import Path

import pytest

from audit.evidence.bundle import build_bundle
from audit.records.kinds import Kind
from gateway.evidence.replay.replay import replay
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.launch.app import App
from gateway.launch.commands.oversight import overrides
from gateway.walk.journal.control.oversight.overrides import override_in
from tests.doubles.api_agent import Agent, standing_of
from tests.doubles.both_verifiers import both
from tests.doubles.verbs import typed

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]
TOO_LARGE_BP = 4_100
"""410,000 USD: above the 400,000 that nobody may, and that a person is asked about."""


def granted(app: App, folder: Path) -> None:
    """Draft, sign and grant an override of R04 for the agents' account, as officers do."""
    given = {
        "account": f"{app.plan.tags.account}.agent",
        "instrument": "SPXN",
        "side": "BUY",
        "rule": "R04",
        "check": "notional",
        "qty_max_lots": 1_600,
        "notional_max_minor": 43_000_000,
        "reason": "the index is rebalanced tonight",
    }
    file = folder / "override.json"
    assert overrides.draft(app.plan.settings, file, given, 60) == 0
    for role in SIGNING_ROLES:
        raw = app.plan.keyring.signing_key(role).private_bytes_raw().hex()
        key = folder / f"{role}.key"
        key.write_text(f"countersign-officer-private {role} dev-{role} {raw}\n")
        assert overrides.sign(file, key) == 0
    assert overrides.grant(app.plan.settings, file) == 0


def officers(app: App, folder: Path) -> list[str]:
    """Return the options that give both officers' public keys to a verifier."""
    asked = []
    for role, raw in app.plan.keyring.public_keys().items():
        path = folder / f"{role}.pub"
        path.write_text(f"countersign-officer-public {role} dev-{role} {raw.hex()}\n")
        asked += ["--officer", str(path)]
    return asked


def test_an_order_leaves_under_an_override_and_its_bundle_proves_it(
    app: App, agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # another size, for R16 refuses the same order twice in a short time, and nothing lifts R16
    assert agent.intent("too-large", TOO_LARGE_BP + 20).json()["result"] == "rejected"
    granted(app, tmp_path)
    told = agent.intent("with-override", TOO_LARGE_BP).json()
    assert told["result"] == "held", [one for one in told["rules"] if one["action"] == "REJECT"]
    name = told["decision_id"]
    assert ("R04.notional", "WARN", "OVERRIDDEN") in [
        (one["rule"], one["action"], one["reason"]) for one in told["rules"]
    ]
    words = ("--text", "too much at once", "--sort", "dissent", "--instead", "none")
    assert typed(app.plan.settings.state, "annotate", name, *words, "--as", "auditor")[0] == 0
    with Agent(app, "approver") as person:
        sheet = person.http.get(f"/v1/decisions/{name}/sheet").json()
        answer = {
            "approve": True,
            "intent_digest": told["approval"]["intent_digest"],
            "sheet_digest": sheet["sheet_digest"],
            "note": "as the officers say",
        }
        done = person.http.post(f"/v1/decisions/{name}/approval", json=answer).json()
        assert done["result"] == "approved", done
        listed = person.http.get("/v1/overrides").json()["overrides"]
    assert [(one["state"], one["used_by"]) for one in listed] == [("used", name)]
    wait_for(lambda: standing_of(app, name).sealed, 60.0, part="the order's end")
    replay(app.reader, app.desk.own.tools.table, name)
    verdicts = app.reader.records(stream=f"decision/{name}", kinds=(Kind.VERDICT_GIVEN,))
    assert all(override_in(one) is not None for one in verdicts)

    newest = app.reader.head().size
    wait_for(lambda: app.reader.checkpoint_after(newest - 1) is not None, 30.0, part="checkpoint")
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(build_bundle(app.reader, name))
    key = str(app.plan.keyring.folder / "ledger.key.pub")
    code, text = both(capsys, str(bundle), "--key", key, *officers(app, tmp_path), verdict=True)
    assert (code, "lifts R04 notional once: both officers signed" in text) == (0, True), text
    data = bundle.read_bytes()
    assert b"decision_annotated" in data
    assert b"too much at once" in data
