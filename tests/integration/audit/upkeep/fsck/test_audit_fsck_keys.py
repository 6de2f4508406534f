"""Who signed, across a change of keys: fsck forgets checkpoints only once that cannot matter."""

from pathlib import Path

import pytest

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.tables import connect
from audit.tlog.rotation import rotate
from audit.upkeep.fsck.chunk import CHUNK
from audit.verifier.verify import OK, TAMPERED, Outside
from tests.doubles.audit_log import OTHER_SIGNER, SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import (
    WIDTH,
    disarm,
    fill,
    fsck_database,
    plan_of,
    silent,
    verify_database,
)

pytestmark = pytest.mark.postgres
KEY, NEW_KEY = str(SIGNER.vkey), str(OTHER_SIGNER.vkey)


def hand_over(ledger: Ledger) -> None:
    """Put a change of keys on record."""
    rotation = rotate(SIGNER, OTHER_SIGNER, ledger.size, TIME_US)
    payload: dict[str, JSON] = {
        "statement": rotation.statement.decode(),
        "old_vkey": KEY,
        "new_vkey": NEW_KEY,
        "from_size": rotation.from_size,
        "from_us": rotation.from_us,
    }
    change = Draft(
        stream="control",
        kind=Kind.KEY_ROTATED,
        payload=payload,
        actor="person:ada",
        idem_key="rotated:1",
    )
    ledger.append(change)


def handed_over(dsn: str) -> int:
    """Write a log that goes from one key to the other; return what the old one signed too late."""
    fill(dsn)
    config = LedgerConfig(dsn=dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        hand_over(ledger)
        ledger.checkpoint_now()
        alone = ledger.size
    with Ledger.open(config, OTHER_SIGNER, lambda: TIME_US, co_signers=[SIGNER]) as ledger:
        ledger.append(*(note(f"of both {number}") for number in range(9)))
        ledger.checkpoint_now()
    with Ledger.open(config, OTHER_SIGNER, lambda: TIME_US) as ledger:
        ledger.append(*(note(f"of the new one {number}") for number in range(9)))
        ledger.checkpoint_now()
    disarm(dsn)
    return alone


def test_a_checkpoint_of_the_old_key_alone_is_not_covered_by_one_of_both(
    postgres_dsn: str, tmp_path: Path
) -> None:
    """That of both has the same signers at first, as long as the new key is not known."""
    alone = handed_over(postgres_dsn)
    for code in (TAMPERED, OK):
        for key in (KEY, NEW_KEY):
            assert verify_database(postgres_dsn, [key]).exit_code == code
            for width in (WIDTH, 8, 32, CHUNK):
                report = fsck_database(
                    postgres_dsn, plan_of(tmp_path, key, width=width), silent, None
                )
                assert report.exit_code == code, (key, width, report.lines)
                if code == TAMPERED:
                    text = f"checkpoint of {alone} is signed only by a key that had been replaced"
                    assert report.reason == text
        with connect(postgres_dsn) as admin:
            admin.execute("DELETE FROM ledger.checkpoint WHERE size = %s", (alone,))


def test_a_checkpoint_of_a_gap_does_not_stand_in_for_a_later_one(
    postgres_dsn: str, tmp_path: Path
) -> None:
    alone = handed_over(postgres_dsn)
    text = f"TAMPERED: checkpoint of {alone} is signed only by a key that had been replaced"
    with connect(postgres_dsn) as admin:
        admin.execute("DELETE FROM ledger.entry WHERE seq BETWEEN 5 AND 20")
    for keys in ([KEY, NEW_KEY], [NEW_KEY]):
        assert text in verify_database(postgres_dsn, keys).lines
        for width in (2, WIDTH, CHUNK):
            plan = plan_of(tmp_path, *keys, width=width)
            report = fsck_database(postgres_dsn, plan, silent, None)
            assert text in report.lines, (width, report.lines)


def test_a_kept_checkpoint_is_judged_beside_those_before_it(
    postgres_dsn: str, tmp_path: Path
) -> None:
    """It is taken before all others, and is in the same chunk as one of the same key."""
    alone = handed_over(postgres_dsn)
    with connect(postgres_dsn) as admin:
        row = admin.execute("SELECT note FROM ledger.checkpoint WHERE size = %s", (alone,))
        (kept,) = row.fetchone() or (b"",)
    for width in (WIDTH, 8, CHUNK):
        plan = plan_of(tmp_path, width=width, outside=Outside(vkeys=[KEY, NEW_KEY], notes=[kept]))
        report = fsck_database(postgres_dsn, plan, silent, None)
        assert report.exit_code == TAMPERED, (width, report.lines)


def test_without_a_head_a_change_of_keys_is_still_of_its_log(
    postgres_dsn: str, tmp_path: Path
) -> None:
    handed_over(postgres_dsn)
    with connect(postgres_dsn) as admin:
        admin.execute("DELETE FROM ledger.head")
    for width in (WIDTH, CHUNK):
        plan = plan_of(tmp_path, NEW_KEY, width=width)
        report = fsck_database(postgres_dsn, plan, silent, None)
        assert (report.exit_code, report.first_bad_seq) == (TAMPERED, None), report.lines
