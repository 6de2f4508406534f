"""A release holds for one press of one ledger: signatures for any other release nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.upkeep.backup.backup import backup
from fix.durable.kill_word import KillWord
from gateway.clock import wall_us
from gateway.desk.controls.statements import release_statement
from gateway.desk.officers.release import kill_state, release_press
from gateway.errors import ReleaseRefusedError
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.keys.log_id import log_id
from gateway.launch.parts import restore_kill
from gateway.surfaces.server import build_site
from gateway.surfaces.web.views.lists import Views
from inference.weights.registry import read_table
from tests.doubles.audit_log import SIGNER
from tests.doubles.audit_spoiled import silent
from tests.doubles.backup_world import back, empty_ledger
from tests.doubles.small_desk import SmallDesk, small_desk

pytestmark = pytest.mark.postgres
TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"
HOME = "http://127.0.0.1:8700"


@pytest.fixture
def other_dsn(postgres: EmbeddedPostgres) -> Iterator[str]:
    with empty_ledger(postgres) as dsn:
        yield dsn


@contextmanager
def desk_on(dsn: str, state: Path) -> Iterator[SmallDesk]:
    """Yield a desk over a ledger of the one origin that every ledger here has."""
    ledger = Ledger.open(LedgerConfig(dsn=dsn, checkpoint_every_s=0), SIGNER, wall_us)
    reader = LedgerReader(dsn)
    try:
        yield small_desk(ledger, reader, state, read_table(TABLE_FILE.read_bytes()))
    finally:
        ledger.close()
        reader.close()


def press(small: SmallDesk) -> int:
    return small.desk.kill_switch.press(actor="ada", reason="a test").kill_epoch


def signed(small: SmallDesk, what: str) -> dict[str, str]:
    return {
        role: small.keyring.signing_key(role).sign(what.encode()).hex() for role in SIGNING_ROLES
    }


def refuses(small: SmallDesk, epoch: int, signatures: dict[str, str]) -> bool:
    """Whether a release is refused, leaves no record and the gate shut."""
    with pytest.raises(ReleaseRefusedError):
        release_press(small.desk.own, "ada", epoch, signatures, "replayed")
    released = list(small.reader.records(kinds=(Kind.KILL_RELEASED,)))
    newest = small.desk.own.word.newest_press()
    return newest.killed and all(r.body["press_id"] != newest.press_id for r in released)


def test_a_statement_of_another_ledger_of_the_same_origin_and_keys_releases_nothing(
    postgres_dsn: str, other_dsn: str, tmp_path: Path
) -> None:
    with desk_on(postgres_dsn, tmp_path / "one") as one:
        assert press(one) == 1
        first = kill_state(one.desk.own)
        good = signed(one, first["to_sign"])
        release_press(one.desk.own, "ada", 1, good, "tested")
        after = kill_state(one.desk.own)
        assert (after["kill_epoch"], after["killed"]) == (1, False)
        assert "to_sign" not in after
    shutil.copytree(tmp_path / "one" / "keys", tmp_path / "two" / "keys")
    with desk_on(other_dsn, tmp_path / "two") as two:
        assert press(two) == 1
        assert two.desk.own.origin == one.desk.own.origin
        assert refuses(two, 1, good)
        own = kill_state(two.desk.own)
        assert own["log_id"] != first["log_id"]
        for log, press_id in (
            (first["log_id"], own["press_id"]),
            (own["log_id"], first["press_id"]),
        ):
            wrong = release_statement(log, 1, press_id).decode()
            assert refuses(two, 1, signed(two, wrong)), (log, press_id)
        release_press(two.desk.own, "ada", 1, signed(two, own["to_sign"]), "tested")


def test_a_statement_from_before_a_restore_releases_nothing_after_it(
    postgres_dsn: str, other_dsn: str, tmp_path: Path
) -> None:
    """The backup was taken while killed; the signatures of the release that followed are public."""
    with desk_on(postgres_dsn, tmp_path / "one") as one:
        press(one)
        one.ledger.checkpoint_now()
        backup(postgres_dsn, tmp_path / "b", wall_us(), silent)
        before = kill_state(one.desk.own)
        good = signed(one, before["to_sign"])
        release_press(one.desk.own, "ada", 1, good, "tested")
        keys = one.keyring.public_keys()
    back(other_dsn, tmp_path / "b")
    reader = LedgerReader(other_dsn)
    word = KillWord(tmp_path / "restored.word", create=True)
    try:
        assert log_id(reader, one.desk.own.origin) == before["log_id"], "it is the same ledger"
        restore_kill(word, reader, keys, one.desk.own.origin)
        now = word.newest_press()
        assert (now.kill_epoch, now.killed) == (1, True)
        assert now.press_id not in {"", before["press_id"]}
    finally:
        word.close()
        reader.close()
    (tmp_path / "two").mkdir()
    shutil.copytree(tmp_path / "one" / "keys", tmp_path / "two" / "keys")
    shutil.copy(tmp_path / "restored.word", tmp_path / "two" / "kill.word")
    with desk_on(other_dsn, tmp_path / "two") as two:
        assert refuses(two, 1, good)
        release_press(
            two.desk.own, "ada", 1, signed(two, kill_state(two.desk.own)["to_sign"]), "tested"
        )
        word = two.desk.own.word
        assert restore_kill(word, two.reader, keys, two.desk.own.origin) == ""
        assert word.read() == (1, False), "the next start believes this release"


def test_who_may_press_and_release_and_what_is_signed_over_http(
    postgres_dsn: str, tmp_path: Path
) -> None:
    with desk_on(postgres_dsn, tmp_path) as small:
        site = build_site(small.desk, small.keyring, Views(small.reader, small.table))
        browser = TestClient(site, base_url=HOME, client=("127.0.0.1", 40000))

        def call(name: str | None, method: str, path: str, **body: object) -> tuple[int, Any]:
            key = "cs_nobody" if name is None else small.keyring.token(name)
            answer = browser.request(
                method, path, json=body or None, headers={"Authorization": f"Bearer {key}"}
            )
            return answer.status_code, answer.json()

        for name, status in ((None, 401), ("agent", 403), ("auditor", 403)):
            assert call(name, "POST", "/v1/kill", reason="x")[0] == status
        assert not small.desk.own.word.read().killed
        assert call("approver", "POST", "/v1/kill", reason="x")[0] == 200
        state = call("auditor", "GET", "/v1/kill")[1]
        assert state["to_sign"].splitlines()[2:] == [
            state["log_id"],
            f"epoch {state['kill_epoch']}",
            f"press {state['press_id']}",
        ]
        release = {
            "kill_epoch": 1,
            "signatures": signed(small, state["to_sign"]),
            "reason": "tested",
        }
        for name, status in ((None, 401), ("agent", 403), ("auditor", 403)):
            code, said = call(name, "POST", "/v1/kill/release", **release)
            assert code == status, said
            assert small.desk.own.word.read() == (1, True), name
        assert list(small.reader.records(kinds=(Kind.KILL_RELEASED,))) == []
        assert call("operator", "POST", "/v1/kill/release", **release)[0] == 200
        (record,) = small.reader.records(kinds=(Kind.KILL_RELEASED,))
        assert record.body["press_id"] == state["press_id"]
        assert record.body["log_id"] == state["log_id"]
        assert not small.desk.own.word.read().killed
        assert call("operator", "POST", "/v1/kill/release", **release)[0] == 403, "used up"
