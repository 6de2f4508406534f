"""The state's file is held against the log: it hides no signed record, and brings no verdict."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from audit.errors import FsckStateError
from audit.records.canonical import canonical
from audit.store.tables import connect
from audit.tlog.merkle import Frontier
from audit.upkeep.dump import dump
from audit.upkeep.fsck.dump import fsck_dump
from audit.upkeep.fsck.plan import FsckPlan
from audit.verifier.verify import OK, TAMPERED, Report
from tests.doubles.audit_log import SIGNER
from tests.doubles.audit_spoiled import WIDTH, disarm, fill, fsck_database, plan_of, silent

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
REWRITTEN = 2


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


def rewrite(dsn: str) -> None:
    """Rewrite a record in place and make its own hashes right."""
    disarm(dsn)
    with connect(dsn) as admin:
        query = "SELECT header FROM ledger.entry WHERE seq = %s"
        (header,) = admin.execute(query, (REWRITTEN,)).fetchone() or (b"",)
        payload = canonical({"text": "rewritten"})
        line = canonical(json.loads(header) | {"payload_sha256": sha256(payload).hexdigest()})
        admin.execute(
            "UPDATE ledger.entry SET payload = %s, payload_digest = %s, header = %s, leaf = %s"
            " WHERE seq = %s",
            (payload, sha256(payload).digest(), line, sha256(b"\0" + line).digest(), REWRITTEN),
        )


def stop_at(where: str, place: int) -> Callable[[str, int, int], None]:
    def stop(stage: str, at: int, _: int) -> None:
        if stage == where and at >= place:
            raise StoppedError

    return stop


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what a state's file says."""
    database = sqlite3.connect(path)
    text = json.loads(database.execute("SELECT text FROM meta").fetchone()[0])
    change(text["state"])
    database.execute("UPDATE meta SET text = ?", (json.dumps(text),))
    database.commit()
    database.close()


def claim(change: dict[str, Any], state: dict[str, Any]) -> None:
    """Let a state say something else."""
    state["log"].update(change)


def stopped(dsn: str, plan: FsckPlan) -> None:
    with pytest.raises(StoppedError):
        fsck_database(dsn, plan, stop_at("records", 12), None)


def resumed(dsn: str, plan: FsckPlan) -> Report:
    return fsck_database(dsn, replace(plan, resume=True), silent, None)


def test_an_edited_state_hides_no_record(postgres_dsn: str, tmp_path: Path) -> None:
    """The attacker rewrites below the position and puts the new tree into the state."""
    fill(postgres_dsn)
    plan = plan_of(tmp_path, KEY)
    stopped(postgres_dsn, plan)
    rewrite(postgres_dsn)
    with connect(postgres_dsn) as admin:
        rows = admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq").fetchall()

    def lie(state: dict[str, Any]) -> None:
        tree = Frontier()
        for (leaf,) in rows[: state["position"]]:
            tree = tree.append(bytes(leaf))
        log = state["log"]
        log["nodes"], log["size"] = [node.hex() for node in tree.nodes], tree.size
        log["report"], log["whole"] = [0, "", [], None, 0], False

    edit(plan.state, lie)
    report = resumed(postgres_dsn, plan)
    assert report.exit_code == TAMPERED, report.lines


def test_what_a_state_claims_without_ground_begins_the_check_anew(
    postgres_dsn: str, tmp_path: Path
) -> None:
    fill(postgres_dsn)
    plan = plan_of(tmp_path, KEY)
    changes: tuple[dict[str, Any], ...] = (
        {"_checked": 8},
        {"_checked": 9_999},
        {"_witnessed": 9},
        {"_checked": "x"},
        {"size": 4},
        {"nodes": ["00"]},
        {"nodes": 7},
        {"notes": None},
    )
    for change in changes:
        stopped(postgres_dsn, plan)
        edit(plan.state, partial(claim, change))
        report = resumed(postgres_dsn, plan)
        assert (report.exit_code, report.findings) == (OK, 0), (change, report.lines)
        assert "all was checked again" in report.lines[-1], change
        assert not plan.state.exists()


def test_no_state_brings_a_verdict(postgres_dsn: str, tmp_path: Path) -> None:
    """What was found before the stop is found again, for nothing is saved after it."""
    fill(postgres_dsn)
    rewrite(postgres_dsn)
    plan = plan_of(tmp_path, KEY)
    whole = fsck_database(postgres_dsn, plan, silent, None)
    stopped(postgres_dsn, plan)
    database = sqlite3.connect(plan.state)
    text = database.execute("SELECT text FROM meta").fetchone()[0]
    database.close()
    assert json.loads(text)["state"]["position"] == WIDTH, "the checkpoint of 7 showed it"
    assert '"report"' not in text
    report = resumed(postgres_dsn, plan)
    assert (report.exit_code, report.reason) == (whole.exit_code, whole.reason)
    assert report.exit_code == TAMPERED


def test_a_dumps_edited_state_hides_no_line(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(postgres_dsn)
    path, plan = tmp_path / "log.dump", replace(plan_of(tmp_path, KEY), state=tmp_path / "s")
    dump(postgres_dsn, path)
    monkeypatch.setattr("audit.upkeep.fsck.dump.SAVE_BYTES", 1)
    monkeypatch.setattr("audit.upkeep.fsck.dump.SHOW_BYTES", 1)
    with pytest.raises(StoppedError):
        fsck_dump(path, plan, stop_at("bytes", path.stat().st_size * 9 // 10))
    rewrite(postgres_dsn)
    dump(postgres_dsn, path)
    lines = path.read_bytes().splitlines(keepends=True)

    def lie(state: dict[str, Any]) -> None:
        tree, at, text = Frontier(), 0, b""
        with connect(postgres_dsn) as admin:
            for (leaf,) in admin.execute("SELECT leaf FROM ledger.entry ORDER BY seq"):
                if tree.size < state["log"]["size"]:
                    tree = tree.append(bytes(leaf))
        for line in lines:
            if text.count(b'"type":"entry"') < tree.size:
                at, text = at + len(line), text + line
        state["at"], state["sha256"] = at, sha256(text).hexdigest()
        state["log"]["nodes"] = [node.hex() for node in tree.nodes]

    edit(plan.state, lie)
    assert fsck_dump(path, replace(plan, resume=True), silent).exit_code == TAMPERED


def test_a_check_that_never_began_leaves_no_state(tmp_path: Path) -> None:
    plan = replace(plan_of(tmp_path, KEY), state=tmp_path / "missing.fsck")
    with pytest.raises(FileNotFoundError):
        fsck_dump(tmp_path / "missing", plan, silent)
    (tmp_path / "log.dump").write_bytes(b'{"type":"end","entries":0}\n')

    def stop(*_: object) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        fsck_dump(tmp_path / "log.dump", plan, stop)
    assert [one.name for one in tmp_path.iterdir()] == ["log.dump"]
    with pytest.raises(FsckStateError, match="does not exist"):
        fsck_dump(tmp_path / "log.dump", replace(plan, resume=True), silent)
