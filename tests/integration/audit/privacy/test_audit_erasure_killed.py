"""An erasure killed at each of its writes is finished by the next one; nobody is half forgotten."""

import signal
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from tests.doubles.erasing_apart import erase_apart, log_of, person
from tests.doubles.privacy_world import NAME, TRUSTED, hits, world_at

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]
STEPS_MIN = 15
"""So many an erasure has at least: fewer, and this shows little."""


def test_an_erasure_killed_at_any_write_is_finished_by_the_next(
    postgres_dsn: str, tmp_path: Path
) -> None:
    n = 1
    while (code := erase_apart(postgres_dsn, tmp_path, n)) == -signal.SIGKILL:
        n += 1
    assert code == 0
    assert n > STEPS_MIN
    assert hits(NAME, tmp_path) == []
    lines = log_of(tmp_path).read_bytes().splitlines()
    assert len(lines) == 3 * n, "no line of the log is lost"
    parts = {name.encode() for one in range(1, n + 1) for name in person(one).split()}
    left = [line for line in lines if any(part in line for part in parts if len(part) > 2)]
    assert left == [], "nor is half a name in it"
    with world_at(postgres_dsn, tmp_path) as world:
        assert world.privacy().complete() == 0
        assert world.vault.subjects() == frozenset()
        assert world.rows() == 0
    reader = LedgerReader(postgres_dsn)
    try:
        erased = [r.body["subject"] for r in reader.records(kinds=(Kind.SUBJECT_ERASED,))]
    finally:
        reader.close()
    assert len(erased) == len(set(erased)) == n, "each of them once"
    assert verify_database(postgres_dsn, TRUSTED).exit_code == 0
