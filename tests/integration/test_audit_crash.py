"""60 mixed crashes lose, reorder, double and fork nothing; known faults are caught by the same run.

The harness is in tests/crash (`ledger_*.py`); `make crash N=1000` runs more of it, with power cuts
and full disks where the machine has loop devices. Here only what every machine can do, always with
the same faults in the same order.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
