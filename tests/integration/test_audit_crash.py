"""SIGKILL of the writer at any moment loses no acknowledged record (I4); with teeth.

1. A process with the real ledger appends with four threads and prints each key once `append` has
   returned. 2. After a random-looking but fixed time it is killed with SIGKILL. 3. The next round
   starts on the same database. 4. At the end every printed key is on record, once, the chain and
   the tree verify. 5. The same harness must catch a sequencer that answers before it commits.
"""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from audit.fsck import verify_database
from audit.ledger import Ledger, LedgerConfig
from tests.doubles.audit_log import SIGNER, TIME_US

ROUNDS = 15
MUTANT_ROUNDS = 8
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.postgres


def killed_writer(dsn: str, run: str, alive_s: float, *options: str) -> set[str]:
    """Run a writer for a while, kill it, and return the keys that it saw acknowledged."""
    command = [sys.executable, "-m", "tests.doubles.audit_writer", dsn, run, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(alive_s)
        writer.kill()
        lines = writer.stdout.read().split(b"\n")[:-1]
    return {line.removeprefix(b"ack ").decode() for line in lines if line.startswith(b"ack ")}


def keys_on_record(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT idem_key FROM ledger.entry WHERE kind = 'operator_note'")
        return [row[0] for row in rows]


def crash_rounds(dsn: str, rounds: int, *options: str) -> tuple[set[str], set[str]]:
    """Return the acknowledged keys and those of them that are not on record."""
    acknowledged: set[str] = set()
    for number in range(rounds):
        alive_s = 0.03 + 0.0137 * (number * 7 % 11)
        acknowledged |= killed_writer(dsn, f"r{number}", alive_s, *options)
    return acknowledged, acknowledged - set(keys_on_record(dsn))


@pytest.mark.timeout(300)
def test_no_acknowledged_record_is_lost_when_the_writer_is_killed(postgres_dsn: str) -> None:
    acknowledged, lost = crash_rounds(postgres_dsn, ROUNDS)
    assert len(acknowledged) > ROUNDS
    assert lost == set()
    keys = keys_on_record(postgres_dsn)
    assert len(keys) == len(set(keys))
    with Ledger.open(LedgerConfig(dsn=postgres_dsn), SIGNER, lambda: TIME_US):
        pass
    assert verify_database(postgres_dsn, [str(SIGNER.vkey)]).lines[:-1] == []


@pytest.mark.timeout(300)
def test_the_harness_catches_a_sequencer_that_answers_before_it_commits(postgres_dsn: str) -> None:
    acknowledged, lost = crash_rounds(postgres_dsn, MUTANT_ROUNDS, "--mutant", "early-ack")
    assert acknowledged
    assert lost
