"""A thread for each witness, so that an unreachable witness delays no other.

Rules:

- One request at a time; a slow witness skips checkpoints (`quorum_watch.next_target`).
- A 409 answer decides where the next proof starts, and nothing else. A witness that remembers
  less than it cosigned is named in the operator's log.
- A witness that refuses is asked again after 1 s, then 2 s, up to 30 s, or when it asks to be.
- Only verified lines are passed on; the next request comes after they are stored.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.errors import AuditError, LedgerError, ProofError
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import NoteSignature, VerifierKey
from audit.witnesses.client import Conflict, Cosigned, Refused, WitnessClient

LOG = logging.getLogger(__name__)
BACK_OFF_S = 1.0
BACK_OFF_S_MAX = 30.0
_QUESTIONS_MAX = 3
_JOIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The calls that a worker makes to the publisher, from the worker's thread.

    Attributes:
        next: waits for a checkpoint that the witness should cosign; None means stop.
        prove: returns the consistency path between two sizes.
        store: stores a checkpoint's verified lines.
        changed: is told that `trouble` has changed.
    """

    next: Callable[["WitnessWorker"], Checkpoint | None]
    prove: Callable[[int, int], Sequence[bytes]]
    store: Callable[[Checkpoint, Sequence[NoteSignature]], None]
    changed: Callable[[], None]


class WitnessWorker:
    """The thread that asks one witness.

    Attributes:
        cosigned_size: the tree that it cosigned last in this run.
        trouble: why it does not cosign; None while it does.
    """

    def __init__(
        self, url: str, keys: Sequence[VerifierKey], work: Work, timeout_s: float, seen: int
    ) -> None:
        """Prepare the thread; `seen` is the size that the witness probably cosigned last.

        Raises:
            WitnessError: the address is malformed.
        """
        self.url = url
        self.keys = tuple(keys)
        self.cosigned_size = 0
        self.trouble: str | None = None
        self._seen = seen
        self._work = work
        self._client = WitnessClient(url, keys, timeout_s)
        self._timeout_s = timeout_s
        self._failures = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="witness", daemon=True)

    @property
    def name(self) -> str:
        """Return the witness's key name."""
        return self.keys[0].name

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current request; a thread that still waits ends at its deadline."""
        self._stopping.set()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while (checkpoint := self._work.next(self)) is not None and not self._stopping.is_set():
            try:
                refused = self._ask(checkpoint)
            except (LedgerError, ProofError) as error:
                refused = Refused(status=0, why=f"no proof for it: {error}")
            except AuditError as error:
                refused = Refused(status=0, why=str(error))
            except Exception as error:
                LOG.exception("witness_not_asked url=%s", self.url)
                refused = Refused(status=0, why=type(error).__name__)
            if refused is None:
                self._failures = 0
                self._set_trouble(None)
            else:
                self._rest(refused)
        self._client.close()

    def _ask(self, checkpoint: Checkpoint) -> Refused | None:
        """Ask until the witness cosigns (None) or refuses; a conflict states its size."""
        for _ in range(_QUESTIONS_MAX):
            proof = self._work.prove(self._seen, checkpoint.size)
            outcome = self._client.add_checkpoint(self._seen, proof, checkpoint.note)
            match outcome:
                case Cosigned(lines=lines):
                    self._seen = checkpoint.size
                    self._work.store(checkpoint, lines)
                    self.cosigned_size = checkpoint.size
                    return None
                case Conflict(size=size) if size != self._seen and size <= checkpoint.size:
                    if size < self._seen:  # from there it would cosign a second history
                        LOG.warning(
                            "witness_went_back url=%s cosigned=%d remembers=%d",
                            *(self.url, self._seen, size),
                        )
                    self._seen = size
                case Conflict(size=size):
                    return Refused(status=409, why=_contradiction(size, checkpoint.size))
                case Refused(status=409 | 422 as status) if self._seen == checkpoint.size:
                    return Refused(status=status, why=_contradiction(self._seen, checkpoint.size))
                case Refused():
                    return outcome
        return Refused(status=409, why="another program has the same log cosigned at this witness")

    def _set_trouble(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            LOG.warning("witness url=%s trouble=%s", self.url, trouble or "over")
            self.trouble = trouble
            self._work.changed()

    def _rest(self, refused: Refused) -> None:
        self._set_trouble(refused.why)
        self._failures += 1
        pause_s = min(BACK_OFF_S_MAX, BACK_OFF_S * 2.0 ** min(self._failures - 1, 10))
        self._stopping.wait(max(pause_s, refused.retry_after_s))


def _contradiction(seen: int, size: int) -> str:
    if seen > size:
        return f"it has cosigned {seen} records, this log has {size}: rolled back, or forked"
    return f"it has cosigned another tree of {size} records: forked"
