"""60 mixed crashes lose, reorder, double and fork nothing; known faults are caught by the same run.

The harness is in tests/crash (`ledger_*.py`); `make crash N=1000` runs more of it, with power cuts
and full disks where the machine has loop devices. Here only what every machine can do, always with
the same faults in the same order.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from audit.store.connection import Store
from audit.store.tables import connect
from audit.store.watchdog import Watchdog
from tests.crash.ledger_world import World
from tests.doubles.audit_log import ORIGIN

ROOT = Path(__file__).resolve().parents[4]
CRASHES = 60
SEED = "1"


@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_sixty_mixed_crashes_lose_nothing_and_every_known_fault_is_caught() -> None:
    options = ["--portable", "--seed", SEED, "--crashes", str(CRASHES)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.ledger_campaign", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    assert "not run" not in done.stdout, "a part of it was left out here"
    assert f"clean, {CRASHES} crashes" in done.stdout


@pytest.mark.postgres
def test_the_process_that_is_struck_is_the_one_that_holds_the_log(postgres_dsn: str) -> None:
    watchdog = Watchdog()
    with connect(postgres_dsn, name="countersign-sequencer") as older:  # asks for the lock still
        assert World.sequencer_backend(postgres_dsn) == older.info.backend_pid
        store = Store(postgres_dsn, ORIGIN, 5.0, watchdog)
        held = World.sequencer_backend(postgres_dsn)
        assert held == store.connection.info.backend_pid
        store.close()
    watchdog.close()
