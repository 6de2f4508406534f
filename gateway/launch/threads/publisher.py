"""Publication of checkpoints to witnesses.

The quorum policy comes from a file that the operator names; without one only tiles are written.
Each change, quorum met or lost, is recorded with the policy's digest.
"""

import logging
from typing import Any

from audit.errors import AuditError, LedgerUnsafeError, WitnessError
from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger
from audit.store.reader import LedgerReader
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.merkle import Frontier
from audit.witnesses.publisher import Publication, Publisher, PublisherConfig
from audit.witnesses.quorum_watch import Quorum
from gateway import clock
from gateway.errors import SettingsError
from gateway.evidence.publication.policy import POLICY_SETTING, read_policy
from gateway.evidence.publication.published import LogFiles
from gateway.launch.plan import Plan
from gateway.walk.journal.run import LedgerRestored, WitnessEvent

_log = logging.getLogger(__name__)


class Publishing:
    """The publisher of one gateway, joined to its ledger."""

    def __init__(self, plan: Plan, dsn: str) -> None:
        """Read the policy; no witness is asked yet.

        Raises:
            SettingsError: the policy cannot be read, or asks for a witness without an address.
        """
        settings = plan.settings.ledger
        self._run_id = plan.tags.run_id
        self._digest, self.policy = read_policy(settings)
        self._signer = plan.signer
        self._log_key, self._public = plan.signer.vkey, settings.tiles == "public"
        self._ledger: Ledger | None = None
        self._changes = 0
        config = PublisherConfig(
            dsn=dsn,
            policy=self.policy,
            timeout_s=settings.witness_timeout_s,
            lost_after_s=settings.witness_lost_after_s,
        )
        try:
            self._publisher = Publisher(config, self._log_key, clock.wall_us, self._record)
        except WitnessError as error:
            raise SettingsError(name=POLICY_SETTING, problem=str(error)) from error
        self.offer = self._publisher.offer

    def refuse_older(self, reader: LedgerReader) -> None:
        """Refuse a ledger that is older than what a witness saw; call it before the first append.

        An append would make another tree of a published size: a fork. `restore --accept-older`
        records up to which size that is accepted.

        Raises:
            LedgerUnsafeError: a witness has seen a larger ledger.
            LedgerError: the database does not answer.
        """
        stored = reader.checkpoints(limit=1)
        newest = stored[0] if stored else make_checkpoint(0, Frontier().root(), self._signer)
        remembered = self._publisher.remembered(newest)
        if not remembered:
            return
        restores = reader.records(kinds=(Kind.LEDGER_RESTORED,), newest_first=True, limit=1)
        accepted = next((LedgerRestored.of(record).known_size for record in restores), 0)
        name, size = max(remembered.items(), key=lambda one: one[1])
        if size > accepted:
            raise LedgerUnsafeError(
                f"witness {name} has seen {size}, this ledger has {newest.size}:"
                " restore a newer backup"
            )
        _log.warning("older_than_witnesses size=%d seen=%d: accepted", newest.size, size)

    def start(self, ledger: Ledger) -> None:
        """Start, with the last checkpoint of an earlier run.

        Raises:
            LedgerError: the database does not answer.
        """
        self._ledger = ledger
        if ledger.last_checkpoint is not None:
            self._publisher.offer(ledger.last_checkpoint)
        self._publisher.start()

    def stop(self) -> None:
        """Stop; call it after the ledger's close, to publish its last checkpoint."""
        self._publisher.stop()

    def parts(self) -> dict[str, str]:
        """Return the states for readiness; without witnesses only that of the tiles."""
        standing = self._publisher.standing()
        parts = {"tiles": "ready" if standing.tiles is None else standing.tiles}
        match standing.quorum:
            case Quorum.MET:
                parts["witnesses"] = "ready"
            case Quorum.STARTING:
                parts["witnesses"] = "waiting for the first quorum"
            case Quorum.LOST:
                parts["witnesses"] = f"no quorum for {standing.waiting_s:.0f} s"
            case None:
                pass
        return parts

    def log_files(self, reader: LedgerReader) -> LogFiles:
        """Return the files that outsiders may read."""
        return LogFiles(
            reader=reader, policy=self.policy, keys=(self._log_key,), public=self._public
        )

    def document(self) -> dict[str, Any] | None:
        """Return the witnesses' state for pages and the API; None without witnesses."""
        standing = self._publisher.standing()
        if standing.quorum is None:
            return None
        lags = standing.lags
        return {
            "quorum": standing.quorum.value,
            "policy_digest": self._digest,
            "cosigned_size": standing.cosigned_size,
            "waiting_ms": round(standing.waiting_s * 1000),
            "lag_ms": {
                "checkpoints": lags.count,
                "last": _ms(lags.last_s),
                "p50": _ms(lags.p50_s),
                "p99": _ms(lags.p99_s),
                "max": _ms(lags.max_s),
            },
            "witnesses": _witnesses(standing),
        }

    def _record(self, standing: Publication) -> None:
        """Record a change; if the ledger does not take it, only the log has it."""
        if self._ledger is None or standing.quorum is None:
            return
        self._changes += 1
        try:
            self._ledger.append(
                WitnessEvent(
                    event=f"quorum_{standing.quorum}",
                    cosigned_size=standing.cosigned_size,
                    policy_digest=self._digest,
                    witnesses=_witnesses(standing),
                    waiting_us=int(standing.waiting_s * 1_000_000),
                    run_id=self._run_id,
                ).draft(number=self._changes)
            )
        except AuditError as error:
            _log.warning("witness_event_not_recorded %s", error)


def _witnesses(standing: Publication) -> list[JSON]:
    return [
        {
            "name": witness.name,
            "cosigned_size": witness.cosigned_size,
            "state": "ready" if witness.trouble is None else witness.trouble,
        }
        for witness in standing.witnesses
    ]


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
