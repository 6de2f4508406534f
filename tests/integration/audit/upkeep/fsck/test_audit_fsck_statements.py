"""fsck of a database holds what records say against each other, as the verifiers of a dump do."""

from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.upkeep.dump import dump, verify_dump
from audit.verifier.verify import OK, TAMPERED
from tests.doubles.audit_log import SIGNER, TIME_US, note
from tests.doubles.audit_spoiled import fsck_database, plan_of, silent

pytestmark = pytest.mark.postgres
KEY = str(SIGNER.vkey)
ORDER = Draft(
    stream="decision/d-1",
    kind=Kind.ORDER_SENDING,
    payload={
        "account": "desk",
        "decision_id": "d-1",
        "cl_ord_id": "ABCDEFGHIJKLMNOPQRST",
        "approving_seq": 0,
        "approving_leaf": "0" * 64,
        "fields": [[11, "ABCDEFGHIJKLMNOPQRST"], [38, "100"]],
        "kill_epoch": 0,
        "send_before_us": 1,
    },
    actor="gateway",
    idem_key="sending:ABCDEFGHIJKLMNOPQRST",
)
"""An order that nothing approved; its record is whole, chained and signed."""


@pytest.mark.parametrize(("drafts", "code"), [((ORDER,), TAMPERED), ((), OK)])
def test_a_signed_record_that_says_what_nothing_approved_is_found(
    postgres_dsn: str, tmp_path: Path, drafts: tuple[Draft, ...], code: int
) -> None:
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    with Ledger.open(config, SIGNER, lambda: TIME_US) as ledger:
        ledger.append(*(note(str(number)) for number in range(40)), *drafts)
        ledger.checkpoint_now()
    whole, narrow = (
        fsck_database(postgres_dsn, plan_of(tmp_path, KEY, payloads=payloads), silent, None)
        for payloads in (True, False)
    )
    dump(postgres_dsn, tmp_path / "whole.dump")
    dumped = verify_dump(tmp_path / "whole.dump", [KEY])
    assert (whole.exit_code, narrow.exit_code, dumped.exit_code) == (code, OK, code)
    assert whole.first_bad_seq == dumped.first_bad_seq == (40 if drafts else None)
    assert whole.reason == dumped.reason
