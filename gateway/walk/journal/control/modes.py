"""Records of the mode in which a gateway serves, and of what is registered and promoted to run.

Not here: which mode may begin (`gateway.desk.officers.governing.modes`).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import digest_of
from gateway.walk.ports import Tags


class Mode(StrEnum):
    """What a gateway's decisions lead to.

    Attributes:
        PAPER: orders to a counterparty that trades no money.
        SHADOW: decisions on record, and nothing is sent.
        PILOT: orders within further limits.
        LIVE: orders.
    """

    PAPER = "paper"
    SHADOW = "shadow"
    PILOT = "pilot"
    LIVE = "live"

    @property
    def risks_money(self) -> bool:
        """Whether its orders may trade money."""
        return self in {Mode.PILOT, Mode.LIVE}


def mode_entered(
    tags: Tags,
    *,
    before: str,
    sender: str,
    target: str,
    limits: str = "",
    log: str = "",
    signatures: Mapping[str, str],
) -> Draft:
    """From this record on the ledger's mode is the tags'; account and CompIDs belong to it."""
    return ModeEntered(
        account=tags.account,
        mode=tags.mode,
        before=before,
        sender=sender,
        target=target,
        limits=limits,
        log_id=log if signatures else None,
        signatures=dict(signatures) or None,
    ).draft(tags=tags.document())


class ModeEntered(RecordKind, frozen=True, kw_only=True):
    """A mode that begins; the officers signed it where it risks money."""

    filing = Filing("control", "mode:{run_id}", also="reason")

    account: str
    mode: str
    before: str
    sender: str
    target: str
    limits: str = ""
    log_id: str | None = None
    signatures: dict[str, str] | None = None


def digests_registered(
    digests: Mapping[str, str], actor: str, reason: str, *, number: int
) -> Draft:
    """What may run, by SHA-256 (hex); `number` tells two registrations of the same apart."""
    registered = DigestsRegistered(digests=dict(digests), actor_name=actor, reason=reason)
    return registered.draft(digest=digest_of(dict(digests))[:32], number=number)


class DigestsRegistered(RecordKind, frozen=True, kw_only=True):
    """What may run, by SHA-256 (hex)."""

    filing = Filing("control", "registered:{digest}:{number}", "person:{actor_name}")

    digests: dict[str, str]
    actor_name: str
    reason: str


def promotion_tested(  # noqa: PLR0913 - the record's fields
    *,
    model_id: str,
    model_digest: str,
    gate: str,
    failed: Sequence[str],
    report_blob: str,
    actor: str,
    reason: str,
    number: int,
) -> Draft:
    """What the promotion gate found, also where it refuses; its report is the blob."""
    return PromotionTested(
        model_id=model_id,
        model_digest=model_digest,
        gate=gate,
        passed=not failed,
        failed=tuple(failed),
        report_blob=report_blob,
        actor_name=actor,
        reason=reason,
    ).draft(number=number)


class PromotionTested(RecordKind, frozen=True, kw_only=True):
    """What the promotion gate found, also where it refuses; its report is the blob."""

    filing = Filing("control", "promotion:{model_digest}:{number}", "person:{actor_name}")

    model_id: str
    model_digest: str
    gate: str
    passed: bool
    failed: tuple[str, ...]
    report_blob: str
    actor_name: str
    reason: str


def model_promoted(
    tested: PromotionTested, tested_seq: int, *, log: str, signatures: Mapping[str, str]
) -> Draft:
    """From this record on the model may serve with money; both officers signed its report."""
    return ModelPromoted(
        model_id=tested.model_id,
        model_digest=tested.model_digest,
        tested_seq=tested_seq,
        report_blob=tested.report_blob,
        log_id=log,
        signatures=dict(signatures),
    ).draft()


class ModelPromoted(RecordKind, frozen=True, kw_only=True):
    """A model that may serve with money."""

    filing = Filing("control", "promoted:{tested_seq}")

    model_id: str
    model_digest: str
    tested_seq: int
    report_blob: str
    log_id: str
    signatures: dict[str, str]
