"""How the ledger and its sequencer run."""

from collections.abc import Callable
from dataclasses import dataclass, field

from audit.sequencer.clock_watch import ClockReading
from audit.tlog.rotation import TrustedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencerConfig:
    """How patient the sequencer is.

    Attributes:
        batch_rows_max: rows of one commit.
        commit_deadline_s: a commit that takes longer is in doubt.
        in_doubt_s: how long to ask the database about a commit in doubt before stopping.
        patient: keep asking until the ledger is closed, so that a database that hangs for a minute
            does not stop the log.
    """

    batch_rows_max: int = 1024
    commit_deadline_s: float = 10.0
    in_doubt_s: float = 30.0
    patient: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerConfig:
    """How the ledger runs.

    Attributes:
        dsn: of a user who may `SET ROLE countersign_writer`, on a migrated database.
        checkpoint_every_s: time between checkpoints; 0 makes them only on demand.
        decision_lane_max: requests in the decision lane before it refuses.
        urgent_lane_max: requests in the urgent lane before callers wait.
        lock_wait_s: how long to wait for a dying predecessor's session.
        predecessors: earlier keys of the log; one alone may have signed the last checkpoint.
        clock_source: `read_clock`; None leaves the clock's quality unknown.
        mac: makes the MAC of a leaf, stored beside its row; None: rows have none.
    """

    dsn: str
    checkpoint_every_s: float = 1.0
    decision_lane_max: int = 1024
    urgent_lane_max: int = 4096
    lock_wait_s: float = 15.0
    blob_timeout_s: float = 10.0
    sequencer: SequencerConfig = field(default_factory=SequencerConfig)
    predecessors: tuple[TrustedKey, ...] = ()
    clock_source: Callable[[], ClockReading] | None = None
    mac: Callable[[bytes], bytes] | None = None
