"""A ledger of an earlier form is refused in one sentence that names the last commit to read it."""

from pathlib import Path
from typing import cast

import pytest

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.errors import EarlierLedgerError, ReplayDiffersError
from gateway.evidence.replay.replay import replay
from gateway.walk.journal.form import RECORD_RULES, refuse_earlier
from tests.doubles.memory_desk import TABLE, memory_desk
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.restarted_desk import restarted
from tests.doubles.whole_records import whole


def ledger_of(*forms: int | None) -> LedgerReader:
    """Return a ledger whose runs name these forms, or none."""
    log = MemoryLedger()
    for number, form in enumerate(forms):
        said: dict[str, JSON] = {} if form is None else {"record_rules": form}
        tags: dict[str, JSON] = {"account": "a", "run_id": str(number), "mode": "paper"}
        log.append(
            Draft(
                stream="control",
                kind=Kind.RUN_STARTED,
                payload=whole(Kind.RUN_STARTED, {**tags, "dev": True, **said}),
                actor="gateway",
                idem_key=f"run_started:{number}",
            )
        )
    return cast("LedgerReader", log)


@pytest.mark.parametrize("form", [None, *range(1, RECORD_RULES)])
def test_a_ledger_that_began_in_an_earlier_form_is_refused(form: int | None) -> None:
    with pytest.raises(EarlierLedgerError, match=r"commit (932434e3|6fbeddcd) is the last to read"):
        refuse_earlier(ledger_of(form))


def test_a_ledger_without_a_run_or_of_todays_form_is_read() -> None:
    refuse_earlier(ledger_of())
    refuse_earlier(ledger_of(RECORD_RULES, RECORD_RULES))


def test_a_decision_of_a_run_of_an_earlier_form_is_not_replayed(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    restarted(desk, lambda terms: terms.update(record_rules=RECORD_RULES - 1))
    asked = desk.ask()
    with pytest.raises(ReplayDiffersError, match="commit 6fbeddcd"):
        replay(cast("LedgerReader", desk.log), TABLE, asked.decision_id)
