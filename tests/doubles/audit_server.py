"""A ledger on a test's database, and ways to hurt its server."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from audit.errors import LedgerError
from audit.sequencer.config import SequencerConfig
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.tlog.checkpoint import Checkpoint
from tests.doubles.audit_log import SIGNER


def now_us() -> int:
    return time.time_ns() // 1000  # noqa: TID251 - the test's own clock


def opened(
    dsn: str,
    *,
    config: SequencerConfig | None = None,
    checkpoint_every_s: float = 0.0,
    decision_lane_max: int = 1024,
    on_step: Callable[[str], None] = lambda _: None,
    on_stop: Callable[[LedgerError], None] = lambda _: None,
    on_checkpoint: Callable[[Checkpoint], None] = lambda _: None,
) -> Ledger:
    return Ledger.open(
        LedgerConfig(
            dsn=dsn,
            checkpoint_every_s=checkpoint_every_s,
            decision_lane_max=decision_lane_max,
            lock_wait_s=5.0,
            sequencer=config or SequencerConfig(),
        ),
        SIGNER,
        now_us,
        on_step=on_step,
        on_stop=on_stop,
        on_checkpoint=on_checkpoint,
    )


def sequencer_pid(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'countersign-sequencer'"
            " AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process as a hung machine would."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
