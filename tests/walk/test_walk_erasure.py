"""A person in a running gateway: named in an intent, found nowhere after the erasure.

The search covers the whole state folder (database with WAL, FIX child, logs, vault), a copy of it
made before, dumps, bundles and what the verbs printed. The simulator's files are the broker's own;
they are searched too, as nothing there may hold the name either.
"""

import io
import json
import shutil
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import psycopg
import pytest

from audit.evidence.bundle import build_bundle
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.upkeep.dump import dump, verify_database, verify_dump
from gateway.clock import wall_us
from gateway.evidence.replay.replay import replay
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.launch.app import App
from gateway.launch.paper.play import open_session
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent, decided, ended
from tests.doubles.privacy_world import NAME, forms, hits
from tests.doubles.programs import verb
from tests.doubles.state_folder import state_folder

pytestmark = [pytest.mark.walk, pytest.mark.timeout(300)]
KEPT_NO_YEARS = {"COUNTERSIGN_RETENTION__ORDER_YEARS": "0"} | {
    "COUNTERSIGN_RETENTION__COMMUNICATION_YEARS": "0",
    "COUNTERSIGN_RETENTION__SUPERVISION_YEARS": "0",
}


@pytest.fixture(scope="module")
def no_years() -> Iterator[None]:
    """An installation to which no statute applies."""
    with pytest.MonkeyPatch.context() as patch:
        for name, text in KEPT_NO_YEARS.items():
            patch.setenv(name, text)
        yield


def ask(app: App, name: str, path: str, **body: object) -> tuple[int, dict[str, Any]]:
    with Agent(app, name) as caller:
        answer = caller.http.post(f"/v1/privacy/{path}", json=body)
    found: dict[str, Any] = answer.json()
    return answer.status_code, found


def name_everywhere(app: App) -> Record:
    """Name a person in an intent and in an operator's words; return the intent's record."""
    words = {"person": NAME, "reason": f"as {NAME} asked"}
    with Agent(app) as agent:
        body = agent.intent("by-a-person", 500, **words).json()
        assert decided(agent.intent("by-a-person", 500, **words).json()) == decided(body)
        assert agent.intent("by-a-person", 500, person="Somebody Else").status_code == 400
    assert NAME not in json.dumps(body)
    decision = str(body["decision_id"])
    ended(app, decision)
    with Agent(app, "operator") as operator:
        assert operator.http.post("/v1/kill", json={"reason": f"{NAME} called"}).status_code == 200
    stream = f"decision/{decision}"
    (received,) = app.reader.records(stream=stream, kinds=(Kind.INTENT_RECEIVED,))
    subject = received.body["request"]["person"]
    assert received.body["request"]["reason"] == subject
    paths = [one["path"] for one in received.body["personal"]]
    assert paths == ["request.person", "request.reason"]
    (press,) = app.reader.records(kinds=(Kind.KILL_PRESSED,))
    assert press.body["reason"] == subject
    return received


def who_answers(app: App, received: Record) -> None:
    """Read on the page, and in the bundle's own records, who is liable for the decision."""
    decision, run = received.body["decision_id"], received.body["run_id"]
    started = app.reader.by_key("control", f"run_started:{run}")
    assert started is not None
    assert set(started.body["liability"]) == {"model_provider", "compute_operator", "deployer"}
    page = httpx.get(
        f"{app.server.address}/decisions/{decision}",
        headers={"Authorization": f"Bearer {app.plan.keyring.token('auditor')}"},
        trust_env=False,
        timeout=30.0,
    )
    for said in started.body["liability"].values():
        assert said in page.text
    app.ledger.checkpoint_now()
    with zipfile.ZipFile(io.BytesIO(build_bundle(app.reader, decision))) as bundle:
        assert any(b'"liability"' in bundle.read(name) for name in bundle.namelist())


def only_who_may(app: App, received: Record) -> None:
    """Read, hold and refuse, each by the role for it and by nobody else."""
    assert ask(app, "operator", "disclose", seq=received.seq, reason="x")[0] == 403
    assert ask(app, "auditor", "erase", subject=NAME, basis="x")[0] == 403
    assert ask(app, "agent", "hold", scope="all", reason="x")[0] == 403
    status, shown = ask(app, "auditor", "disclose", seq=received.seq, reason="complaint")
    assert status == 200
    assert [one["value"] for one in shown["fields"]] == [NAME, f"as {NAME} asked"]
    scope = f"decision:{received.body['decision_id']}"
    status, hold = ask(app, "operator", "hold", scope=scope, reason="case 1")
    assert status == 200
    status, refused = ask(app, "operator", "erase", subject=NAME, basis="GDPR art. 17")
    assert (status, refused["code"]) == (409, "erasure_refused")
    lift = {"hold_id": hold["hold_id"], "reason": "case 1 is over"}
    assert ask(app, "operator", "release-hold", **lift)[0] == 409
    assert ask(app, "approver", "release-hold", **lift)[0] == 200


