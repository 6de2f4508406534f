"""The walk is killed at every step boundary and started again; the broker lives through all of it.

One state folder goes through all the crashes, so every start recovers the one before. The judge
reads only the simulator's capture and the ledger.
"""

import signal
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.walk.failpoints import NAMES
from tests.doubles.walk_driver import Mutant
from tests.doubles.walk_forks import play_apart
from tests.doubles.walk_oracle import faults, order_faults

RUN_WITHIN_S = 120
OF_AN_ORDER = tuple(
    name for name in NAMES if not name.startswith(("replace.", "policy.", "basket."))
)
"""The strategy asks for no replace, no basket, and no other policy."""


def play(state: Path, decisions: int, *, failpoint: str = "", mutant: Mutant = Mutant.NONE) -> int:
    """Run the driver to its end or death and return its exit code."""
    code, said = play_apart(
        state, decisions, failpoint=failpoint, mutant=mutant, within_s=RUN_WITHIN_S
    )
    if code not in {0, -signal.SIGKILL}:
        pytest.fail(f"exit {code} at {failpoint or 'the clean run'}:\n{said[-4000:]}")
    return code


@pytest.mark.walk
@pytest.mark.timeout(900)
def test_every_step_boundary_survives_a_kill(walk_state: Path) -> None:
    state = walk_state
    for name in OF_AN_ORDER:
        # enough for two forecasts that no earlier run has made: those stand
        assert play(state, 8, failpoint=f"{name}:kill@2") == -signal.SIGKILL, (
            f"{name} was not reached"
        )
    assert play(state, 3) == 0
    server = EmbeddedPostgres(state)
    dsn = server.start()
    reader = LedgerReader(dsn)
    try:
        assert faults(state / "ems" / "capture.jsonl", reader) == []
        key = (state / "keys" / "ledger.key.pub").read_text().strip()
        report = verify_database(dsn, (key,))
        assert report.exit_code == 0, report.lines
        sealed = {r.stream for r in reader.records(kinds=(Kind.DECISION_SEALED,))}
        left_open = set(reader.streams("decision/")) - sealed
        unknown = {r.stream for r in reader.records(kinds=(Kind.ORDER_UNKNOWN,))}
        assert left_open <= unknown, "only an order of unknown fate may stay open"
        assert sum(1 for _ in reader.records(kinds=(Kind.ORDER_SENT,))) > 0
    finally:
        reader.close()
        server.stop()


@pytest.mark.walk
@pytest.mark.timeout(300)
def test_a_send_before_commit_is_caught(walk_state: Path) -> None:
    state = walk_state
    failpoint = "dispatch.sending_committed:kill@1"
    mutant = Mutant.SEND_BEFORE_COMMIT
    assert play(state, 3, failpoint=failpoint, mutant=mutant) == -signal.SIGKILL
    server = EmbeddedPostgres(state)
    reader = LedgerReader(server.start())
    try:
        found = order_faults(state / "ems" / "capture.jsonl", reader)
    finally:
        reader.close()
        server.stop()
    assert any(fault.startswith("I1") for fault in found), "the oracle has no teeth"
