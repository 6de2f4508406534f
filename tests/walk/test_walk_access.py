"""What a gateway leaves on record, and on disk, of who was refused and who signed in."""

from pathlib import Path

import httpx
import pytest

from audit.records.kinds import Kind
from gateway.launch.app import App
from tests.doubles import live_desk
from tests.doubles.api_agent import Agent

pytestmark = [pytest.mark.walk, pytest.mark.timeout(180)]
WRONG_KEY = "cs_a-key-that-nobody-holds"


def refused(app: App) -> set[tuple[str, str, int]]:
    """Return who was refused, why, and how often, as the ledger has it."""
    counts: dict[tuple[str, str], int] = {}
    for record in app.reader.records(stream="control", kinds=(Kind.ACCESS_REFUSED,)):
        key = str(record.body["who"]), str(record.body["reason"])
        counts[key] = counts.get(key, 0) + int(record.body["count"])
    return {(who, reason, count) for (who, reason), count in counts.items()}


def test_refusals_outlast_the_stop_and_no_key_or_link_is_written_down(walk_state: Path) -> None:
    with live_desk.desk(walk_state) as app:
        address = app.page_address()
        link = address.partition("once=")[2]
        assert len(link) > 20
        with Agent(app) as agent, httpx.Client(trust_env=False) as browser:
            for _ in range(3):
                agent.http.headers["Authorization"] = f"Bearer {WRONG_KEY}"
                assert agent.http.get("/v1/kill").status_code == 401
            agent.http.headers["Authorization"] = f"Bearer {app.plan.keyring.token('agent')}"
            assert agent.http.post("/v1/kill", json={"reason": "no"}).status_code == 403
            assert browser.get(f"{app.server.address}/ledger").status_code == 303
            assert browser.get(address).status_code == 303
            assert browser.get(f"{app.server.address}/ledger").status_code == 200
        with httpx.Client(trust_env=False) as late:
            assert late.get(address).status_code == 403
        keys = [path.read_text().strip() for path in app.plan.keyring.folder.glob("*.token")]
    with live_desk.desk(walk_state) as app:
        found = refused(app)
        assert {(who, reason, n) for who, reason, n in found if not who.startswith("unknown-")} == {
            ("agent", "may_not_kill", 1),
            ("none", "not_signed_in", 1),
            ("none", "link_not_valid", 1),
        }
        assert [(reason, n) for who, reason, n in found if who.startswith("unknown-")] == [
            ("unknown_key", 3)
        ]
        on_record = b"".join(r.header + r.payload for r in app.reader.records())
        kept = {
            path: path.read_bytes()
            for path in walk_state.rglob("*")
            if path.is_file() and "keys" not in path.parts and "pg" not in path.parts
        }
    for secret in (link, WRONG_KEY, *keys):
        assert secret.encode() not in on_record
        assert [path for path, data in kept.items() if secret.encode() in data] == []