def name_where_it_is_refused(app: App) -> None:
    """Send the name in addresses, headers, bodies and keys that nothing accepts."""
    upper = NAME.upper()
    with Agent(app) as agent, Agent(app, "operator") as operator:
        answers = [
            agent.http.get(f"/v1/decisions/{quote(NAME)}"),
            agent.http.get(f"/v1/{quote_plus(upper)}", params={"person": NAME}),
            agent.http.get("/decisions", params={"q": NAME, "after": upper}),
            agent.http.get("/", headers={"User-Agent": quote(NAME), "Referer": f"/{quote(NAME)}"}),
            agent.http.get("/v1/health", headers={"Authorization": f"Bearer {quote(NAME)}"}),
            agent.http.post("/v1/intents", content=f'{{"person": "{NAME}", '.encode()),
            agent.http.post("/v1/intents", json={"person": NAME, NAME: upper}),
            agent.intent(NAME, 500),
            agent.intent("another-key", 500, instrument=NAME),
            agent.intent(
                "another-key", 500, limit_price=NAME, reason=unicodedata.normalize("NFD", NAME)
            ),
            agent.intent("another-key", 500, instrument="NOBODY", person=NAME, reason=f"{upper}?"),
            agent.intent("by-a-person", 700, person=NAME, reason=f"{upper} again"),
            agent.http.post("/v1/kill", json={"reason": f"{NAME} called"}),
            operator.http.post("/v1/privacy/erase", json={"subject": NAME, "basis": upper}),
            operator.http.post(
                "/v1/privacy/hold", json={"scope": f"subject:{upper}?", "reason": "x"}
            ),
            operator.http.post(
                "/v1/privacy/hold", json={"scope": f"decision:{NAME}", "reason": "x"}
            ),
            operator.http.post("/v1/privacy/hold", json={"scope": "all", "reason": f"for {upper}"}),
            operator.http.post("/v1/kill/release", json={"reason": NAME, "epoch": NAME}),
        ]
    assert {answer.status_code // 100 for answer in answers} <= {2, 4}, [
        (answer.status_code, str(answer.url)) for answer in answers
    ]
    assert sum(answer.status_code >= 400 for answer in answers) >= len(answers) - 3


def name_while_it_is_erased(app: App) -> None:
    """Lose the race once: the pseudonym is retired between the name and its record."""
    vault = app.desk.own.dispatching.persons
    assert isinstance(vault, Vault)
    known, late = vault.subject(NAME), "said-while-erased"
    with Agent(app) as agent, pytest.MonkeyPatch.context() as patch:

        def subject(name: str) -> str:
            patch.undo()
            found = vault.subject(name)
            vault.retire(found)
            return found

        patch.setattr(vault, "subject", subject)
        lost = agent.intent(late, 500, person=NAME)
        assert (lost.status_code, lost.json()["code"]) == (503, "subject_retired")
        vault.restore(known)
        assert agent.intent(late, 500, person=NAME).status_code == 200
    (said,) = [
        r for r in app.reader.records(kinds=(Kind.INTENT_RECEIVED,)) if r.body["client_key"] == late
    ]
    assert said.body["request"]["person"] == known
    ended(app, said.body["decision_id"])


def keep(app: App, folder: Path, name: str, decision: str) -> None:
    """Write what an outsider may hold, and check it."""
    app.ledger.checkpoint_now()
    trusted = (app.plan.state.ledger_vkey.read_text().strip(),)
    dump(app.dsn, folder / f"{name}.dump")
    (folder / f"{name}.zip").write_bytes(build_bundle(app.reader, decision))
    assert verify_dump(folder / f"{name}.dump", trusted).exit_code == 0
    report = verify_database(app.dsn, trusted, now_us=wall_us())
    assert report.exit_code == 0, report.lines
    server = EmbeddedPostgres(app.plan.state.root)
    server.start()
    with server.administration() as dsn, psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("CHECKPOINT")  # every page to disk
    assert not server.stop()  # the gateway goes on using it


def test_a_person_is_named_kept_disclosed_and_forgotten(
    no_years: None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert no_years is None
    with state_folder(with_database=True) as state, live_desk.desk(state) as app:
        for session in live_desk.sessions(2):
            open_session(app, session)
        received = name_everywhere(app)
        who_answers(app, received)
        decision, subject = received.body["decision_id"], received.body["request"]["person"]
        only_who_may(app, received)
        name_while_it_is_erased(app)
        name_where_it_is_refused(app)
        assert replay(app.reader, app.desk.own.tools.table, decision).lines
        keep(app, tmp_path, "before", decision)
        ignored = shutil.ignore_patterns("vault", ".s.*", "*.sock")
        shutil.copytree(state, tmp_path / "copied", ignore=ignored)
        assert {hit.partition(" as ")[0] for hit in hits(NAME, state)} == {f"{subject}.subject"}

        # the verb finds the gateway running and goes through it
        done = verb(state, "erase", "--subject", NAME, "--basis", "GDPR art. 17(1)(b)")
        assert done.returncode == 0, done.stderr
        assert subject in done.stdout
        assert "(GDPR art. 19): auditor (record " in done.stdout
        status, twice = ask(app, "operator", "erase", subject=subject, basis="GDPR art. 17(1)(b)")
        assert (status, twice["subjects"], twice["keys_destroyed"]) == (200, [subject], 0)
        gone = verb(state, "disclose", str(received.seq), "--reason", "after the erasure")
        assert (gone.returncode, gone.stdout.count("(erased)")) == (2, 2)
        reads = app.reader.kind_counts()[Kind.PERSONAL_DISCLOSED]
        words = ("disclose", str(received.seq), "--reason", "x", "--out", "/proc/nowhere")
        assert verb(state, *words).returncode == 2
        assert app.reader.kind_counts()[Kind.PERSONAL_DISCLOSED] == reads

        assert replay(app.reader, app.desk.own.tools.table, decision).lines
        keep(app, tmp_path, "after", decision)
        assert (tmp_path / "before.zip").read_bytes() == (tmp_path / "after.zip").read_bytes()
        assert hits(NAME, state, tmp_path) == []
        said = capfd.readouterr()
        (tmp_path / "said").write_text(said.out + said.err + caplog.text)
        assert hits(NAME, tmp_path / "said") == [], "nor did the gateway say it to the journal"
        planted = state / "logs" / "planted"
        for form in forms(NAME).values():
            planted.write_bytes(form)
            assert hits(NAME, state / "logs")
